"""Tombstones recognise what was forgotten, and tell nobody else what it was."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.forgetting import tombstones as module
from agent_home.forgetting.text_matcher import Phrase, fold
from agent_home.forgetting.tombstones import LEDGER, returned, scrubbed, tombstone, tombstone_name, tombstones
from agent_home.home import Home
from agent_home.salt import read_salt
from agent_home.screening.service import ScreeningService
from agent_home.store.gateway import append_rows, transaction
from guard import Action

SAID = Phrase("Blue Heron")


@pytest.fixture
def buried(home: Home, now: datetime) -> Home:
    """A home that has forgotten the blue heron."""
    salt = read_salt(home)
    grave = tombstone(SAID, salt, ts="t", name=tombstone_name(SAID, salt), entry_id="", places=1, actor="test")
    with transaction(home, actor="test", message="Forget", now=now) as edits:
        edits.append(LEDGER, [asdict(grave)])
    return home


@pytest.mark.parametrize(
    "text", ["blue heron", "a BLUE\n heron.", "(\uff22lue Heron)", '{"a": "Blue\\u0020Heron"}', "是blue heron。"]
)
def test_a_forgotten_text_is_recognised_in_every_spelling(buried: Home, text: str) -> None:
    mark = f"[forgotten {tombstones(buried)[0].name}]"
    assert mark in scrubbed(buried, text)
    assert not SAID.occurs_in(scrubbed(buried, text))


def test_other_texts_are_left_as_they_are(buried: Home) -> None:
    for text in ("", "blue her", "blueheron", "a grey heron", "x" * 10):
        assert scrubbed(buried, text) is text


def test_without_tombstones_no_text_is_searched(home: Home) -> None:
    text = "blue heron"
    assert scrubbed(home, text) is text


def test_another_home_or_a_lost_salt_recognises_nothing(buried: Home) -> None:
    (buried.machine / "salt").write_text("0" * 32)
    assert scrubbed(buried, "blue heron") == "blue heron"
    (buried.machine / "salt").unlink()
    assert scrubbed(buried, "blue heron") == "blue heron"


def test_invalid_lines_are_skipped(buried: Home) -> None:
    path = buried.root / LEDGER
    path.write_text("not json\n[]\n{}\n" + path.read_text() + json.dumps({"name": 1}) + "\n")
    assert [grave.chars for grave in tombstones(buried)] == [10]


def test_no_write_brings_a_forgotten_text_back(buried: Home, now: datetime) -> None:
    with transaction(buried, actor="test", message="m", now=now) as edits:
        edits.write("Knowledge/k.md", "# The Blue Heron\n\n- about the blue heron\n\nand the\nblue heron\n")
        edits.write("Knowledge/notes.txt", "blue heron\n")
    done = append_rows(
        buried, "sessions/2026/11/s.jsonl", lambda: [{"id": "m", "content": "the blue heron"}],
        screened=("content",), source="user", actor="test", now=now,
    )  # fmt: skip
    assert done.redacted == 1
    for path in ("Knowledge/k.md", "Knowledge/notes.txt", "sessions/2026/11/s.jsonl"):
        assert "heron" not in (buried.root / path).read_text().lower()


def test_a_text_that_a_merge_brought_back_is_named(buried: Home) -> None:
    assert list(returned(buried)) == []
    (buried.root / "Archive").mkdir(exist_ok=True)
    (buried.root / "Archive/2026.md").write_text("# Old\n\n- **[KD-0009]** 2026-01-01 The blue\n  heron\n")
    assert [(one.path, one.line, one.id) for one in returned(buried)] == [("Archive/2026.md", 3, "")]
    (buried.machine / "salt").unlink()
    assert list(returned(buried)) == []


def test_an_entry_that_a_merge_brought_back_is_named_without_the_salt(buried: Home) -> None:
    path = buried.root / LEDGER
    row = json.loads(path.read_text().splitlines()[-1])
    path.write_text(json.dumps({**row, "id": "KD-0009"}) + "\n")
    (buried.machine / "salt").unlink()
    (buried.root / "Archive").mkdir(exist_ok=True)
    (buried.root / "Archive/2026.md").write_text("# Old\n\n- **[KD-0009]** 2026-01-01 The grey heron\n")
    assert [(one.line, one.id) for one in returned(buried)] == [(3, "KD-0009")]


def test_the_verdict_reports_a_redaction(buried: Home) -> None:
    verdict = ScreeningService(buried).verdict("MEMORY.md", "the blue heron", "user")
    assert verdict.action is Action.REDACT
    assert [finding.rule for finding in verdict.findings] == ["forgotten"]


def test_digests_differ_from_home_to_home() -> None:
    assert tombstone_name(SAID, "a" * 32) != tombstone_name(SAID, "b" * 32)
    assert tombstone_name(SAID, "a" * 32) == tombstone_name(Phrase("blue   HERON"), "a" * 32)


@given(st.text(min_size=4), st.text(), st.text())
def test_a_forgotten_text_is_recognised_at_the_start_of_a_word(said: str, before: str, after: str) -> None:
    phrase, salt = Phrase(said), "0" * 32
    grave = tombstone(phrase, salt, ts="t", name="f-00000000", entry_id="", places=1, actor="test")
    text = f"{before} {said}{after}"
    if grave.head and fold(text).startswith(phrase.folded, len(fold(before)) + bool(fold(before))):
        found = list(module._recognised(text, module._by_head((grave,)), salt))
        assert (phrase.folded, "f-00000000") in found
