"""Outputs without a known shape."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent_home.outputs.summaries import OutputSummary

SumUp = Callable[..., OutputSummary]


def test_lines_that_look_like_errors_are_told_between_head_and_tail(sum_up: SumUp) -> None:
    summary = sum_up([f"step {n}" for n in range(50)] + ["fatal: disk is full"] + [f"end {n}" for n in range(50)])
    assert summary.headline == "101 lines, 1 looks like an error (line 51: fatal: disk is full)"
    assert "line 51: fatal: disk is full\n" in summary.text
    assert "first lines:\nstep 0\n" in summary.text
    assert summary.text.endswith("end 49\n")


@pytest.mark.parametrize("line", ["0 errors", "finished without errors", "errors: 0", "no failures", "emailing Gail"])
def test_lines_that_deny_errors_are_none(line: str, sum_up: SumUp) -> None:
    assert sum_up([line]).failures == ()
