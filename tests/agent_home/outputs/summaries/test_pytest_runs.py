"""Runs of pytest that ended, were killed, or print what looks like another run."""

from __future__ import annotations

from collections.abc import Callable

from agent_home.outputs.summaries import OutputSummary

SumUp = Callable[..., OutputSummary]


def test_a_failure_is_on_the_line_where_its_details_begin(sum_up: SumUp, output: Callable[[str], str]) -> None:
    text = output("first/pytest_plain")
    failure = sum_up(text).failures[1]
    assert failure.name == "test_auth.py::TestLogin::test_expired"
    assert failure.message == "ValueError: token expired"
    assert "TestLogin.test_expired" in text.split("\n")[failure.line - 1]


def test_a_killed_run_counts_what_it_did(sum_up: SumUp) -> None:
    summary = sum_up("collected 9 items\n\ntest_a.py::test_one PASSED [ 11%]\ntest_a.py::test_two FAILED [ 22%]")
    assert summary.headline == "pytest did not end: 2 tests of 9 collected: 1 passed, 1 failed (test_two)"


def test_a_killed_run_counts_dots(sum_up: SumUp) -> None:
    summary = sum_up("===== test session starts =====\ncollected 7 items\ntest_a.py ..F.s     [ 71%]\n")
    assert summary.headline == "pytest did not end: 5 tests of 7 collected: 3 passed, 1 failed, 1 skipped"


def test_two_runs_are_summed(sum_up: SumUp) -> None:
    run = "F.   [100%]\nFAILED test_a.py::test_one - assert 0\n1 failed, 1 passed in 0.1s"
    summary = sum_up(f"{run}\n{run}")
    assert summary.headline == "2 runs, summed: 4 tests: 2 passed, 2 failed (test_one)"
    assert [one.line for one in summary.failures] == [2, 5]


def test_a_printed_end_of_a_run_is_no_run(sum_up: SumUp) -> None:
    summary = sum_up(
        "F   [100%]\n==== FAILURES ====\n___ test_a ___\n==== 9 failed in 1s ====\n==== 1 failed in 0.1s ===="
    )
    assert summary.headline == "1 test: 1 failed (test_a)"


def test_a_dash_in_a_parameter_belongs_to_the_name(sum_up: SumUp) -> None:
    summary = sum_up("FAILED test_a.py::test_b[p - q] - assert 'p - q' == ''\n1 failed in 0.1s")
    assert [(one.name, one.message) for one in summary.failures] == [
        ("test_a.py::test_b[p - q]", "assert 'p - q' == ''")
    ]


def test_missing_counts_are_told(sum_up: SumUp) -> None:
    summary = sum_up("==== short test summary info ====\nFAILED test_a.py::test_b - assert 0")
    assert summary.headline == "pytest gave no counts: 1 failure (test_b)"


def test_a_missing_file_is_a_failure(sum_up: SumUp) -> None:
    text = (
        "==== test session starts ====\nERROR: file or directory not found: tests/none\n==== no tests ran in 0.01s ===="
    )
    summary = sum_up(text)
    assert summary.headline == "no tests ran"
    assert summary.failures[0].message == "ERROR: file or directory not found: tests/none"


def test_prose_about_failures_is_no_run(sum_up: SumUp) -> None:
    assert sum_up("FAILED to connect\nERROR: no such host\n3 failed attempts in 5 minutes").kind == "text"
