"""What an output marks as memory is found line by line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from distill.reading.memory_marks import marked_lines, marked_text, unmarked

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
