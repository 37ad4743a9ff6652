"""Hosts of a fleet for tests: folders with a session, bare repositories as remotes, and homes that go between them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agent_home.home import Home
from agent_home.lease.host_clock import boot, elapsed
from agent_home.lease.record import HostSession, Lease, write_session
from agent_home.lease.state_commit import STATE_REF
from agent_home.moving.arrival import build_home, fetch_home, shut_out
from agent_home.moving.departure import entrust

__all__ = ["FleetHost", "arrive", "bare", "entrusted", "epochs", "git", "on_remote", "state_paths", "tip"]

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


@dataclass(frozen=True)
class FleetHost:
    """A host with a folder of homes. Its session lasts as long as a test says."""

    root: Path
    name: str = "one"
    incarnation: str = "first"

    @property
    def folder(self) -> Path:
        return self.root / ".fleet"

    def session(self, seconds: float = 600.0, *, boot_name: str = "") -> None:
        """Let the host write for that long."""
        self.folder.mkdir(parents=True, exist_ok=True)
        until = elapsed() + seconds
        write_session(
            self.folder,
            HostSession(host=self.name, incarnation=self.incarnation, boot=boot_name or boot(), until=until),
        )

    def lease(self, home: str, epoch: int, remote: str) -> Lease:
        return Lease(
            home=home, host=self.name, incarnation=self.incarnation, epoch=epoch, remote=remote, folder=str(self.folder)
        )


def git(folder: Path | str, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def bare(folder: Path) -> str:
    """Make a bare repository that notes each move of a ref, and return its address."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--bare")
    git(folder, "config", "core.logAllRefUpdates", "always")
    return str(folder)


def arrive(host: FleetHost, name: str, epoch: int, remote: str) -> Home:
    """Take the home over on *host*, as its process does."""
    host.session()
    state = fetch_home(host.folder / "fetched", remote)
    assert state is not None
    lease = host.lease(name, epoch, remote)
    state = shut_out(state, lease, now=NOW)
    build_home(host.folder / "building", host.root / name, state, lease)
    (host.folder / "building").rename(host.root / name)
    return Home(host.root / name)


def entrusted(home: Home, host: FleetHost, name: str, remote: str) -> None:
    """Give *home* to the fleet, as ``memory fleet add`` does."""
    host.session()
    entrust(home, host.lease(name, 0, remote))


def tip(remote: str, ref: str = STATE_REF) -> str:
    """Return the object that the remote names, or an empty string."""
    found = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", ref], cwd=remote, capture_output=True, text=True, check=False
    )
    return found.stdout.strip()


def state_paths(remote: str) -> list[str]:
    """Return the paths in the tree of the state on the remote."""
    return git(remote, "ls-tree", "-r", "--name-only", STATE_REF).splitlines()


def on_remote(remote: str, path: str) -> str:
    """Return a file of the memory that the state on the remote names."""
    refs = json.loads(git(remote, "show", f"{STATE_REF}:refs.json"))
    return git(remote, "show", f"{refs['refs'][refs['head']]}:{path}")


def epochs(remote: str) -> list[tuple[int, str]]:
    """Return the epochs and hosts that the state on the remote names, in order."""
    rows = git(remote, "show", f"{STATE_REF}:epochs.jsonl").splitlines()
    return [(row["epoch"], row["host"]) for row in map(json.loads, rows)]
