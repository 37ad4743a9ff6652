"""Decisions of people cover a text block by block, and never an entry's fields."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_home.documents.document import parse
from agent_home.documents.entry import parse_entry
from agent_home.home import Home
from agent_home.screening.review_ledger import (
    APPROVED,
    NO_DECISIONS,
    REJECTED,
    approval_digests,
    decisions,
    decisions_in,
    rejection_digest,
    sign_row,
    statement_digest,
)

ENTRY = "- **[KD-7F3A] 2026-11-20 Use apsw** - it loads extensions.\n  Sources: s#m1\n"


def ledger(home: Home, *digests: str, kind: str = "quarantine", name: str = "q-1", commit: str = "") -> str:
    """A row that this machine made."""
    row = {"ts": "t", "kind": kind, "id": name, "by": "Ada", "digests": list(digests), "commit": commit}
    return json.dumps(sign_row(home, row)) + "\n"


def test_an_approval_covers_every_block_of_the_text_and_nothing_else(home: Home) -> None:
    text = "# Title\n\nOne paragraph.\n\n- an item\n"
    decided = decisions_in(home, ledger(home, *approval_digests(text)), "")
    assert decided.approves(text)
    assert decided.approves("One paragraph.  \n")
    assert not decided.approves(text + "\nOne more.\n")
    assert not decided.approves("One  paragraph.")
    assert not decided.approves("")
    assert all(decided.approves_block(block) for block in parse(text).blocks if block.kind != "blank")


def test_an_entry_is_known_by_what_it_says_under_any_id_and_fields(home: Home) -> None:
    decided = decisions_in(home, ledger(home, *approval_digests(ENTRY)), "")
    assert decided.approves(ENTRY.replace("7F3A", "0000").replace("s#m1", "s#m1, t#m2"))
    assert not decided.approves(ENTRY.replace("apsw", "sqlite3"))
    assert not decided.approves(ENTRY.replace("KD-", "LL-"))


@pytest.mark.parametrize("same", [ENTRY.replace("7F3A", "0000"), ENTRY.replace("Use", "USE").replace("it", "it ")])
def test_a_rejected_entry_is_known_however_it_is_spaced(home: Home, same: str) -> None:
    decided = decisions_in(home, "", ledger(home, rejection_digest(ENTRY)))
    entry = parse_entry(same)
    assert entry is not None
    assert decided.rejects(same)
    assert decided.rejects_entry(entry)
    assert not decided.rejects(same.replace("loads", "hates"))
    assert statement_digest(entry) == rejection_digest(ENTRY)


def test_what_an_entry_replaces_is_no_part_of_what_it_states() -> None:
    other = ENTRY.replace("  Sources", "  Instead of: something else\n  Sources")
    assert rejection_digest(other) == rejection_digest(ENTRY)
    assert approval_digests(other) != approval_digests(ENTRY)


def test_signs_and_figures_tell_statements_apart() -> None:
    texts = [ENTRY.replace("extensions", figure) for figure in ("12 %", "-12 %", "1.2 %")]
    assert len({rejection_digest(text) for text in texts}) == 3


def test_lines_that_are_no_decision_are_passed_over(home: Home) -> None:
    path = home.root / REJECTED
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"id": 1}\nnonsense\n[]\nnull\n' + ledger(home, "d1") + '{"half": ')
    (row,) = decisions(home).rejected
    assert (row.id, row.digests) == ("q-1", ("d1",))
    (home.root / APPROVED).write_text("")
    assert not decisions(home).approved


def test_an_approval_of_a_proposal_is_of_one_commit_of_it(home: Home) -> None:
    decided = decisions_in(home, ledger(home, kind="proposal", name="KD-7F3A", commit="c1"), "")
    assert decided.approval_of("KD-7F3A", "c1") is not None
    assert decided.approval_of("KD-7F3A", "c2") is None
    assert NO_DECISIONS.approval_of("KD-7F3A", "c1") is None
    assert not NO_DECISIONS.approves("text")
    assert not NO_DECISIONS.rejects("text")


def test_a_row_of_another_machine_lets_nothing_pass(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "One paragraph.\n"
    monkeypatch.setenv("AGENT_HOME_STATE", str(tmp_path / "other"))
    foreign = ledger(home, *approval_digests(text))
    monkeypatch.undo()
    decided = decisions_in(home, foreign, "")
    assert not decided.approves(text)
    assert not decided.settled("q-1")
    assert decided.approval_of("q-1") is None
    assert [row.id for row in decided.foreign] == ["q-1"]


def test_a_row_of_another_home_lets_nothing_pass(home: Home) -> None:
    text = "One paragraph.\n"
    row = ledger(home, *approval_digests(text))
    (home.machine / "salt").write_text("0" * 32)
    assert not decisions_in(home, row, "").approves(text)


@pytest.mark.parametrize("change", [("t", "u"), ("Ada", "Bob"), ("q-1", "q-2"), ("quarantine", "loss")])
def test_a_signed_row_says_what_was_signed(home: Home, change: tuple[str, str]) -> None:
    text = "One paragraph.\n"
    row = ledger(home, *approval_digests(text))
    assert decisions_in(home, row, "").approves(text)
    assert not decisions_in(home, row.replace(f'"{change[0]}"', f'"{change[1]}"'), "").approves(text)


def test_a_rejection_by_others_keeps_a_text_out(home: Home) -> None:
    row = json.dumps(
        {"ts": "t", "kind": "proposal", "id": "KD-7F3A", "by": "Eve", "digests": [rejection_digest(ENTRY)]}
    )
    decided = decisions_in(home, "", row + "\n")
    assert decided.rejects(ENTRY)
    assert not decided.settled("KD-7F3A")
