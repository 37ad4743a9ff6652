"""Closing and verifying start no program that a session's repository names."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_home.home import Home
from agent_home.store import transcript
from distill.close import close
from distill.evidence.verification import verify

if TYPE_CHECKING:
    from ..conftest import Repo, Talk

DURING = "2026-11-20T14:05:00+00:00"


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """The file that a program of the repository makes when it runs. The program is beside it."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path / 'canary'}\n", encoding="utf-8")
    program.chmod(0o755)
    return tmp_path / "canary"


def close_and_verify(home: Home, repo: Repo, talk: Talk, now: datetime, text: str) -> list[str]:
    """Close a session in which *text* was said, verify its entry again, and return the states."""
    transcript.append(home, "fc-1", talk(("assistant", text), cwd=str(repo.root)), actor="test", now=now)
    close(home, "fc-1", now=now)
    return [entry.now for entry in verify(home, now=now, everything=True).entries]


def test_a_claim_about_a_merge_runs_no_merge_driver(
    home: Home, make_repo: Callable[[str], Repo], talk: Talk, now: datetime, canary: Path
) -> None:
    repo = make_repo("work")
    repo.commit("Start", {"app.py": "keep_sum = 1\n"})
    repo.git("checkout", "--quiet", "-b", "side")
    repo.commit("Side", {"app.py": "keep_sum = 2\n"})
    repo.git("checkout", "--quiet", "main")
    repo.commit("Main", {"app.py": "keep_sum = 3\n", ".gitattributes": "* merge=evil\n"})
    repo.git("merge", "--quiet", "-s", "ours", "--no-commit", "side")
    merge = repo.commit("Fix keep_sum rounding in app.py by 12 cents", {"app.py": "keep_sum = 12\n"}, DURING)
    repo.git("config", "log.diffMerges", "remerge")
    repo.git("config", "merge.evil.driver", str(canary.with_name("program")))
    repo.git("show", "-m", merge)
    assert canary.exists()  # git itself runs it
    canary.unlink()
    text = f"Conclusion: Fixed keep_sum rounding in app.py by 12 cents (commit {merge})."
    assert close_and_verify(home, repo, talk, now, text) == ["verified"]
    assert not canary.exists()


def test_a_claim_about_a_submodule_runs_no_program_of_its_configuration(
    home: Home, make_repo: Callable[[str], Repo], talk: Talk, now: datetime, canary: Path
) -> None:
    repo, inner = make_repo("work"), make_repo("work/inner")
    repo.commit("Start", {"app.py": "keep_sum = 1\n"})
    inner.commit("Start", {"lib.py": "keep = 1\n"})
    repo.git("add", "inner")
    repo.commit("Add inner", {})
    inner.commit("Go on", {"lib.py": "keep = 12\n"})
    repo.git("add", "inner")
    moved = repo.commit("Fix keep_sum rounding in app.py by 12 cents", {"app.py": "keep_sum = 12\n"}, DURING)
    repo.git("config", "diff.submodule", "diff")
    inner.git("config", "diff.external", str(canary.with_name("program")))
    repo.git("show", moved)
    assert canary.exists()
    canary.unlink()
    text = f"Conclusion: Fixed keep_sum rounding in app.py by 12 cents (commit {moved})."
    assert close_and_verify(home, repo, talk, now, text) == ["verified"]
    assert not canary.exists()
