"""A nightly run that was killed before its report is reported by the next one, once."""

from __future__ import annotations

import importlib
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_home.git import commits
from agent_home.home import Home
from agent_home.store import transcript
from distill import interrupted_night
from distill.close import close_all
from distill.nightly import distill_home
from distill.report import report_path

if TYPE_CHECKING:
    from .conftest import Talk

NIGHTLY = importlib.import_module("distill.nightly")


@pytest.fixture
def told(home: Home, talk: Talk, now: datetime) -> Home:
    messages = talk(("user", "Decision: the release ships on Monday."), session="one", day="2026-11-20")
    transcript.append(home, "one", messages, actor="test", now=now)
    return home


def killed(home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(commits if before == "commit_texts" else NIGHTLY, before, die)
        with pytest.raises(KeyboardInterrupt):
            distill_home(home, now=now)


def report(home: Home, now: datetime) -> str:
    path: Path = home.root / report_path(now)
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize("before", ["commit_texts", "_consolidate", "_write_report"])
def test_the_next_run_reports_what_a_killed_one_did(
    told: Home, now: datetime, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    killed(told, now, monkeypatch, before)
    assert report(told, now) == ""
    result = distill_home(told, now=now)
    assert len(result.interrupted) == 1
    assert "commits of an interrupted run: 1: " in report(told, now)
    assert "(KD-" in report(told, now)
    assert "Monday" not in report(told, now)
    assert distill_home(told, now=now).interrupted == ()
    assert report(told, now).count("interrupted") == 1


def test_what_was_reported_is_not_reported_again(told: Home, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(_: Home) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(interrupted_night, "end", die)
        with pytest.raises(KeyboardInterrupt):
            distill_home(told, now=now)
    before = report(told, now)
    assert "sessions closed: 1" in before
    assert distill_home(told, now=now).interrupted == ()
    assert report(told, now) == before


@pytest.mark.parametrize("mark", [b"", b"{}", b'{"head": "-x"}', b'{"head": "' + b"a" * 40 + b'"}'])
def test_a_mark_that_cannot_be_read_stops_no_run(told: Home, now: datetime, mark: bytes) -> None:
    (told.machine / "nightly.json").write_bytes(mark)
    close_all(told, now=now)
    assert distill_home(told, now=now).interrupted == ()
    assert not (told.machine / "nightly.json").exists()
