"""Runs of jest and vitest."""

from __future__ import annotations

from collections.abc import Callable

from agent_home.outputs.summaries import OutputSummary


def test_failures_told_again_at_the_end_count_once(sum_up: Callable[..., OutputSummary]) -> None:
    reason = "    expect(received).toBe(expected)\n\n    Expected: 1\n    Received: 2\n"
    block = f"FAIL src/a.test.js\n  ● cart › adds\n\n{reason}"
    summary = sum_up(f"{block}\nSummary of all failing tests\n{block}\nTests:       1 failed, 4 passed, 5 total")
    assert summary.headline == "5 tests: 4 passed, 1 failed (adds)"
    assert [one.message for one in summary.failures] == ["expect(received).toBe(expected), Expected: 1, Received: 2"]


def test_two_runs_of_jest_are_summed(sum_up: Callable[..., OutputSummary]) -> None:
    summary = sum_up("PASS a.test.js\nTests:  2 passed, 2 total\nPASS b.test.js\nTests:  1 skipped, 3 passed, 4 total")
    assert (summary.kind, summary.headline) == ("jest", "2 runs, summed: 6 tests: 5 passed, 1 skipped")


def test_a_killed_jest_names_its_failures(sum_up: Callable[..., OutputSummary]) -> None:
    summary = sum_up("FAIL a.test.js\n  ✓ one (2 ms)\n  ✕ two (1 ms)\n\n  ● two\n\n    boom")
    assert summary.headline == "jest did not end: 2 tests: 1 passed, 1 failed (two)"


def test_tests_with_the_same_reason_all_have_it(
    sum_up: Callable[..., OutputSummary], output: Callable[[str], str]
) -> None:
    failures = sum_up(output("third/vitest_hooks")).failures
    assert [one.message for one in failures[:2]] == ["Error: hook broke"] * 2
