"""The collection of failures."""

from __future__ import annotations

from agent_home.outputs.summaries.findings import FailureCollection, OutputFailure, short


def test_mentions_of_one_failure_are_merged() -> None:
    failures = FailureCollection()
    failures.mention("a", stage=1, line=3)
    failures.mention("a", stage=2, name="file::a", line=9, relocate=True)
    assert failures.frozen() == (OutputFailure("file::a", "", "", 9),)


def test_a_second_mention_of_the_same_stage_is_another_failure() -> None:
    failures = FailureCollection()
    failures.mention("a", stage=1, line=3)
    failures.mention("a", stage=1, line=4)
    assert [one.line for one in failures.frozen()] == [3, 4]


def test_two_hundred_failures_are_kept_and_all_counted() -> None:
    failures = FailureCollection()
    for number in range(1_000):
        failures.add(f"t{number}", "", "x" * 9_999, number)
    assert (len(failures), len(failures.frozen())) == (1_000, 200)
    assert max(len(one.message) for one in failures.frozen()) == 300


def test_a_short_name_keeps_its_parameters() -> None:
    assert short([OutputFailure("a.py::B::c[x::y]", "", "", 1)], ("::",)) == ["c[x::y]"]
