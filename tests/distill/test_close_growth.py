"""The cost of closing a session does not grow with the number of sessions that were closed before.

Calls of functions and git processes are counted, because times depend on the machine.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from agent_home.creation import create
from agent_home.documents import document
from agent_home.git.client import GitClient
from agent_home.home import Home
from agent_home.store import closings, transcript
from bench.measure.grown_home import END, give_past, moment_of, talk
from distill.close import close
from distill.entries import archived_statements

YOUNG, OLD = 65, 330


def _work(folder: Path, sessions: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Return the calls and the git processes of one closing after *sessions* of them, and one that filled caches."""
    home = create(folder, name="Ada", now=moment_of(0, sessions) - timedelta(days=1)).home
    give_past(home, sessions)
    git, popen = [0], GitClient._popen

    def counted_popen(self: GitClient, *arguments: Any) -> Any:
        git[0] += 1
        return popen(self, *arguments)

    calls = [0]

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        calls[0] += event in {"call", "c_call"}

    for number in (0, 1):
        now = END + timedelta(minutes=20 * (number + 1))
        transcript.append(home, f"new-{number}", talk(f"new-{number}", now, 7000 + number), actor="test", now=now)
        for cache in (document.parse, document._part_blocks, closings._of_day, archived_statements.statements_of):
            cache.cache_clear()  # as in a process of its own
        with monkeypatch.context() as patch:
            patch.setattr(GitClient, "_popen", counted_popen)
            calls[0] = git[0] = 0
            sys.setprofile(count)
            try:
                closed = close(Home(home.root), f"new-{number}", now=now + timedelta(minutes=5))
            finally:
                sys.setprofile(None)
        assert closed.commit
        assert len(closed.entries) == 1
    return calls[0], git[0]


def test_closing_after_hundreds_of_sessions_costs_as_much_as_after_a_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    young, old = (_work(tmp_path / str(sessions), sessions, monkeypatch) for sessions in (YOUNG, OLD))
    assert old[1] == young[1]
    assert old[0] <= 1.2 * young[0]
