"""The night's bench: a home that grows is a home, and a night in it is measured step by step."""

from __future__ import annotations

import random
from pathlib import Path

from agent_home.creation import create
from agent_home.documents import check, daily_log
from bench.nightly import START, grow, main, measure, table
from distill.close import unclosed


def test_a_grown_home_has_nothing_open_and_a_night_closes_what_is_new(tmp_path: Path) -> None:
    home = create(tmp_path / "home", now=START).home
    chance = random.Random(1)  # noqa: S311
    grow(home, 0, 8, chance)
    assert unclosed(home) == []
    assert len(daily_log.closings(home)) == 8
    row = measure(home, 8, 2, chance)
    assert set(row.steps) == {"close", "verify", "consolidate", "archive", "govern", "prune", "report", "pack", "index"}
    assert 0 < row.share_all < row.share < 1
    assert check.problems(home) == []
    assert "| 8 |" in table([row], 2)


def test_a_home_too_small_for_its_memory_is_no_success() -> None:
    assert main(["--sizes", "4", "--new", "1"]) == 1
