"""The durability bench measures each step in each mode, and sets back what it changed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_home.creation import create
from agent_home.documents import check
from agent_home.git.client import GitClient
from bench import durability
from bench.durability import measure, measure_archive, table
from bench.measure.grown_home import give_past, moment_of
from distill.close import unclosed


def test_each_step_is_measured_in_each_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durability, "MODES", {"now": "none"})
    settings = GitClient._started.__wrapped__.__defaults__  # type: ignore[attr-defined]
    home = create(tmp_path / "home", name="Ada", now=moment_of(0, 3) - timedelta(days=1)).home
    give_past(home, 3)
    assert unclosed(home) == []
    assert check.problems(home) == []
    costs = [*measure(home, 3, 1), *measure_archive(home, 3, 1)]
    assert [(cost.step, cost.mode) for cost in costs] == [
        (step, "now") for step in ("import", "index", "close", "prompt", "archive")
    ]
    assert "| close | 3 |" in table(costs)
    assert GitClient._started.__wrapped__.__defaults__ == settings  # type: ignore[attr-defined]
