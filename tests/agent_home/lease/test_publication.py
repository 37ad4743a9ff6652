"""What reaches the remote of a fleet's home, and which host it is taken from."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agent_home.errors import NotHeld, NotPublished
from agent_home.home import MEMORY, Home
from agent_home.lease.operation import operation
from agent_home.lease.publication import is_published, pack_outbox
from agent_home.lease.published import note_sent, outbox_of, read_published
from agent_home.lease.record import read_lease
from agent_home.lease.state_commit import STATE_REF
from agent_home.lease.state_tree import PART_BYTES
from agent_home.moving.arrival import fetch_home, shut_out
from agent_home.pulling.pull import pull
from distill.forget import forget
from interfaces.api import AgentHome
from tests.fleet import NOW, FleetHost, arrive, epochs, git, on_remote, state_paths, tip

FACT = "The deployment runs on Fridays."


def hook(remote: str, name: str, script: str) -> Path:
    path = Path(remote, "hooks", name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def other_host(tmp_path: Path) -> FleetHost:
    return FleetHost(tmp_path / "two", "two", "other")


def test_a_host_that_lost_the_home_publishes_nothing_whatever_its_clock_says(
    held: Home, remote: str, tmp_path: Path
) -> None:
    other = other_host(tmp_path)
    state = fetch_home(tmp_path / "fetched", remote)
    assert state is not None
    other.session()
    shut_out(state, other.lease("ada", 2, remote), now=NOW)
    taken = tip(remote)
    with pytest.raises(NotHeld, match="another host has published the home ada"):
        AgentHome(held).remember(FACT)  # its session goes on for minutes
    lease = read_lease(held)
    assert lease is not None
    assert lease.state == "left"
    assert tip(remote) == taken
    assert tip(remote, "refs/heads/main") != git(held.root, "rev-parse", "HEAD")
    with pytest.raises(NotHeld, match="is no longer on this host"):
        AgentHome(held).remember("Another fact about databases.")


def test_an_answer_that_never_came_stops_no_later_write(held: Home, remote: str) -> None:
    before = tip(remote)
    killed = hook(remote, "post-update", 'kill -9 "$PPID"')
    AgentHome(held).remember(FACT)  # the remote is asked what it has
    assert tip(remote) != before
    assert FACT in on_remote(remote, MEMORY)
    away = hook(remote, "post-receive", f"mv {remote} {remote}.away; kill -9 $PPID")
    with pytest.raises(NotPublished):
        AgentHome(held).remember("Redis holds the queue.")
    Path(f"{remote}.away").rename(remote)
    away.unlink()
    killed.unlink()
    AgentHome(held).remember("The team reviews on Mondays.")
    assert all(text in on_remote(remote, MEMORY) for text in (FACT, "Redis holds", "on Mondays"))
    assert is_published(held)


def test_a_remote_that_is_full_acknowledges_nothing(held: Home, remote: str) -> None:
    before = tip(remote)
    full = hook(remote, "pre-receive", "echo no space left >&2; exit 1")
    with pytest.raises(NotPublished, match="does not count as stored"):
        AgentHome(held).remember(FACT)
    assert tip(remote) == before
    full.unlink()
    AgentHome(held).remember("Redis holds the queue.")
    assert FACT in on_remote(remote, MEMORY)


def test_a_push_of_somebody_else_stops_no_write_and_is_not_overwritten(held: Home, remote: str, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--branch=main", remote, str(clone))
    (clone / "USER.md").write_text(f"{(clone / 'USER.md').read_text()}\nShe likes tea.\n")
    git(clone, "-c", "user.name=Ada", "-c", "user.email=a@example.org", "commit", "--quiet", "-am", "Tea")
    git(clone, "push", "--quiet", "origin", "main")
    theirs = tip(remote, "refs/heads/main")
    AgentHome(held).remember(FACT)
    AgentHome(held).remember("Redis holds the queue.")
    assert tip(remote, "refs/heads/main") == theirs
    assert FACT in on_remote(remote, MEMORY)
    assert read_published(held).foreign
    pull(held, "origin", now=NOW)
    assert "tea" in on_remote(remote, "USER.md")
    assert tip(remote, "refs/heads/main") == git(held.root, "rev-parse", "HEAD")
    assert not read_published(held).foreign


def test_a_line_at_the_end_of_a_large_file_sends_one_part(held: Home, remote: str) -> None:
    log = held.machine / "audit.jsonl"
    with log.open("ab") as file:
        file.writelines(
            json.dumps({"n": number, "pad": os.urandom(40).hex()}).encode() + b"\n" for number in range(9000)
        )
    AgentHome(held).remember(FACT)
    parts = [path for path in state_paths(remote) if path.startswith("large/machine/audit.jsonl/")]
    assert len(parts) == log.stat().st_size // PART_BYTES + 1 > 2
    before = git(remote, "rev-parse", *(f"{STATE_REF}:{path}" for path in parts)).split()
    AgentHome(held).remember("Redis holds the queue.")
    after = git(remote, "rev-parse", *(f"{STATE_REF}:{path}" for path in parts)).split()
    assert [old == new for old, new in zip(before, after, strict=True)] == [True] * (len(parts) - 1) + [False]


def test_a_forgotten_text_leaves_the_state_and_the_outbox(held: Home, remote: str) -> None:
    secret = "Ada collects stamps of Madagascar"
    AgentHome(held).append("s1", [{"role": "user", "content": f"{secret}. What a hobby!"}])
    AgentHome(held).close("s1")
    forget(held, "stamps of Madagascar", now=NOW, history_too=True)
    pack_outbox(held)
    reachable = git(remote, "rev-list", "--objects", STATE_REF)
    assert reachable
    for line in reachable.splitlines():
        assert b"Madagascar" not in bytes(git(remote, "cat-file", "-p", line.split()[0]), "utf-8")
    kept = git(outbox_of(held), "cat-file", "--batch-check", "--batch-all-objects").split("\n")
    texts = [git(outbox_of(held), "cat-file", "-p", row.split()[0]) for row in kept if " blob " in row]
    assert texts
    assert not any("Madagascar" in text for text in texts)


def test_without_its_outbox_a_host_publishes_everything_again(held: Home, remote: str) -> None:
    AgentHome(held).append("s1", [{"role": "user", "content": "Redis holds the queue."}])
    before = state_paths(remote)
    outbox_of(held).rename(held.machine / "lease" / "gone")
    AgentHome(held).append("s1", [{"role": "user", "content": "We review on Mondays."}])
    assert state_paths(remote) == before
    assert is_published(held)


def test_proposals_and_epochs_are_in_the_state(held: Home, remote: str, tmp_path: Path) -> None:
    AgentHome(held).append("s1", [{"role": "user", "content": "We use PostgreSQL."}])
    git(held.root, "branch", "proposals/x")
    with operation(held):
        pass
    refs = json.loads(git(remote, "show", f"{STATE_REF}:refs.json"))["refs"]
    assert refs["refs/heads/proposals/x"] == git(held.root, "rev-parse", "HEAD")
    assert epochs(remote) == [(1, "one")]
    other = other_host(tmp_path)
    moved = arrive(other, "ada", 2, remote)
    assert epochs(remote) == [(1, "one"), (2, "two")]
    AgentHome(moved).remember(FACT)
    assert epochs(remote) == [(1, "one"), (2, "two")]


def test_a_note_that_finds_the_disk_full_stops_no_later_write(
    held: Home, remote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("agent_home.lease.published.storage.write_cache", lambda _path, _data: False)
        AgentHome(held).remember(FACT)
    AgentHome(held).remember("Redis holds the queue.")
    assert FACT in on_remote(remote, MEMORY)
    assert is_published(held)


def test_a_lost_answer_is_known_after_many_tries(held: Home, remote: str) -> None:
    away = hook(remote, "post-receive", f"mv {remote} {remote}.away; kill -9 $PPID")
    with pytest.raises(NotPublished):
        AgentHome(held).remember(FACT)
    for number in range(20):
        note_sent(held, f"{number:040}")
    Path(f"{remote}.away").rename(remote)
    away.unlink()
    AgentHome(held).remember("Redis holds the queue.")
    assert is_published(held)


def test_a_damaged_outbox_is_made_again(held: Home, remote: str) -> None:
    AgentHome(held).append("s1", [{"role": "user", "content": "Redis holds the queue."}])
    before = state_paths(remote)
    for path in (outbox_of(held) / ".git" / "objects").rglob("*"):
        if path.is_file() and path.name != "alternates":
            path.unlink()
    AgentHome(held).append("s1", [{"role": "user", "content": "We review on Mondays."}])
    assert state_paths(remote) == before
    assert is_published(held)


def test_a_branch_of_any_name_travels(held: Home, remote: str) -> None:
    git(held.root, "branch", "a\u2028b")
    AgentHome(held).remember(FACT)
    assert "refs/heads/a\u2028b" in json.loads(git(remote, "show", f"{STATE_REF}:refs.json"))["refs"]
