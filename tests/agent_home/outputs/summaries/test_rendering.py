"""The text of a summary."""

from __future__ import annotations

import pytest

from agent_home.outputs.summaries.findings import OutputFailure, ShapeFindings
from agent_home.outputs.summaries.rendering import render
from agent_home.tokens import count_tokens

FAILURES = tuple(OutputFailure(f"test_{n}", f"a.py:{n}", f"assert {n}", n + 1) for n in range(50))
FOUND = ShapeFindings(kind="pytest", headline="50 tests: 50 failed", weight=1, failures=FAILURES, failed=70)


@pytest.mark.parametrize("max_tokens", [0, 1, 5, 20, 50, 100, 400, 2_000])
def test_the_budget_holds(max_tokens: int) -> None:
    assert count_tokens(render(FOUND, ["linter: x"], ["a"], ["b"], max_tokens=max_tokens)) <= max_tokens


def test_failures_without_room_are_counted() -> None:
    lines = render(FOUND, [], [], [], max_tokens=100).splitlines()
    shown = [line for line in lines if line.startswith("line ")]
    assert shown[0] == "line 1: test_0 a.py:0: assert 0"
    assert f"{70 - len(shown)} more failures" in lines


def test_a_headline_without_room_is_cut() -> None:
    assert render(FOUND, [], [], [], max_tokens=6).endswith("…\n")
