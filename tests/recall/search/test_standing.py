"""Hits of entries say what became of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agent_home.home import Home
from recall.index.sync import SyncReport
from recall.search.hybrid import SearchResult
from recall.search.standing import ended_entries

Write = Callable[[str, str], Path]
Update = Callable[[], SyncReport]
Ask = Callable[..., SearchResult]

MEMORY = """# Memory

## Key Decisions

- **[KD-7F3A]** 2026-11-20 The kiln fires at 1240 degrees.
  Supersedes: KD-2M0Q
- **[KD-2M0Q]** 2026-03-01 The kiln fires at 1180 degrees.

## Recent Context

- **[RC-0001]** 2026-05-05 The kiln belongs to Ines.
  Origin: user · State: retracted 2026-06-01, s-2#m4: No, it is rented, since 2020.

## Open Threads

- **[OT-0001]** 2026-05-05 Repair the kiln door.
  State: resolved 2026-05-09
"""


def test_every_end_of_an_entry_is_named(write: Write, update: Update, ask: Ask) -> None:
    write("MEMORY.md", MEMORY)
    write("Archive/MEMORY-2026-11.md", "# Archive\n\n## Key Decisions\n\n- **[KD-0003]** 2026-01-01 A kiln of brick.\n")
    write("Knowledge/kiln.md", "# Kiln\n\nA kiln is an oven.\n")
    update()
    found = {hit.source.partition("#")[2]: hit for hit in ask("kiln", mode="lexical").hits}
    words = {name: hit.standing.words for name, hit in found.items() if hit.standing}
    assert words == {
        "KD-7F3A": "live", "KD-2M0Q": "superseded by KD-7F3A (2026-11-20)", "RC-0001": "retracted (2026-06-01)",
        "OT-0001": "resolved (2026-05-09)", "KD-0003": "archived",
    }  # fmt: skip
    assert "L3" in found
    whole = ask("kiln", mode="lexical", unit="session").hits
    assert [hit.standing is not None for hit in whole if hit.path == "MEMORY.md"] == [True]


def test_entries_that_ended_and_their_successors_are_read_from_the_index(
    home: Home, write: Write, update: Update
) -> None:
    assert ended_entries(home) == ()
    write("MEMORY.md", MEMORY)
    update()
    assert {entry.id for entry in ended_entries(home)} == {"KD-7F3A", "RC-0001", "OT-0001"}


def test_an_archived_successor_is_found_for_an_archived_entry(write: Write, update: Update, ask: Ask) -> None:
    old = "- **[KD-2M0Q]** 2026-03-01 The kiln fires at 1180 degrees.\n  Superseded-By: KD-7F3A\n"
    new = "- **[KD-7F3A]** 2026-11-20 It is 1240 now.\n"
    write("Archive/MEMORY-2026-11.md", f"# Archive\n\n## Key Decisions\n\n{old}")
    write("Archive/MEMORY-2026-12.md", f"# Archive\n\n## Key Decisions\n\n{new}")
    update()
    words = [hit.standing and hit.standing.words for hit in ask("kiln", mode="lexical").hits]
    assert words == ["archived", "superseded by KD-7F3A (2026-11-20), archived"]


def test_a_successor_that_ended_too_is_not_brought_along(write: Write, update: Update, ask: Ask) -> None:
    old = "- **[KD-2M0Q]** 2026-03-01 The kiln fires at 1180 degrees.\n  Superseded-By: KD-7F3A\n"
    new = "- **[KD-7F3A]** 2026-11-20 It is 1240 now.\n  State: retracted 2026-12-01\n"
    write("Archive/MEMORY-2026-11.md", f"# Archive\n\n## Key Decisions\n\n{new}")
    write("MEMORY.md", f"# Memory\n\n## Key Decisions\n\n{old}")
    update()
    assert [hit.source for hit in ask("kiln", mode="lexical").hits] == ["MEMORY.md#KD-2M0Q"]


def test_a_search_says_when_no_passage_holds_a_word(write: Write, update: Update, ask: Ask) -> None:
    write("MEMORY.md", MEMORY)
    update()
    assert ask("zebra", mode="hybrid").without_words
    assert not ask("zebra kiln", mode="hybrid").without_words
    assert not ask("zebra", mode="vector").without_words
    assert not ask("", mode="hybrid").without_words
