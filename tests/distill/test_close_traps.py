"""Closing in a home, and about a repository, that are full of traps: none of their programs runs."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_home.errors import HistoryError
from agent_home.git.hook import hook_state
from agent_home.home import Home
from agent_home.store import transcript
from distill.close import close
from distill.evidence.verification import verify
from interfaces.doctor.health import examine
from tests.agent_home.git.traps import Trapped, plain

if TYPE_CHECKING:
    from .conftest import Talk

DURING = "2026-11-20T14:05:00+00:00"


@pytest.fixture
def trapped_home(home: Home, tmp_path: Path) -> Trapped:
    trapped = Trapped(home.root, tmp_path / "home-traps")
    trapped.set_traps()
    return trapped


@pytest.fixture
def trapped_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trapped:
    trapped = Trapped(tmp_path / "work", tmp_path / "work-traps")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_DATE", DURING)
    trapped.build()
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{who}_DATE")
    trapped.ran()
    return trapped


def test_closing_and_verifying_run_nothing(
    home: Home, trapped_home: Trapped, trapped_work: Trapped, talk: Talk, now: datetime
) -> None:
    merged = plain(trapped_work.root, "rev-parse", "--short=8", "merged", bare=True)
    text = f"Conclusion: Fixed keep_sum rounding in app.py by 12 cents (commit {merged})."
    transcript.append(home, "fc-1", talk(("assistant", text), cwd=str(trapped_work.root)), actor="test", now=now)
    (home.root / "USER.md").write_text((home.root / "USER.md").read_text() + "\nDrinks tea.\n")
    assert close(home, "fc-1", now=now).commit
    report = verify(home, now=now, everything=True)
    assert [entry.now for entry in report.entries] == ["verified"]
    hook_state(home)
    examine(home, now)
    assert trapped_home.ran() == trapped_work.ran() == set()
    plain(home.root, "status")
    assert trapped_home.ran()  # git itself runs them


def test_a_file_that_a_filter_of_the_home_would_convert_is_not_written(
    home: Home, trapped_home: Trapped, talk: Talk, now: datetime
) -> None:
    (home.root / ".git" / "info" / "attributes").write_text("MEMORY.md filter=trap\n")
    transcript.append(home, "fc-1", talk(("user", "Decision: we ship the parser on Friday.")), actor="test", now=now)
    with pytest.raises(HistoryError, match=r"MEMORY\.md is to be converted by the filter trap"):
        close(home, "fc-1", now=now)
    assert trapped_home.ran() == set()
