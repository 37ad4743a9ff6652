"""Accounts, channels and empty folders are forgotten, and what only a person can rename is named."""

from __future__ import annotations

from datetime import datetime

from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.forget import forget, places, removal_plan
from tests.distill.test_forget import git, paths_with


def test_the_account_and_the_channel_of_a_turn_are_forgotten(home: Home, now: datetime) -> None:
    place = {"account": "Quellworth Brambledon", "channel": "quellworth-brambledon", "cwd": "/srv/QuellworthBrambledon"}
    turn = Message(session="s", id="m1", role="participant", name="Quellworth Brambledon", content="hello", **place)
    transcript.append(home, "s", [turn], actor="test", now=now)
    done = forget(home, "Quellworth Brambledon", now=now, history_too=True)
    assert "transcript" in {found.kind for found in done.before}
    assert done.remaining == ()
    assert paths_with(home, b"brambledon") == []


def test_branches_tags_and_hooks_with_the_text_are_named(home: Home, now: datetime) -> None:
    git(home, "branch", "Quellworth-Brambledon")
    git(home, "tag", "about/quellworth_brambledon")
    hook = home.root / ".git/hooks/post-merge"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("echo Quellworth Brambledon\n", encoding="utf-8")
    done = forget(home, "Quellworth Brambledon", now=now, history_too=True)
    assert {place.kind for place in done.remaining} == {"git"}
    branch, tag, program = done.remaining
    assert branch.path.startswith("refs/heads/[forgotten f-")
    assert "git branch -m" in branch.note
    assert tag.path.startswith("refs/tags/about/[forgotten f-")
    assert "git tag -d" in tag.note
    assert program.path == ".git/hooks/post-merge"
    assert "Remove the text" in program.note
    assert "brambledon" not in repr(done.remaining).casefold()
    assert git(home, "branch", "--list", "Quellworth-Brambledon").strip()


def test_empty_folders_with_the_text_are_removed(home: Home, now: datetime) -> None:
    named = home.root / "Knowledge/Quellworth Brambledon"
    (named / "inner").mkdir(parents=True)
    kept = home.root / "Knowledge/Another empty one"
    kept.mkdir()
    found = places(home, removal_plan(home, "Quellworth Brambledon").target)
    assert len(found) == 2
    assert all(place.path.startswith("Knowledge/[forgotten f-") for place in found)
    assert forget(home, "Quellworth Brambledon", now=now, history_too=True).remaining == ()
    assert not named.exists()
    assert kept.is_dir()


def test_the_folder_of_a_renamed_file_does_not_stay(home: Home, now: datetime) -> None:
    note = home.root / "outputs/Quellworth Brambledon/run.txt"
    note.parent.mkdir(parents=True)
    note.write_text("done\n", encoding="utf-8")
    assert forget(home, "Quellworth Brambledon", now=now).remaining == ()
    assert not note.parent.exists()
