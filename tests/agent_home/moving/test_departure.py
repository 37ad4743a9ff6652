"""A home of a fleet leaves its host: what runs may finish, and nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_home.errors import GitFailed, HistoryError, NotHeld, NotPublished
from agent_home.home import MEMORY, Home
from agent_home.lease.operation import operation
from agent_home.lease.record import read_lease
from agent_home.moving.departure import NotMovable, StillRunning, drain, entrust, mark_left, remove_copy, resume
from interfaces.api import AgentHome
from tests.fleet import NOW, FleetHost, arrive, bare, entrusted, git, on_remote, state_paths, tip

FACT = "We use PostgreSQL for billing."


@pytest.fixture
def host(tmp_path: Path) -> FleetHost:
    return FleetHost(tmp_path / "one")


@pytest.fixture
def remote(tmp_path: Path) -> str:
    return bare(tmp_path / "remote.git")


@pytest.fixture
def held(home: Home, host: FleetHost, remote: str) -> Home:
    entrusted(home, host, "ada", remote)
    return arrive(host, "ada", 1, remote)


def test_what_was_not_committed_by_hand_goes_along(held: Home, remote: str) -> None:
    (held.root / "Knowledge").mkdir(exist_ok=True)
    (held.root / "Knowledge" / "tea.md").write_text("# Tea\n")
    drain(held, 5)
    drain(held, 5)
    assert "home/Knowledge/tea.md" in state_paths(remote)
    with pytest.raises(NotHeld, match="is being moved"):
        AgentHome(held).remember(FACT)
    resume(held)
    AgentHome(held).remember(FACT)
    assert "home/Knowledge/tea.md" not in state_paths(remote)


def test_a_home_in_which_something_runs_stays(held: Home, remote: str) -> None:
    with operation(held):
        with pytest.raises(StillRunning):
            drain(held, 0.1)
        resume(held)
        AgentHome(held).remember(FACT)
    assert FACT in on_remote(remote, MEMORY)


def test_a_copy_whose_writes_are_published_is_deleted(held: Home, remote: str, tmp_path: Path) -> None:
    AgentHome(held).remember(FACT)
    mark_left(held)
    gone = remove_copy(held, tmp_path / "aside", tmp_path / "leaving", taken=tip(remote), now=NOW)
    assert gone is None
    assert not held.root.exists()
    assert not (tmp_path / "aside").exists()
    assert list((tmp_path / "leaving").iterdir()) == []
    with pytest.raises(NotHeld, match="is not here any more"), operation(held):
        pass


@pytest.mark.parametrize("what", ["an edit", "an ignored file", "a link"])
def test_a_copy_with_what_a_person_put_there_is_kept_aside(held: Home, remote: str, tmp_path: Path, what: str) -> None:
    place = held.root / "drafts.md"
    if what == "an ignored file":
        (held.root / ".gitignore").write_text("drafts.md\n")
        git(held.root, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "-am", "Drafts")
    AgentHome(held).remember(FACT)
    if what == "a link":
        place.symlink_to("USER.md")
    else:
        place.write_text("My novel.\n")
    if what != "an edit":
        drain(held, 5)
    mark_left(held)
    kept = remove_copy(held, tmp_path / "aside", tmp_path / "leaving", taken=tip(remote), now=NOW)
    assert kept is not None
    assert os.path.lexists(kept / "drafts.md")


def test_a_copy_whose_edits_went_along_is_deleted(held: Home, remote: str, tmp_path: Path) -> None:
    (held.root / "USER.md").write_text("Edited by hand.\n")
    drain(held, 5)
    mark_left(held)
    assert remove_copy(held, tmp_path / "aside", tmp_path / "leaving", taken=tip(remote), now=NOW) is None


@pytest.mark.parametrize("what", ["a write", "a stash", "a remote that was set back"])
def test_a_copy_with_what_was_not_published_is_kept_aside(held: Home, remote: str, tmp_path: Path, what: str) -> None:
    if what == "a write":
        Path(remote).rename(f"{remote}.away")
        with pytest.raises(NotPublished):
            AgentHome(held).remember(FACT)
        Path(f"{remote}.away").rename(remote)
    elif what == "a stash":
        (held.root / "USER.md").write_text("Later.\n")
        git(held.root, "-c", "user.name=A", "-c", "user.email=a@example.org", "stash")
    before = tip(remote)
    if what == "a remote that was set back":
        AgentHome(held).remember(FACT)
    kept = remove_copy(held, tmp_path / "aside", tmp_path / "leaving", taken=before, now=NOW)
    assert kept is not None
    assert (kept / MEMORY).exists()
    assert not held.root.exists()
    assert what == "a stash" or FACT in (kept / MEMORY).read_text()


def test_a_home_is_entrusted_once_and_to_an_empty_remote(home: Home, host: FleetHost, remote: str) -> None:
    host.session()
    entrust(home, host.lease("ada", 0, remote))
    with pytest.raises(NotHeld, match="is no longer on this host"):
        AgentHome(home).remember(FACT)
    entrust(home, host.lease("ada", 0, remote))
    with pytest.raises(NotHeld, match="is no longer on this host"):
        AgentHome(home).remember(FACT)
    with pytest.raises(NotMovable, match="is a home of a fleet already"):
        entrust(home, host.lease("bob", 0, remote))


def test_a_home_whose_first_answer_was_lost_is_entrusted_again(home: Home, host: FleetHost, remote: str) -> None:
    host.session()
    hooks = Path(remote, "hooks")
    hooks.mkdir(exist_ok=True)
    away = hooks / "post-receive"
    away.write_text(f"#!/bin/sh\nmv {remote} {remote}.away; kill -9 $PPID\n")
    away.chmod(0o755)
    with pytest.raises(NotPublished):
        entrust(home, host.lease("ada", 0, remote))
    Path(f"{remote}.away").rename(remote)
    away.unlink()
    entrust(home, host.lease("ada", 0, remote))
    assert "home/sessions" not in state_paths(remote)
    assert arrive(host, "ada", 1, remote).root.exists()


def test_a_home_on_another_branch_stays_where_it_is(held: Home, remote: str) -> None:
    git(held.root, "switch", "--quiet", "--create", "elsewhere")
    AgentHome(held).append("s1", [{"role": "user", "content": "Redis holds the queue."}])
    assert '"head": "refs/heads/main"' in git(remote, "show", "refs/agent-home/state:refs.json")
    with pytest.raises(HistoryError, match="git switch main"):
        drain(held, 1)
    git(held.root, "switch", "--quiet", "main")
    drain(held, 1)


def test_a_home_that_cannot_be_entrusted_stays_as_it_was(
    home: Home, host: FleetHost, remote: str, tmp_path: Path
) -> None:
    host.session()
    with pytest.raises(GitFailed):
        entrust(home, host.lease("ada", 0, str(tmp_path / "absent.git")))
    assert read_lease(home) is None
    AgentHome(home).remember(FACT)
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{home.root}", "shallow")
    with pytest.raises(NotMovable, match="git fetch --unshallow"):
        entrust(Home(tmp_path / "shallow"), host.lease("ada", 0, remote))
    git(home.root, "init", "--quiet", "Projects/clone")
    with pytest.raises(NotMovable, match="git repositories in it"):
        entrust(home, host.lease("ada", 0, remote))
    AgentHome(home).remember("Redis holds the queue.")
    (home.root / "Projects" / "clone" / ".git").rename(tmp_path / "clone")
    git(remote, "fetch", "--quiet", str(home.root), "HEAD:refs/agent-home/state")
    with pytest.raises(NotMovable, match="has a home already"):
        entrust(home, host.lease("ada", 0, remote))
    assert read_lease(home) is None


def test_a_home_that_its_remote_refuses_stays_as_it_was(
    home: Home, host: FleetHost, remote: str, tmp_path: Path
) -> None:
    hook = Path(remote, "hooks", "pre-receive")
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    host.session()
    with pytest.raises(NotPublished):
        entrust(home, host.lease("ada", 0, remote))
    assert read_lease(home) is None
    assert not (home.machine / "lease").exists()
    AgentHome(home).remember(FACT)
    entrust(home, host.lease("ada", 0, bare(tmp_path / "other.git")))


def test_a_copy_is_entrusted_again_where_its_remote_lost_the_home(held: Home, host: FleetHost, remote: str) -> None:
    AgentHome(held).remember(FACT)
    with pytest.raises(NotMovable, match="is a home of a fleet already"):
        entrust(held, host.lease("ada", 0, remote))
    Path(remote).rename(f"{remote}.lost")
    bare(Path(remote))
    with pytest.raises(NotHeld, match=r"has lost the home.*memory fleet add ada"):
        AgentHome(held).remember("Redis holds the queue.")
    entrust(held, host.lease("ada", 0, remote))
    moved = arrive(FleetHost(host.root.with_name("two"), "two", "other"), "ada", 2, remote)
    assert FACT in (moved.root / MEMORY).read_text()
    assert "Redis" in (moved.root / MEMORY).read_text()
