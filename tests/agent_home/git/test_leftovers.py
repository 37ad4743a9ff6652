"""Leftovers of a killed git command are found whatever another git does meanwhile."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from agent_home.git import leftovers
from agent_home.home import Home


def test_a_folder_that_git_removes_meanwhile_stops_no_search(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = home.root / ".git" / "HEAD.lock"
    lock.touch()
    died_at = time.time() - 5
    os.utime(lock, (died_at, died_at))
    real = os.scandir

    def gone(path: Any = ".") -> Any:
        if Path(path).parent.name == "objects":
            raise FileNotFoundError(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", gone)
    assert leftovers.remove_leftovers(home.root, died_at) == ["HEAD.lock"]
