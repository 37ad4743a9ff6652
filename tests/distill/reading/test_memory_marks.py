"""What an output marks as memory is found line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.reading.memory_marks import FoundMarks, find_marks, marked_lines, marked_text, unmarked

LOG = """starting
__SYMPOZIUM_MEMORY__
# Agent Memory
- Key insight: Pod X has recurring OOM issues

The node pool has 12 nodes
__SYMPOZIUM_MEMORY_END__
- not memory
  __SYMPOZIUM_MEMORY__
* Node 7 was drained
"""


def test_lines_between_the_marks_are_found_without_bullets_and_headings() -> None:
    assert list(marked_lines(LOG.splitlines(keepends=True))) == [
        "Key insight: Pod X has recurring OOM issues", "The node pool has 12 nodes", "Node 7 was drained",
    ]  # fmt: skip


@given(st.lists(st.sampled_from(["a", "__SYMPOZIUM_MEMORY__", "__SYMPOZIUM_MEMORY_END__", "- b", "", "\x00"])))
def test_nothing_outside_the_marks_is_found(lines: list[str]) -> None:
    inside, wanted = False, []
    for line in lines:
        if line.startswith("__"):
            inside = line == "__SYMPOZIUM_MEMORY__"
        elif inside and line.strip():
            wanted.append(line.removeprefix("- "))
    assert list(marked_lines(lines)) == wanted


@given(st.lists(st.sampled_from(["a", "__SYMPOZIUM_MEMORY__", "__SYMPOZIUM_MEMORY_END__", "- b", "", "c d"])))
def test_every_line_is_marked_or_not(lines: list[str]) -> None:
    rest = unmarked("\n".join(lines)).split("\n")
    marked = list(marked_lines(lines))
    said = [line.removeprefix("- ") for line in lines if line and not line.startswith("__")]
    assert sorted([*marked, *(line.removeprefix("- ") for line in rest if line)]) == sorted(said)


def test_a_marked_text_is_found_again() -> None:
    assert list(marked_lines(marked_text("Pod X fails").split("\n"))) == ["Pod X fails"]
    assert unmarked(marked_text("Pod X fails")) == ""


BLOCK = ["noise", "__SYMPOZIUM_MEMORY__", "- Pod X fails", "[urgent] see | the log", "__SYMPOZIUM_MEMORY_END__", "bye"]
STATEMENTS = ("Pod X fails", "[urgent] see | the log")


@pytest.mark.parametrize(
    "prefix",
    ["2026-11-28T10:00:0{}.123456789Z ", "2026-11-28 10:00:0{},5 ", "[pod/x/y] ", "web-1  | ",
     "[pod/x-1/y] 2026-11-28T10:00:0{}Z ", "web-1  | 2026-11-28T10:00:0{}+01:00 ", "[2026-11-28 10:00:0{}] ",
     "2026-11-28T10:00:0{}.1Z stdout F ", "\ufeff", "\x1b[36mweb-1  | \x1b[0m", "\x1b]0;title\x07"],
)  # fmt: skip
def test_the_prefix_of_the_mark_is_taken_off_the_lines_of_its_block(prefix: str) -> None:
    lines = [f"{prefix.format(number)}{line}\x1b[0m\r\n" for number, line in enumerate(BLOCK)]
    assert find_marks(lines) == FoundMarks(STATEMENTS)
    assert unmarked("".join(lines)) == lines[0] + lines[-1]


def test_lines_of_other_sources_are_no_part_of_a_block() -> None:
    lines = ["web-1  | __SYMPOZIUM_MEMORY__", "db-1   | ready", "web-1  | Pod X fails", "db-1   | __SYMPOZIUM_MEMORY__",
             "web-1  | Pod Y fails", "db-1   | Disk 7 is full", "web-1  | __SYMPOZIUM_MEMORY_END__", "web-1  | bye",
             "db-1   | Disk 8 is full", "db-1   | __SYMPOZIUM_MEMORY_END__", "db-1   | bye"]  # fmt: skip
    assert find_marks(lines).statements == ("Pod X fails", "Pod Y fails", "Disk 7 is full", "Disk 8 is full")


def test_a_prefix_before_the_first_line_alone_is_that_of_a_logger() -> None:
    lines = ["[INFO] __SYMPOZIUM_MEMORY__", "Pod X fails", "__SYMPOZIUM_MEMORY_END__", "bye"]
    assert find_marks(lines) == FoundMarks(("Pod X fails",))


def test_a_sentence_that_mentions_the_mark_is_no_mark() -> None:
    lines = ["The lines between __SYMPOZIUM_MEMORY__ and its end count", "__SYMPOZIUM_MEMORY__ is how it begins", "no"]
    assert find_marks(lines) == FoundMarks(())
    assert find_marks(["It begins with __SYMPOZIUM_MEMORY__", "no"]) == FoundMarks((), 1)


def test_marks_that_yield_nothing_are_counted() -> None:
    begin, end = "__SYMPOZIUM_MEMORY__", "__SYMPOZIUM_MEMORY_END__"
    assert find_marks([begin, end, begin, "# heading", end, begin, "a", end, begin]) == FoundMarks(("a",), 3)
    assert find_marks([f"{begin} other", "b", end]) == FoundMarks((), 1)


def test_blocks_with_the_word_of_the_run_count_and_with_own_only_no_others() -> None:
    lines = ["__SYMPOZIUM_MEMORY__ w7", "a", "__SYMPOZIUM_MEMORY_END__", *marked_text("b").split("\n")]
    assert find_marks(lines) == FoundMarks(("b",), 1)
    assert find_marks(lines, word="w7") == FoundMarks(("a", "b"))
    assert find_marks(lines, word="w7", own_only=True) == FoundMarks(("a",), 1)


def test_marks_are_found_in_linear_time() -> None:
    hard = ["[" * 60_000, "\x1b]" * 30_000, "a " * 30_000, "a" + " " * 60_000 + "|", "2026-11-28T10:00:00 " * 3_000]
    many = [f"[{number}] __SYMPOZIUM_MEMORY__" for number in range(20_000)]
    assert find_marks(["__SYMPOZIUM_MEMORY__", *hard * 3], most_kb=1 << 12).nothing == 0
    assert find_marks(many).nothing == 20_000
