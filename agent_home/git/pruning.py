"""Outlast ``git prune``, which deletes objects that no branch reaches. ``git gc`` runs it, too.

It first finds out what is reachable, and deletes the rest afterwards. With ``--prune=now`` it also deletes the objects
of a commit that a branch came to name in between. So a writer looks for such a command after it has moved a branch,
waits until it has ended, and then looks whether its commits are still there. A command that begins later sees the
branch.
"""

from __future__ import annotations

import time
from pathlib import Path

from ..errors import GitFailed, HistoryError
from .client import home_client
from .history import found
from .leftovers import git_commands_in

__all__ = ["await_pruning", "is_damaged"]

#: Seconds to wait for such a command. In a home of thousands of closings it takes a second.
PRUNING_WAIT_S = 60.0
_PRUNING = frozenset({"prune"})


def await_pruning(root: Path) -> bool:
    """Wait until no ``git prune`` runs in *root*. Return whether there was one.

    Raises:
        HistoryError: it did not end in time.
    """
    began = time.monotonic()
    waited = False
    while running := git_commands_in(root, _PRUNING):
        if time.monotonic() > began + PRUNING_WAIT_S:
            raise HistoryError(f"`git {running[0]}` still runs in {root}. Wait until it ends, then try again")
        waited = True
        time.sleep(0.02)
    return waited


def is_damaged(root: Path, since: str) -> bool:
    """Return whether an object of the commits of HEAD after *since* is missing. *since* itself must be there."""
    if not since or not found(root, since):
        return False
    try:
        home_client(root).query("rev-list", "--objects", "--quiet", "HEAD", f"^{since}")
    except GitFailed:
        return True
    return False
