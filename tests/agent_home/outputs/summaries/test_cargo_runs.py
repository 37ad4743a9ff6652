"""Tests and builds of cargo."""

from __future__ import annotations

from collections.abc import Callable

from agent_home.outputs.summaries import OutputSummary

SumUp = Callable[..., OutputSummary]


def test_values_that_differ_are_part_of_the_reason(sum_up: SumUp, output: Callable[[str], str]) -> None:
    failure = sum_up(output("first/cargo_test")).failures[0]
    assert failure.message == "assertion `left == right` failed: sum of one and two, left 3, right 4"


def test_panics_of_older_versions_are_read(sum_up: SumUp) -> None:
    text = (
        "test t::a ... FAILED\n---- t::a stdout ----\nthread 't::a' panicked at 'no value', src/lib.rs:4:9\n"
        "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out"
    )
    assert [(one.name, one.place, one.message) for one in sum_up(text).failures] == [
        ("t::a", "src/lib.rs:4:9", "no value")
    ]


def test_a_killed_run_is_told(sum_up: SumUp) -> None:
    summary = sum_up("running 3 tests\ntest a ... ok\ntest b ... FAILED")
    assert summary.headline == "cargo test did not end: 2 tests: 1 passed, 1 failed (b)"


def test_warnings_of_a_build_are_notes(sum_up: SumUp, output: Callable[[str], str]) -> None:
    summary = sum_up(output("second/cargo_warnings"))
    assert (summary.kind, summary.failures) == ("cargo build", ())
    assert "warning src/main.rs:1:" in summary.text
