"""Linters that tell a problem in several lines."""

from __future__ import annotations

from collections.abc import Callable

from agent_home.outputs.summaries import OutputSummary


def test_problems_of_eslint_are_in_the_file_above_them(sum_up: Callable[..., OutputSummary]) -> None:
    summary = sum_up("/src/a.js\n  1:2  error  No x  no-undef\n\n/src/b.js\n  3:4  warning  Odd  eqeqeq\n")
    assert [(one.name, one.place) for one in summary.failures] == [("no-undef", "/src/a.js:1:2")]
    assert summary.headline == "1 problem, 1 warning in 2 files (no-undef, eqeqeq)"


def test_files_to_format_are_problems(sum_up: Callable[..., OutputSummary]) -> None:
    summary = sum_up("Would reformat: a.py\nwould reformat b.py\n2 files would be reformatted")
    assert [one.place for one in summary.failures] == ["a.py", "b.py"]


def test_a_clean_run_is_told(sum_up: Callable[..., OutputSummary]) -> None:
    summary = sum_up("Success: no issues found in 3 source files")
    assert (summary.kind, summary.headline) == ("linter", "Success: no issues found in 3 source files")
