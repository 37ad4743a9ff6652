"""The folder of this machine's state: its lock, its modes, and the move from where earlier versions kept it.

The state lies in git's folder (``agent_home.git_folder``). Earlier versions kept it in ``.memory/``, where a commit of
somebody else can put files. The first write moves it, file by file, so that a killed move goes on with the next write.
A file that git tracks, a link, and a file of another user are never moved and never read. A redo record cannot be
checked there: it waits for a person (:mod:`agent_home.store.unverified`). Caches are made again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from .. import storage
from ..errors import DocumentInvalid, HistoryError, NoRepository
from ..git.client import home_client
from ..git.own_folder import refuse_links_out
from ..git_folder import WORKTREE_STATE, tracks
from ..home import Home
from ..lease.operation import gate
from ..lock import DEFAULT_TIMEOUT_S, hold
from ..screening import originals
from ..screening.private_folders import cover_private_folders
from ..sharing import waiting_texts
from . import unverified

__all__ = ["UNTRACK", "LooseMode", "close_modes", "drop_expired", "hold_home", "is_waiting", "loose_modes", "tracked"]

#: The command that takes a pulled ``.memory`` out of git and off the disk.
UNTRACK = f"git rm -r -q -f {WORKTREE_STATE} && git commit -m 'Untrack machine state'"
#: Written when everything is moved: from then on ``.memory`` holds the index and nothing else that is believed.
_MOVED = "moved"
_FOLDERS = ("quarantine", "recovered")
#: What is moved to the same name: files, and the files of folders.
_FILES = (
    "branch", "closings.jsonl", "committing", "endpoint-tokens.json", "nightly.json", "packed.json", "packing",
    "rewritten.json", "salt", "unread.json",
)  # fmt: skip
_AUDITS = "audit*.jsonl"
#: What cannot be believed without a signature of this machine.
_REDO, _STAGING = "redo.json", "staging"
#: What is computed again, and so neither moved nor kept.
_CACHES = ("archived.json", "checked.json", "closings.checked", "last-prompts.json", "screened.json")
_OLD_LOCK = "write.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class LooseMode:
    """A file or folder that others may read or change, its *mode*, and the mode that it should have."""

    path: Path
    mode: int
    wanted: int


@contextmanager
def hold_home(home: Home, timeout_s: float = DEFAULT_TIMEOUT_S) -> Iterator[None]:
    """Hold the write lock of *home* for the block. The state of an earlier version is moved first.

    The state's folder is closed to other users, whatever the umask was, and git's own list of ignored files names the
    private folders.

    An earlier version that still runs holds a lock in ``.memory``, which is waited for as well.

    A home that a fleet serves is written only while this host has its lease, and what the block wrote reaches the
    remote of the home before the block counts as done (``agent_home.lease``).

    Raises:
        Locked: the lock was not free within *timeout_s* seconds.
        NotHeld: a fleet serves the home, and this host may not write it now.
        NotPublished: the remote of the home did not take what was written.
        DocumentInvalid: a folder of the state is a link.
        HistoryError: git's folder is another project's, or has a link that leads out of it.
    """
    refuse_links_out(home.root)
    _refuse_links(home)
    with hold(home.lock, timeout_s), _old_lock(home, timeout_s):
        if stat.S_IMODE(home.machine.stat().st_mode) & 0o077:
            home.machine.chmod(storage.PRIVATE_FOLDER)
        if not _is_moved(home):
            _move(home)
        with suppress(NoRepository, OSError):  # a home without git, or with a folder that nobody may write
            cover_private_folders(home.root)
        with gate(home):
            yield


def drop_expired(home: Home, now: datetime) -> int:
    """Remove the originals of messages that have expired, and return their number. The lock is taken only for some.

    Raises:
        HomeError: see :func:`hold_home`.
    """
    if not originals.expired(home, now):
        return 0
    with hold_home(home):
        return originals.expire(home, now)


def is_waiting(home: Home) -> bool:
    """Return whether an earlier version left state in ``.memory`` that the next write moves. Needs no lock."""
    old = home.root / WORKTREE_STATE
    return not _is_moved(home) and any((old / name).exists() for name in (*_FILES, *_FOLDERS, _REDO, "audit.jsonl"))


def tracked(home: Home) -> list[str]:
    """Return the files under ``.memory`` that git tracks, in its staging area or in HEAD, ordered by name.

    They came with a pull, or by `git add --force`. They are never read.

    Raises:
        HistoryError: git is absent or refused.
    """
    if home.machine == home.root / WORKTREE_STATE:
        return []
    git = home_client(home.root)
    names = git.text("ls-files", "-z").split("\0") if tracks(home.root, WORKTREE_STATE) is not False else []
    with suppress(HistoryError):  # before the first commit
        names += git.text("ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")
    return sorted({name for name in names if name.partition("/")[0].casefold() == WORKTREE_STATE})


def loose_modes(home: Home) -> Iterator[LooseMode]:
    """Yield the state's files and folders that others may read or change, and the home's folder if they may."""
    database = home.index
    places = [(home.root, storage.PRIVATE_FOLDER), (database.parent, storage.PRIVATE_FOLDER)]
    places += [(path, storage.PRIVATE_FILE) for path in sorted(database.parent.glob(f"{database.name}*"))]
    for folder, _, names in os.walk(home.machine):
        places.append((Path(folder), storage.PRIVATE_FOLDER))
        places += [(Path(folder, name), storage.PRIVATE_FILE) for name in sorted(names)]
    for path, wanted in dict(places).items():
        try:
            status = path.lstat()
        except OSError:
            continue
        mode = stat.S_IMODE(status.st_mode)
        if not stat.S_ISLNK(status.st_mode) and status.st_uid == os.geteuid() and mode & 0o077:
            yield LooseMode(path=path, mode=mode, wanted=wanted)


def close_modes(home: Home) -> list[Path]:
    """Take away what :func:`loose_modes` names from everybody but the owner. Return what was changed."""
    changed = []
    for loose in loose_modes(home):
        loose.path.chmod(loose.wanted)
        changed.append(loose.path)
    return changed


def _is_moved(home: Home) -> bool:
    return home.machine == home.root / WORKTREE_STATE or (home.machine / _MOVED).exists()


def _refuse_links(home: Home) -> None:
    """Refuse a state folder through which a link would lead elsewhere.

    Raises:
        DocumentInvalid: the state folder, or a folder in it, is a link.
    """
    inner = (home.machine / name for name in (*_FOLDERS, _STAGING, unverified.FOLDER, waiting_texts.FOLDER))
    for folder in (home.machine, *inner):
        if folder.is_symlink():
            problem = "is a link, and machine state is written into folders only. Nothing was written. Remove the link"
            raise DocumentInvalid(folder, 0, "link", problem)


@contextmanager
def _old_lock(home: Home, timeout_s: float) -> Iterator[None]:
    path = home.root / WORKTREE_STATE / _OLD_LOCK
    if path == home.lock or not _is_ours(path.parent, stat.S_IFDIR) or not _is_ours(path, stat.S_IFREG):
        yield
        return
    with hold(path, timeout_s):
        yield


def _move(home: Home) -> None:
    """Move what an earlier version left. Killed at any point, the next call goes on. Call with the lock held."""
    old, new = home.root / WORKTREE_STATE, home.machine
    if _is_ours(old, stat.S_IFDIR):
        move = _Move(home, frozenset(name.casefold() for name in tracked(home)))
        for name in (*_FILES, *sorted(path.name for path in old.glob(_AUDITS))):
            move.file(old / name, new / name)
        for name in _FOLDERS:
            move.folder(old / name, new / name)
        unsigned = new / unverified.FOLDER / "earlier-version"
        move.file(old / _REDO, unsigned / _REDO)
        if unverified.waiting(home):
            move.folder(old / _STAGING, unsigned / _STAGING)
        for name in _CACHES:
            move.drop(old / name)
    storage.stage(new / f"{_MOVED}.tmp", b"")
    storage.replace(new / f"{_MOVED}.tmp", new / _MOVED)


@dataclass(frozen=True, slots=True)
class _Move:
    """Moves files unless git tracks them, they are no files of this user with one name, or others are there already."""

    home: Home
    tracked: frozenset[str]

    def file(self, old: Path, new: Path) -> None:
        """Move one file, in one step for a reader of the new place."""
        if not self._may(old):
            return
        storage.make_folder(new.parent)
        if not new.exists():
            try:
                old.rename(new)
            except OSError:  # git's folder is on another disk
                self._copy(old, new)
            new.chmod(storage.PRIVATE_FILE)
            storage.sync_folder(new.parent)
        elif storage.read_state(new) == storage.read_state(old):  # the copy was made, and then the move was killed
            storage.remove(old)

    def folder(self, old: Path, new: Path) -> None:
        """Move the files of a folder, and remove it when it is empty."""
        if not _is_ours(old, stat.S_IFDIR):
            return
        for path in sorted(old.iterdir()):
            self.file(path, new / path.name)
        if not any(old.iterdir()):
            old.rmdir()

    def drop(self, old: Path) -> None:
        """Remove a file that can be made again."""
        if self._may(old):
            storage.remove(old)

    def _may(self, old: Path) -> bool:
        return self.home.relative(old).casefold() not in self.tracked and _is_ours(old, stat.S_IFREG)

    def _copy(self, old: Path, new: Path) -> None:
        status = old.stat()
        staged = new.with_name(f"{new.name}.tmp")
        storage.stage(staged, storage.read_state(old))
        os.utime(staged, ns=(status.st_atime_ns, status.st_mtime_ns))  # the mark ``committing`` is read by its time
        storage.replace(staged, new)
        storage.remove(old)


def _is_ours(path: Path, kind: int) -> bool:
    """Return whether *path* is there, of that *kind* and no link, is this user's and has one name."""
    try:
        status = path.lstat()
    except OSError:
        return False
    one = stat.S_ISDIR(status.st_mode) or status.st_nlink == 1
    return stat.S_IFMT(status.st_mode) == kind and status.st_uid == os.geteuid() and one
