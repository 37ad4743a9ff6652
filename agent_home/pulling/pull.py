"""Pull from another clone: fetch, screen what comes in, and merge it through the gateway.

The merge is one transaction. What the guard holds back is left out and waits in ``memory review``. A file that memory
cannot take stops the pull before any change, unless the caller skips such files: they then stay as they are here, and
the merge counts as done. Nothing of this machine is removed that the other side did not remove from the same version.
Of a submodule for shared projects, the commit that the home names is taken. The submodule itself is not fetched.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..errors import PullStopped
from ..git import history
from ..git.fetching import fetch_branch, keep_remote_branch, remote_url
from ..home import Home
from ..screening.quarantine import Quarantined
from ..sharing.recorded_commit import take_commit
from ..store.branch import own_branch
from ..store.gateway import prepare, transaction
from ..store.machine_state import hold_home
from ..store.moved_head import head_moved, note_head
from ..store.recovery import marked_git
from .incoming import Incoming, look
from .signed_approvals import find_signed_rows

__all__ = ["Pulled", "pull"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """Result of a pull. *incoming* is ``None`` when nothing is new, *commit* when nothing was merged."""

    remote: str
    branch: str
    incoming: Incoming | None = None
    commit: str | None = None
    quarantined: tuple[Quarantined, ...] = ()


def pull(
    home: Home, remote: str, *, now: datetime, dry_run: bool = False, skip_refused: bool = False,
    accept_removals: bool = False,
) -> Pulled:  # fmt: skip
    """Fetch the home's branch from *remote* and merge it. With *dry_run*, merge nothing.

    Raises:
        PullStopped: there are files that memory cannot take, and *skip_refused* is not given.
        HistoryError: git refused, or HEAD is not on the home's branch.
    """
    if not dry_run:
        prepare(home, now)
    branch = own_branch(home) or history.branch(home.root)
    head = history.head(home.root)
    known = [tip.commit for tip in history.branch_tips(home.root, "refs/remotes/*")]
    commit = fetch_branch(home.root, remote_url(home.root, remote), branch, [head, *known])
    if history.descends(home.root, head, commit):
        return Pulled(remote=remote, branch=branch)
    incoming = look(home, commit, accept_removals=accept_removals)
    if dry_run:
        return Pulled(remote=remote, branch=branch, incoming=incoming)
    message = f"Merge {branch} of {remote}"
    with transaction(home, actor="pull", message=message, source="user", now=now) as edits:
        incoming = look(home, commit, accept_removals=accept_removals)
        if incoming.refused and not skip_refused:
            raise PullStopped([(file.path, file.refused) for file in incoming.refused])
        edits.merges, edits.forward = (commit,), incoming.forward
        for path, text in incoming.texts.items():
            edits.write(path, text)
    if incoming.submodules:
        with hold_home(home), marked_git(home):
            has_moved = head_moved(home)
            for place, named in incoming.submodules.items():
                take_commit(home, place, named)
            if not has_moved:
                note_head(home)
    with hold_home(home):
        keep_remote_branch(home.root, remote, branch, commit)
        find_signed_rows(home)
    return Pulled(
        remote=remote, branch=branch, incoming=incoming, commit=edits.outcome.commit,
        quarantined=edits.outcome.quarantined,
    )  # fmt: skip
