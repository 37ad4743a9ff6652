"""A temporary folder of this process, which goes with the process, or with the next one if this one is killed.

Each process has a folder with a locked file in the user's folder of temporary files. The system lets go of the lock
when the process ends, however it ends. A process that makes its own folder removes those whose lock is free.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["scratch_folder"]

_LOCK = "lock"
#: A folder without a lock file is one that is being made, unless it is this old.
_MAKING_S = 60.0


class _Scratch:
    """The folder of this process. A forked process makes its own, and leaves that of its parent alone."""

    def __init__(self) -> None:
        self._made: tuple[int, Path] | None = None

    def folder(self) -> Path:
        """Return the folder, which is made at the first call.

        Raises:
            OSError: the disk is full, or nobody may write into the temporary folder.
        """
        if self._made is None or self._made[0] != os.getpid() or not self._made[1].is_dir():
            users = _users_folder()
            _remove_abandoned(users)
            self._made = (os.getpid(), _locked_folder(users))
        return self._made[1]

    def remove(self) -> None:
        if self._made is not None and self._made[0] == os.getpid():
            shutil.rmtree(self._made[1], ignore_errors=True)


_SCRATCH = _Scratch()
scratch_folder = _SCRATCH.folder
atexit.register(_SCRATCH.remove)


def _users_folder() -> Path:
    """Return the folder of this user, which others can neither read nor have prepared."""
    folder = Path(tempfile.gettempdir()) / f"agent-home-{os.geteuid()}"
    with suppress(FileExistsError):
        folder.mkdir(0o700)
    status = folder.lstat()
    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077:
        return folder
    return Path(tempfile.mkdtemp(prefix="agent-home-"))  # somebody else was there first


def _locked_folder(users: Path) -> Path:
    """Return a new folder whose lock this process holds until it ends."""
    while True:
        folder = Path(tempfile.mkdtemp(dir=users))
        lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        with suppress(OSError):  # another process takes it for abandoned at this moment
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return folder
        os.close(lock)


def _remove_abandoned(users: Path) -> None:
    """Remove the folders of processes that are gone."""
    with suppress(OSError), os.scandir(users) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(folder: Path) -> None:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        if time.time() - folder.lstat().st_mtime > _MAKING_S:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
