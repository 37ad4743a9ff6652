"""Unified diffs."""

from __future__ import annotations

from collections.abc import Callable

from agent_home.outputs.summaries import OutputSummary

SumUp = Callable[..., OutputSummary]


def test_changed_lines_that_look_like_headings_are_counted(sum_up: SumUp) -> None:
    text = "diff --git a/q.sql b/q.sql\n--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- old comment\n+++ new\n same"
    assert sum_up(text).headline == "1 file changed, +1 -1 lines"


def test_failures_inside_a_diff_are_its_content(sum_up: SumUp) -> None:
    text = (
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n"
        " a.c:1:2: error: x\n-1 failed in 1s\n+2 failed in 1s\n b"
    )
    assert (sum_up(text).kind, sum_up(text).failures) == ("diff", ())


def test_files_are_listed_with_their_lines(sum_up: SumUp, output: Callable[[str], str]) -> None:
    assert "numbers.txt +1 -2" in sum_up(output("first/git_diff")).text


def test_binary_files_are_counted(sum_up: SumUp) -> None:
    text = "diff --git a/a.png b/a.png\nindex 1..2 100644\nBinary files a/a.png and b/a.png differ"
    assert sum_up(text).headline == "1 file changed, +0 -0 lines, 1 binary"
