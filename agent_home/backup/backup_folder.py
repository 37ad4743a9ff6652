"""Own the folder of a backup: which folder may be one, the mark that says so, and who uses it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .. import storage
from ..errors import HistoryError, Locked
from ..git.own_folder import own_folders
from ..home import Home
from ..home_location import MANIFEST
from ..lock import hold
from ..salt import read_salt
from .errors import BackupBusy, BackupRefused
from .manifest import BackupManifest, read_manifest

__all__ = ["earlier_backup", "held_backup", "home_name", "made_folder", "real_folder", "refuse_place", "require_backup"]

_MARK = "agent-home-backup.txt"
_STAGED_MARK = f"{_MARK}.tmp"
_LOCK = "backup.lock"
_TEXT = """This folder is a backup of an agent's home. It holds private conversations.

manifest.jsonl lists every file with the SHA-256 digest of its content, and contents/ holds each content under its
digest. `memory backup DIR --verify` checks it, and `memory restore-home DIR NEW_HOME` makes a home of it.

Home: {home}
"""


def real_folder(named: Path) -> Path:
    """Return the folder that a person named, without links."""
    return Path(os.path.realpath(named.expanduser()))


def home_name(home: Home) -> str:
    """Return what tells *home* from others in backups. It says nothing about the salt that it is made from.

    It is empty before the first write on this machine.
    """
    salt = read_salt(home)
    return hashlib.sha256(f"backup {salt}".encode()).hexdigest()[:32] if salt else ""


def refuse_place(home: Home, folder: Path) -> None:
    """Refuse a folder in the home, or one that the home lies in.

    Raises:
        BackupRefused: it is one.
    """
    places = [home.root, home.machine]
    with suppress(HistoryError):  # a home without git
        places.append(own_folders(home.root).shared)
    for place in map(real_folder, places):
        if folder == place or place in folder.parents:
            raise BackupRefused(f"{folder} is inside the home {home.root}. Name a folder outside, on another disk")
    for link, shared in home.links.items():
        if folder == shared or shared in folder.parents:
            raise BackupRefused(f"{folder} is in {link}, which others read. Name a folder that nobody shares")
    around = next((above for above in (folder, *folder.parents) if (above / MANIFEST).is_file()), None)
    if around is not None:
        raise BackupRefused(f"{folder} is inside the home {around}, whose git would keep it. Name a folder outside")
    if folder in real_folder(home.root).parents:
        raise BackupRefused(f"the home {home.root} is inside {folder}. Name a folder that does not contain the home")


def require_backup(folder: Path) -> BackupManifest:
    """Return the manifest of the backup in *folder*.

    Raises:
        BackupRefused: there is no backup, or the first one was never finished.
        BackupDamaged: see :func:`agent_home.backup.manifest.read_manifest`.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        state = "was never finished" if (folder / _MARK).is_file() else "is not there"
        raise BackupRefused(f"a backup in {folder} {state}. Name a folder that `memory backup` has filled")
    return manifest


def earlier_backup(home: Home, folder: Path) -> BackupManifest | None:
    """Return the manifest of the backup of *home* in *folder*, or ``None`` where a first one can be made.

    Raises:
        BackupRefused: something else lies there, or the backup of another home.
        BackupDamaged: the manifest cannot be read.
    """
    if not folder.exists():
        return None
    if not folder.is_dir():
        raise BackupRefused(f"{folder} is a file. Name a folder, which may be new")
    manifest = read_manifest(folder)
    if manifest is None and not _is_marked(home, folder) and not _is_empty(folder):
        raise BackupRefused(
            f"{folder} holds something else than a backup of {home.root}. Name an empty or a new folder"
        )
    if manifest is not None and manifest.home != home_name(home):
        raise BackupRefused(
            f"{folder} holds the backup of another home ({manifest.name}, {manifest.machine}). Name another folder"
        )
    if manifest is not None and _is_copy(home, manifest):
        raise BackupRefused(
            f"{folder} holds the backup of the home with the state in {manifest.machine}. That home is still there, "
            f"and {home.root} is a copy of it. Name another folder"
        )
    return manifest


def made_folder(home: Home, folder: Path) -> None:
    """Make *folder* the folder of a backup of *home*, for its owner alone.

    Raises:
        OSError: it cannot be made.
    """
    storage.make_folder(folder)
    with suppress(OSError):  # a disk without modes
        folder.chmod(storage.PRIVATE_FOLDER)
    if not _is_marked(home, folder):
        storage.stage(folder / _STAGED_MARK, _TEXT.format(home=home_name(home)).encode())
        storage.replace(folder / _STAGED_MARK, folder / _MARK)


@contextmanager
def held_backup(folder: Path, *, to_write: bool) -> Iterator[None]:
    """Hold the backup for the block. One that cannot be written is read without that.

    Raises:
        BackupBusy: another process uses it.
        OSError: it is to be written, and cannot be.
    """
    path = folder / _LOCK
    if not to_write and not os.access(path if path.exists() else folder, os.W_OK):
        yield
        return
    try:
        with hold(path, 0):
            yield
    except Locked as error:
        if error.path != path:
            raise
        raise BackupBusy(folder) from error


def _is_copy(home: Home, manifest: BackupManifest) -> bool:
    """Return whether the home that was backed up is still there under another name, so that *home* is a copy of it."""
    if not manifest.own or manifest.machine == str(home.machine.resolve()):
        return False
    try:
        return storage.read_state(Path(manifest.machine) / "salt").decode("ascii", "replace").strip() == read_salt(home)
    except (OSError, ValueError):
        return False


def _is_empty(folder: Path) -> bool:
    """Return whether nothing lies in *folder* but what a backup leaves that was killed at its very beginning."""
    return {path.name for path in folder.iterdir()} <= {_STAGED_MARK, _LOCK}


def _is_marked(home: Home, folder: Path) -> bool:
    try:
        text = storage.read_state(folder / _MARK)
    except OSError:
        return False
    return f"Home: {home_name(home)}\n".encode() in text
