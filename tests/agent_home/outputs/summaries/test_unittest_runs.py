"""Runs of unittest."""

from __future__ import annotations

from collections.abc import Callable

from agent_home.outputs.summaries import OutputSummary

RULE, LINE = "=" * 70, "-" * 70


def test_a_run_without_failures_has_only_counts(sum_up: Callable[..., OutputSummary]) -> None:
    summary = sum_up(f"...s\n{LINE}\nRan 4 tests in 0.01s\n\nOK (skipped=1)")
    assert (summary.kind, summary.headline) == ("unittest", "4 tests: 3 passed, 1 skipped")


def test_a_killed_run_names_its_failures(sum_up: Callable[..., OutputSummary]) -> None:
    text = f'{RULE}\nFAIL: test_a (m.Case.test_a)\n{LINE}\n  File "/x/m.py", line 4, in test_a\nAssertionError: 1 != 2'
    summary = sum_up(text)
    assert summary.headline == "unittest did not end: 1 failure (test_a)"
    assert (summary.failures[0].place, summary.failures[0].message) == ("/x/m.py:4", "AssertionError: 1 != 2")


def test_older_versions_write_the_class_alone(sum_up: Callable[..., OutputSummary]) -> None:
    summary = sum_up(f"{RULE}\nERROR: test_a (m.Case)\n{LINE}\nKeyError: 1\n\nRan 1 test in 0.0s\n\nFAILED (errors=1)")
    assert [one.name for one in summary.failures] == ["m.Case.test_a"]
    assert summary.headline == "1 test: 1 error (test_a)"
