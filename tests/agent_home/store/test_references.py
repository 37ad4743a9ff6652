"""The ledger of references: appended to, never rewritten, merged by union, read whatever it looks like."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.documents.check import problems
from agent_home.documents.entry import Entry
from agent_home.errors import NoSuchEntry
from agent_home.home import Home
from agent_home.store.gateway import WriteOutcome, transaction
from agent_home.store.references import (
    Kind,
    Reference,
    entry_places,
    last_references,
    note,
    quoted_ids,
    read,
    resolve_ids,
)

from ..conftest import Git

LEDGER = "ledger/references-2026-11.jsonl"


def reference(entry_id: str = "KD-7F3A", day: int = 20, by: Kind = "cite", session: str = "") -> Reference:
    return Reference(ts=f"2026-11-{day:02d}T09:00:00+00:00", id=entry_id, by=by, session=session)


def noted(home: Home, *references: Reference) -> WriteOutcome:
    with transaction(home, actor="test", message="Note references") as edits:
        note(edits, references)
    return edits.outcome


def test_a_reference_is_one_line_of_its_months_ledger_in_a_commit(home: Home, git: Git) -> None:
    outcome = noted(home, reference(session="fc-1", by="transcript"))
    assert json.loads((home.root / LEDGER).read_text()) == {
        "ts": "2026-11-20T09:00:00+00:00", "id": "KD-7F3A", "by": "transcript", "session": "fc-1",
    }  # fmt: skip
    assert outcome.paths == (LEDGER,)
    assert git("status", "--porcelain") == ""


def test_months_have_ledgers_of_their_own_and_are_read_in_order(home: Home) -> None:
    december = Reference(ts="2026-12-01T00:00:00+00:00", id="LL-0000", by="cite")
    noted(home, december, reference())
    assert sorted(path.name for path in (home.root / "ledger").glob("*.jsonl")) == [
        "references-2026-11.jsonl", "references-2026-12.jsonl",
    ]  # fmt: skip
    assert list(read(home)) == [reference(), december]


def test_noting_the_same_again_adds_nothing(home: Home) -> None:
    noted(home, reference(), reference())
    assert noted(home, reference()).commit is None
    assert list(read(home)) == [reference()]


def test_what_stands_in_the_ledger_is_never_rewritten(home: Home) -> None:
    noted(home, reference())
    before = (home.root / LEDGER).read_bytes()
    noted(home, reference("LL-0000", 21))
    assert (home.root / LEDGER).read_bytes().startswith(before)


@pytest.mark.parametrize("tail", ['{"ts": "2026-11-2', '{"ts": "2026', "{"])
def test_a_half_written_last_line_is_passed_over_and_gives_way(home: Home, tail: str) -> None:
    noted(home, reference())
    with (home.root / LEDGER).open("a") as file:
        file.write(tail)
    assert list(read(home)) == [reference()]
    assert problems(home) == []
    noted(home, reference("LL-0000", 21))
    assert list(read(home)) == [reference(), reference("LL-0000", 21)]
    assert tail not in (home.root / LEDGER).read_text().splitlines()


def test_a_whole_last_line_without_its_newline_is_kept(home: Home) -> None:
    noted(home, reference())
    path = home.root / LEDGER
    path.write_text(path.read_text().rstrip("\n"))
    noted(home, reference("LL-0000", 21))
    assert list(read(home)) == [reference(), reference("LL-0000", 21)]


def test_lines_that_are_no_references_are_passed_over(home: Home) -> None:
    noted(home, reference())
    rows = ["[]", "null", '{"id": 7}', '{"ts": 1, "id": "KD-7F3A", "by": "cite"}', "[" * 100_000,
            '{"ts": "never", "id": "KD-7F3A", "by": "cite"}', '{"ts": "2026-11-20", "id": "x", "by": "cite"}',
            '{"ts": "2026-11-20", "id": "KD-7F3A", "by": "injection", "session": ""}']  # fmt: skip
    with (home.root / LEDGER).open("a") as file:
        file.writelines(f"{row}\n" for row in rows)
    assert list(read(home)) == [reference()]


def test_the_last_reference_is_the_latest_moment_in_whatever_zone(home: Home) -> None:
    early = Reference(ts="2026-11-20T09:00:00+08:00", id="KD-7F3A", by="cite")
    late = Reference(ts="2026-11-20T02:00:00+00:00", id="KD-7F3A", by="pipeline")
    noted(home, late, early)
    assert last_references(home) == {"KD-7F3A": datetime(2026, 11, 20, 2, tzinfo=UTC)}


def test_a_session_name_that_the_guard_would_touch_is_left_out_of_its_line(home: Home) -> None:
    noted(home, reference(session="jane.roe" + "@" + "example.org"))
    assert list(read(home)) == [reference()]


def test_a_ledger_may_grow_past_what_the_guard_reads_at_once(home: Home) -> None:
    start = datetime(2026, 11, 1, tzinfo=UTC)
    many = [Reference(ts=(start + timedelta(seconds=n)).isoformat(), id="KD-7F3A", by="cite") for n in range(2000)]
    noted(home, *many)
    noted(home, reference("LL-0000", 28))
    assert len(list(read(home))) == 2001


def test_the_ledgers_of_two_clones_are_both_kept_and_survive(home: Home, tmp_path: Path, git: Git) -> None:
    noted(home, reference())
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(home.root), str(clone)], check=True)
    there = Home(clone)
    assert list(read(there)) == [reference()]
    noted(home, reference("LL-0000", 21))
    noted(there, reference("RC-0000", 22))
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "pull", "--quiet", "--no-rebase", "--no-edit",
        str(clone), "main")  # fmt: skip
    assert {r.id for r in read(home)} == {"KD-7F3A", "LL-0000", "RC-0000"}
    assert problems(home) == []


def test_ids_in_what_this_system_put_into_the_text_are_not_quoted() -> None:
    injected = "<agent-home-recall layer='L3'>\n[KD-0000] old\n</agent-home-recall>"
    assert quoted_ids(f"As [LL-7F3A] says, and MEMORY.md#KD-1234. {injected} LL-7F3A again") == ["LL-7F3A", "KD-1234"]


@given(st.text(alphabet=st.characters(exclude_characters="<"), max_size=60))
def test_an_id_is_found_beside_any_text(text: str) -> None:
    assert "KD-7F3A" in quoted_ids(f"{text}\n[KD-7F3A]\n{text}")


def test_an_unknown_id_names_those_near_it() -> None:
    known = {"KD-7F3A", "KD-7F3B", "RC-0000"}
    assert resolve_ids(["[kd-7f3a]", "KD-7F3A"], known) == ["KD-7F3A"]
    with pytest.raises(NoSuchEntry, match="Did you mean KD-7F3") as caught:
        resolve_ids(["KD-7F3C"], known)
    assert set(caught.value.near) == {"KD-7F3A", "KD-7F3B"}
    with pytest.raises(NoSuchEntry, match="memory search"):
        resolve_ids(["SP-XXXX"], known)


def test_entries_are_found_where_they_stand_live_before_archived(home: Home) -> None:
    with transaction(home, actor="test", message="Add") as edits:
        for path in ("Archive/MEMORY-2026-01.md", "MEMORY.md"):
            entry = Entry(id="LL-7F3A", date="2026-01-01", title="x")
            edits.write(path, edits.read(path).with_entry("Lessons Learned", entry))
        assert [path for path, _ in entry_places(home, edits)["LL-7F3A"]] == ["MEMORY.md"]  # the other is not there yet
    assert [path for path, _ in entry_places(home)["LL-7F3A"]] == ["MEMORY.md", "Archive/MEMORY-2026-01.md"]
