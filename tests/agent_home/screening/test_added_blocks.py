"""What a new version of a document adds, and what a transaction only moves."""

from __future__ import annotations

from collections import Counter

import pytest

from agent_home.documents import document
from agent_home.screening import added_blocks
from agent_home.screening.added_blocks import moved_blocks, runs

FIRST, SECOND, THIRD = "- **[RC-0001] 2026-11-01** one\n", "- **[RC-0002] 2026-11-01** two\n", "A paragraph.\n"


def test_a_block_that_leaves_one_file_is_moved_to_the_others() -> None:
    before = {"MEMORY.md": FIRST + SECOND, "Archive/MEMORY.md": "", "USER.md": THIRD}
    after = {"MEMORY.md": FIRST, "Archive/MEMORY.md": SECOND, "USER.md": THIRD + "\n" + FIRST}
    moved = moved_blocks(after, before)
    assert moved["Archive/MEMORY.md"] == Counter({SECOND: 1})
    assert (moved["MEMORY.md"], moved["USER.md"]) == (Counter(), Counter())


def test_a_block_is_not_moved_to_the_file_that_it_leaves() -> None:
    moved = moved_blocks({"A.md": FIRST, "B.md": ""}, {"A.md": FIRST + FIRST, "B.md": FIRST})
    assert moved == {"A.md": Counter({FIRST: 1}), "B.md": Counter()}


def test_what_was_moved_is_known_as_often_as_it_left() -> None:
    moved = moved_blocks({"A.md": "", "B.md": SECOND + SECOND}, {"A.md": SECOND, "B.md": ""})
    assert [(new, len(blocks)) for new, blocks in runs("", SECOND + SECOND, moved["B.md"])] == [(False, 1), (True, 1)]


def test_a_file_for_another_destination_gives_nothing() -> None:
    moved = moved_blocks({"sessions/a.md": "", "MEMORY.md": FIRST}, {"sessions/a.md": FIRST, "MEMORY.md": ""})
    assert moved["MEMORY.md"] == Counter()


def test_each_text_is_parsed_a_fixed_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counting(text: str) -> document.Document:
        parsed.append(text)
        return document.parse(text)

    monkeypatch.setattr(added_blocks, "parse", counting)
    paths = [f"Knowledge/{number}.md" for number in range(50)]
    moved_blocks(dict.fromkeys(paths, FIRST), dict.fromkeys(paths, SECOND))
    assert len(parsed) <= 3 * len(paths)
