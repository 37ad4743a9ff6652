"""Test the comparison of two texts by words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interfaces.cli.review_session.word_diff import diff_spans, word_spans


def told(before: str, after: str) -> str:
    return "".join(text for text, _ in word_spans(before, after, marked=True))


def test_changed_words_are_marked_and_neighbours_are_one_change() -> None:
    assert told("we use old MySQL here", "we use new MariaDB here") == "we use [-old MySQL-]{+new MariaDB+} here"
    assert told("same", "same") == "same"
    assert told("红茶很好", "绿茶很好") == "[-红-]{+绿+}茶很好"


@given(st.text(max_size=60), st.text(max_size=60))
def test_what_stays_and_goes_is_the_old_text_and_what_stays_and_comes_the_new_one(before: str, after: str) -> None:
    spans = word_spans(before, after, marked=False)
    assert "".join(text for text, style in spans if style != "added") == before
    assert "".join(text for text, style in spans if style != "removed") == after


def test_a_long_text_is_shown_as_two() -> None:
    assert word_spans("a " * 3000, "b", marked=False) == [("a " * 3000, "removed"), ("b", "added")]


def test_lines_of_a_diff_that_replace_each_other_are_compared() -> None:
    lines = ["--- a/M.md", "+++ b/M.md", "@@ -1 +1 @@", " same", "-use MySQL", "+use MariaDB", "+and more"]
    shown = ["".join(text for text, _ in spans) for spans in diff_spans(lines, marked=True)]
    assert shown == lines
    shown = ["".join(text for text, _ in spans) for spans in diff_spans(lines[:-1], marked=True)]
    assert shown == [*lines[:4], "~ use [-MySQL-]{+MariaDB+}"]
