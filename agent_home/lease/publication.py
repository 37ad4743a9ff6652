"""Publish a home of a fleet: send what was written to its remote, before anybody is told that it is stored.

The remote decides who may write. Each publication moves the ref of the state from the value that this host published
last. A host that lost the home finds another value there, so git itself refuses its write, whatever its clock says.
The branch of the memory follows, for people and their clones. When somebody else has pushed to that branch, it stays as
it is until the home has merged it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from .. import storage
from ..errors import GitFailed, HistoryError, NotHeld, NotPublished
from ..git import history
from ..git.client import home_client
from ..home import Home
from .published import (
    Published,
    forget_pending,
    forget_sent,
    note_pending,
    note_sent,
    outbox_of,
    read_published,
    sent,
    write_published,
)
from .record import Lease, require_time, write_lease
from .remote import FIRST_TIMEOUT_S, REMOTE_TIMEOUT_S, RefMove, make_outbox, push, remote_refs
from .state_commit import STATE_REF, StateRefs
from .state_tree import StateTree, write_state
from .travelling import TravellingFile, edited_files, travelling_files

__all__ = ["OBJECTS", "home_refs", "is_published", "pack_outbox", "publish"]

#: From the folder of objects of the outbox to that of the home.
OBJECTS = "../../../../../objects"
_SHA1_DIGITS = 40
#: Refs that people and clones have, and that no other host needs.
_LEFT = ("refs/remotes/", "refs/stash", "refs/agent-home/", "refs/replace/")
#: Publications after which what is no longer needed is removed from the outbox.
_PACKED_AFTER = 200
#: Bytes in a second that a remote takes at least.
_SLOWEST_BYTES_PER_S = 100_000


def publish(home: Home, lease: Lease, *, with_edits: bool = False) -> bool:
    """Send what is new in *home* to its remote, and return whether anything was. Call with the write lock held.

    *with_edits* sends edits by hand that are not committed as well.

    Raises:
        NotHeld: the lease ended meanwhile, or another host has published.
        NotPublished: the remote did not take it.
    """
    try:
        done = _publish(home, lease, with_edits=with_edits)
        forget_pending(home)
    except (HistoryError, OSError) as error:
        with suppress(OSError):
            note_pending(home)  # another process may have removed the note meanwhile
        raise NotPublished(lease.home, " ".join(str(error).split())) from error
    return done


def is_published(home: Home, *, with_edits: bool = False) -> bool:
    """Return whether the remote has everything of *home*, as far as this host knows.

    Edits by hand that are not committed do not count, unless *with_edits*.

    Raises:
        HistoryError: git is absent or refused.
    """
    known = read_published(home)
    tree = _tree(home, known, extra=edited_files(home)[0] if with_edits else ())
    return bool(known.commit) and not tree.is_changed and tree.refs.data().decode() == known.refs


def home_refs(home: Home) -> StateRefs:
    """Return the refs of *home* that travel.

    Raises:
        HistoryError: git is absent or refused.
    """
    git = home_client(home.root)
    rows = git.text("for-each-ref", "--format=%(objecttype) %(objectname) %(refname)").split("\n")
    split = (row.split(" ", 2) for row in filter(None, rows))
    refs = {ref: name for kind, name, ref in split if kind == "commit" and not ref.startswith(_LEFT)}
    form = "sha256" if any(len(name) > _SHA1_DIGITS for name in refs.values()) else "sha1"
    return StateRefs(head=f"refs/heads/{_branch(home)}", refs=refs, form=form)


def _branch(home: Home) -> str:
    """Return the branch that memory is kept on, also while a person looks at another one."""
    try:
        return os.fsdecode(storage.read_state(home.machine / "branch")).strip()
    except OSError:  # before the first write
        return history.branch(home.root) or "main"


def pack_outbox(home: Home) -> None:
    """Remove what no state needs any more, such as texts that were forgotten, from the repository of this host."""
    outbox = outbox_of(home)
    if (outbox / ".git").is_dir():
        git = home_client(outbox)
        git.change("repack", "-a", "-d", "-l", "-q")
        git.change("prune", "--expire=now")


def _publish(home: Home, lease: Lease, *, with_edits: bool) -> bool:
    known = read_published(home)
    edits, removed = edited_files(home) if with_edits else ([], [])
    tree = _tree(home, known, extra=edits, removed=removed)
    same = known.commit and not tree.is_changed and tree.refs.data().decode() == known.refs and not removed
    if same and known.epoch == lease.epoch:
        return False
    try:
        commit, made = _written(home, lease, tree)
    except GitFailed:
        if not tree.base:
            raise
        # The repository to publish from is damaged. Everything in it can be made again.
        shutil.rmtree(outbox_of(home), ignore_errors=True)
        tree = _tree(home, known, extra=edits, removed=removed)
        commit, made = _written(home, lease, tree)
    now = Published(
        commit=commit, tree=made, epoch=lease.epoch, refs=tree.refs.data().decode(), epochs=known.epochs,
        branch=known.branch, foreign=known.foreign, number=known.number + 1, files=tree.files,
    )  # fmt: skip
    patience = FIRST_TIMEOUT_S if not known.commit else REMOTE_TIMEOUT_S + tree.new_bytes / _SLOWEST_BYTES_PER_S
    now = _send(home, lease, now, known.commit, tree.refs, timeout_s=patience)
    if now.number >= _PACKED_AFTER:
        with suppress(HistoryError):
            pack_outbox(home)
            now = replace(now, number=0)
    if write_published(home, now):  # else the notes of what was sent are all that is known of the remote
        forget_sent(home)
    return True


def _written(home: Home, lease: Lease, tree: StateTree) -> tuple[str, str]:
    outbox = outbox_of(home)
    if not (outbox / ".git").is_dir():
        make_outbox(outbox, tree.refs.form, OBJECTS)
    return write_state(
        outbox, tree, home=lease.home, host=lease.host, incarnation=lease.incarnation, epoch=lease.epoch,
        machine=str(home.machine.resolve()),
    )  # fmt: skip


def _tree(
    home: Home, known: Published, *, extra: Sequence[TravellingFile] = (), removed: Sequence[str] = ()
) -> StateTree:
    has_base = bool(known.tree) and (outbox_of(home) / ".git").is_dir()
    tree = StateTree(
        refs=home_refs(home), epochs=known.epochs.encode(), base=known.tree if has_base else "",
        removed=json.dumps(list(removed)).encode() if removed else b"",
    )  # fmt: skip
    tree.read([*travelling_files(home), *extra], known.files if has_base else {})
    return tree


def _send(home: Home, lease: Lease, now: Published, old: str, refs: StateRefs, *, timeout_s: float) -> Published:
    """Move the ref of the state from *old* to the commit of *now*. Return *now* with what became of the branch.

    Raises:
        NotHeld: the lease ended, or another host has published.
        NotPublished: the remote did not take it.
    """
    require_time(home, lease)
    note_sent(home, now.commit)
    branch = _branch_move(home, now, refs)
    for _ in range(3):
        try:
            # All or nothing: a host that lost the home must not move the branch either.
            moves = [RefMove(ref=STATE_REF, old=old, new=now.commit), *branch]
            push(outbox_of(home), lease.remote, moves, timeout_s=timeout_s)
        except HistoryError as error:
            present = _present(home, lease, refs.head, error)
            state, memory = present.get(STATE_REF, ""), present.get(refs.head, "")
            if state == now.commit:
                return replace(now, branch=memory, foreign=memory != refs.memory) if branch else now
            if state != old:
                _refuse_overtaken(home, lease, state, error)
                old = state  # a publication whose answer never came
            elif branch:
                now, branch = replace(now, branch=memory, foreign=memory not in {now.branch, refs.memory}), []
            else:
                raise NotPublished(lease.home, " ".join(str(error).split())) from error
        else:
            return replace(now, branch=refs.memory, foreign=False) if branch else now
    raise NotPublished(lease.home, "the remote changes again and again")


def _refuse_overtaken(home: Home, lease: Lease, state: str, error: HistoryError) -> None:
    """Stop writing the home if the *state* on the remote is that of another host, or if the remote has none any more.

    Raises:
        NotHeld: so it is.
    """
    if state in sent(home):
        return
    write_lease(home, lease.with_state("left"))
    if not state:
        raise NotHeld(
            f"the remote of the home {lease.home} has lost the home, so nothing counts as stored. Bring the repository"
            f" back from a backup, or give this copy to the fleet again: `memory fleet add {lease.home} --home"
            f" {home.root} --remote URL --host {Path(lease.folder).parent}`"
        ) from error
    raise NotHeld(
        f"another host has published the home {lease.home}, so this host does not write it any more. The write does not"
        " count as stored. `memory fleet status` says which host has it"
    ) from error


def _present(home: Home, lease: Lease, branch: str, error: HistoryError) -> dict[str, str]:
    """Return the state and the branch that the remote names after a push that failed with *error*.

    Raises:
        NotPublished: the remote does not say.
    """
    try:
        return remote_refs(outbox_of(home), lease.remote, [STATE_REF, branch])
    except HistoryError:
        raise NotPublished(lease.home, " ".join(str(error).split())) from error


def _branch_move(home: Home, known: Published, refs: StateRefs) -> list[RefMove]:
    """Return how the branch on the remote follows. It waits while it has commits of others."""
    memory = refs.memory
    if not memory or memory == known.branch:
        return []
    if known.foreign and not _has_merged(home, known.branch, memory):
        return []
    return [RefMove(ref=refs.head, old=known.branch, new=memory)]


def _has_merged(home: Home, foreign: str, memory: str) -> bool:
    return bool(history.found(home.root, foreign)) and history.descends(home.root, memory, foreign)
