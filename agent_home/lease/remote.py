"""Talk to the git repository that keeps a fleet's home: read and move its refs, and fetch its state.

Git runs in a repository of this program alone, so nothing that a home configures applies. The user's own configuration,
with keys and proxies, does. A ref of the remote moves only if it still has the value that the caller knows. The remote
compares and moves in one step, so of two hosts that believe to be the holder, one is refused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .. import storage
from ..errors import GitFailed
from ..git.client import GitClient, fetching_client, home_client
from .state_commit import STATE_REF

__all__ = [
    "FIRST_TIMEOUT_S",
    "REMOTE_TIMEOUT_S",
    "RefMove",
    "borrow",
    "fetch_state",
    "make_outbox",
    "push",
    "remote_refs",
]

#: Seconds for an exchange with the remote in which little is sent, and for one that brings a whole home.
REMOTE_TIMEOUT_S, FIRST_TIMEOUT_S = 30.0, 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RefMove:
    """A *ref* of the remote that shall go from the object *old* to *new*. An empty *old* is an absent ref."""

    ref: str
    old: str
    new: str


def make_outbox(folder: Path, form: str, objects: str = "") -> None:
    """Make the repository *folder*, from which states are pushed. It borrows the *objects* of the folder named so.

    *objects* is relative to its folder of objects, so that it may move together with the home.
    """
    storage.make_folder(folder)
    fetching_client(folder).change("init", "--quiet", "--template=", "--shared=0600", f"--object-format={form}", ".")
    if objects:
        borrow(folder, objects)


def borrow(folder: Path, objects: str) -> None:
    """Let the repository *folder* find objects in the folder *objects*, too."""
    place = folder / ".git" / "objects" / "info" / "alternates"
    storage.stage(place.with_name("alternates.tmp"), os.fsencode(f"{objects}\n"))
    storage.replace(place.with_name("alternates.tmp"), place)


def remote_refs(folder: Path, address: str, patterns: Sequence[str]) -> dict[str, str]:
    """Return the refs at *address* that match *patterns*, with the objects that they name.

    Raises:
        HistoryError: the remote cannot be reached.
    """
    output = _client(folder).query("ls-remote", "--quiet", "--", address, *patterns)
    rows = (line.split("\t", 1) for line in output.decode("utf-8", "surrogateescape").splitlines() if "\t" in line)
    return {ref: name for name, ref in rows}


def fetch_state(folder: Path, address: str) -> str:
    """Fetch the state at *address* into the repository *folder*, and return its commit.

    Raises:
        HistoryError: the remote cannot be reached, has no state, or its objects are malformed.
    """
    options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance")
    _client(folder, FIRST_TIMEOUT_S).change(
        "fetch", *options, "--upload-pack=git-upload-pack", "--", address, f"+{STATE_REF}:{STATE_REF}"
    )
    return home_client(folder).text("rev-parse", "--verify", STATE_REF).strip()


def push(folder: Path, address: str, moves: Sequence[RefMove], *, timeout_s: float = REMOTE_TIMEOUT_S) -> None:
    """Move refs of the remote, each from its old value, and all of them or none.

    Raises:
        GitFailed: they did not move, or the answer of the remote was lost.
        GitTimeout: the remote did not answer in time. They may have moved.
    """
    expected = [f"--force-with-lease={move.ref}:{move.old}" for move in moves]
    wanted = [f"{move.new}:{move.ref}" for move in moves]
    options = ("--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed")
    together = ["--atomic"] if len(moves) > 1 else []
    _client(folder, timeout_s).change(
        "push", *options, *together, "--receive-pack=git-receive-pack", *expected, "--", address, *wanted
    )


def _client(folder: Path, timeout_s: float = REMOTE_TIMEOUT_S) -> GitClient:
    git = fetching_client(folder)
    if not (folder / ".git").is_dir():
        raise GitFailed("push", -1, f"{folder} is no repository")
    environment = {**git.environment, "GIT_DIR": str((folder / ".git").absolute())}
    # In a session of its own, so that a timeout ends ssh as well.
    return replace(git, environment=environment, timeout_s=timeout_s, own_session=True)
