"""Entries that two machines changed and archived stand in one place again, with every version of their words."""

from __future__ import annotations

from datetime import UTC, datetime

from agent_home.documents.check import problems
from agent_home.documents.document import parse
from agent_home.home import Home
from agent_home.store.gateway import transaction
from agent_home.store.references import entry_places
from distill.entries.second_copies import second_copies, settle_second_copies

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
FIRST, SECOND = "Archive/MEMORY-2026-09.md", "Archive/MEMORY-2026-10.md"


def put(home: Home, path: str, *lines: str) -> None:
    """Write a file as a merge of two clones leaves it."""
    entries = "".join(f"- **[LL-0001]** 2026-01-01 {line}\n" for line in lines)
    (home.root / path).parent.mkdir(exist_ok=True)
    (home.root / path).write_text(f"# M\n\n## Lessons Learned\n\n{entries}", "utf-8")


def settle(home: Home) -> dict[str, list[tuple[str, str]]]:
    with transaction(home, actor="test", message="Settle", now=NOW) as edits:
        settle_second_copies(edits)
    assert problems(home) == []
    assert second_copies(entry_places(home)) == []
    return {name: [(path, entry.text) for path, entry in found] for name, found in entry_places(home).items()}


def test_an_entry_archived_by_both_machines_stays_in_the_newer_file(home: Home) -> None:
    put(home, FIRST, "Warm the cache.\n  Sources: a#m1")
    put(home, SECOND, "Warm the cache.\n  Sources: b#m1")
    found = settle(home)
    assert [path for path, _ in found["LL-0001"]] == [SECOND]
    assert "Sources: a#m1, b#m1" in (home.root / SECOND).read_text("utf-8")


def test_words_of_three_versions_stay(home: Home) -> None:
    for path, said in (("MEMORY.md", "Warm it."), (FIRST, "Cool it."), (SECOND, "Leave it.")):
        put(home, path, said)
    found = settle(home)
    assert found["LL-0001"] == [("MEMORY.md", "Warm it.")]
    kept = {places[0][0]: places[0][1] for name, places in found.items() if name != "LL-0001"}
    assert kept == {FIRST: "Cool it.", SECOND: "Leave it."}


def test_an_entry_that_one_machine_ended_and_another_one_reworded_stays_ended(home: Home) -> None:
    put(home, "MEMORY.md", "Warm it soon.")
    put(home, FIRST, "Warm it.\n  State: resolved 2026-01-02")
    settle(home)
    (entry,) = parse((home.root / "MEMORY.md").read_text("utf-8")).entries()
    assert (entry.title, entry.resolved) == ("Warm it soon.", True)


def test_two_entries_outside_the_archive_are_left_to_a_person(home: Home) -> None:
    put(home, "MEMORY.md", "Warm it.")
    put(home, "EVOLUTION.md", "Cool it.")
    assert second_copies(entry_places(home)) == []
