"""Runs of go test."""

from __future__ import annotations

from collections.abc import Callable

from agent_home.outputs.summaries import OutputSummary

SumUp = Callable[..., OutputSummary]


def test_a_test_is_told_by_its_subtests(sum_up: SumUp, output: Callable[[str], str]) -> None:
    for name in ("go_plain", "go_verbose", "go_json"):
        names = [one.name for one in sum_up(output(f"first/{name}")).failures]
        assert "TestDiscount/half" in names
        assert "TestDiscount" not in names


def test_passing_packages_are_counted(sum_up: SumUp) -> None:
    summary = sum_up("ok  \tx.io/a\t0.01s\nok  \tx.io/b\t(cached)\n?   \tx.io/c\t[no test files]")
    assert (summary.kind, summary.headline) == ("go test", "3 packages: 2 ok, 1 without tests")


def test_a_test_that_ran_too_long_is_named(sum_up: SumUp, output: Callable[[str], str]) -> None:
    last = sum_up(output("third/go_table")).failures[-1]
    assert (last.name, last.message) == ("TestForever", "panic: test timed out after 2s")


def test_the_reason_of_an_assertion_library_is_told(sum_up: SumUp) -> None:
    text = (
        "=== RUN   TestA\n    a_test.go:9: \n        \tError Trace:\ta_test.go:9\n        \tError:      \tNot equal\n"
        "--- FAIL: TestA (0.00s)\nFAIL\tx.io/a\t0.1s"
    )
    assert [(one.place, one.message) for one in sum_up(text).failures] == [("a_test.go:9", "Not equal")]
