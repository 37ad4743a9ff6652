"""The table counts trials, not findings."""

from __future__ import annotations

from .report import Finding, Report, table


def test_a_trial_counts_once_for_each_kind_of_damage() -> None:
    report = Report("close: killed")
    report.add([])
    report.add([Finding("t2", "lost", "a"), Finding("t2", "lost", "b"), Finding("t2", "stuck", "c")])
    head, line, left = table([report, Report("power cut", skipped="it needs root")]).splitlines()
    assert head.split() == ["trials", "lost", "corrupt", "prompt", "stuck"]
    assert line.split() == ["close:", "killed", "2", "1", "0", "0", "1"]
    assert left.split(maxsplit=4) == ["power", "cut", "left", "out:", "it needs root"]
