"""Make a home again from a backup, which may come from anybody.

The home is built beside its place and appears there in one step. Its repository and those inside it are made anew: git
checks every object, and nothing of the backup becomes a setting, a hook or a link that leads out. Records of this
machine count again only if this user's key signed the backup and the record. Otherwise what they allowed waits for a
person.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .. import storage
from ..consent.signed_record import moved_record
from ..errors import GitFailed, MachineKeyUnusable
from ..git.hook import install_hook
from ..git.merge_driver import install_driver
from ..git_folder import STATE, WORKTREE_STATE
from ..home import STATE_SHOWN, Home, is_text
from ..screening.private_folders import cover_private_folders
from ..settings import MANIFEST
from .backup_folder import held_backup, real_folder, require_backup
from .carried import is_known_state, is_record
from .content_store import ContentStore, parts
from .errors import BackupDamaged, BackupRefused, DamagedFile, RestoreFailed
from .history import make_repository, refresh
from .making import BackupProgress
from .manifest import BackupFile, BackupManifest
from .restored_repositories import RestoredRepositories, is_refusal
from .verification import damaged_files

__all__ = ["RestoredHome", "restore_home"]

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_EXECUTABLE = 0o700
#: Damaged files that an error names.
_MOST_NAMED = 20
#: Largest record of this machine that is signed anew.
_MAX_RECORD_BYTES = 64 << 20
#: In the name of a folder in which a home is built.
_BUILDING = ".restoring-"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredHome:
    """Result of :func:`restore_home`. *missing* are damaged files that were left out, on request.

    *not_trusted* is machine state that counts on the machine of the backup alone.
    """

    root: Path
    manifest: BackupManifest
    missing: tuple[DamagedFile, ...] = ()
    not_trusted: tuple[str, ...] = ()


def restore_home(
    folder: Path, root: Path, *, dry_run: bool = False, partial: bool = False, progress: BackupProgress | None = None
) -> RestoredHome:
    """Make the home *root*, which is absent or an empty folder, from the backup in *folder*.

    *dry_run* checks the backup and writes nothing. *partial* leaves out files whose contents are damaged.

    Raises:
        BackupRefused: there is no backup, or *root* holds something.
        BackupBusy: another process uses the backup.
        BackupDamaged: something is damaged or missing. Nothing was made.
        RestoreFailed: the home cannot be written, as on a full disk. Nothing was made.
        HistoryError: git is absent.
    """
    folder, root = real_folder(folder), real_folder(root)
    _refuse_target(folder, root)
    require_backup(folder)
    with held_backup(folder, to_write=False):
        manifest = require_backup(folder)
        damaged = tuple(damaged_files(folder, manifest, progress))
        _refuse_damage(folder, manifest, damaged, partial=partial)
        if not dry_run:
            try:
                damaged += _build(folder, manifest, root, damaged, progress or _silent, partial=partial)
            except OSError as error:
                reason = f"{error.strerror or error}: {error.filename or root}"
                raise RestoreFailed(root, reason) from error
    return RestoredHome(
        root=root, manifest=manifest, missing=damaged, not_trusted=() if manifest.own else tuple(_foreign(manifest))
    )


def _refuse_target(folder: Path, root: Path) -> None:
    """Refuse a place where a home cannot appear.

    Raises:
        BackupRefused: something lies there, or it is in the backup, or its name cannot be used.
    """
    if not is_text(str(root)):
        raise BackupRefused(f"{root} has a name that is not UTF-8, and SQLite opens no such path. Name another folder")
    if root == folder or folder in root.parents:
        raise BackupRefused(f"{root} is inside the backup {folder}. Name a folder outside of it")
    if root.exists() and not root.is_dir():
        raise BackupRefused(f"{root} is a file. Name a folder that is not there yet")
    if root.is_dir() and any(root.iterdir()):
        raise BackupRefused(f"{root} is not empty. Name a folder that is not there yet, or an empty one")


def _refuse_damage(folder: Path, manifest: BackupManifest, damaged: tuple[DamagedFile, ...], *, partial: bool) -> None:
    """Refuse a backup from which no whole home can be made.

    Raises:
        BackupDamaged: contents are damaged, and are not to be left out or cannot be.
    """
    if MANIFEST not in manifest.files:
        raise BackupDamaged(folder, f"holds no {MANIFEST}, so it is no backup of a home. Nothing was made")
    parts_of_history = {pack.path for pack in manifest.packs}
    if broken := [file for file in damaged if file.path in parts_of_history]:
        advice = "Take another copy of the folder. The files are in contents/, under the digests in manifest.jsonl"
        raise BackupDamaged(folder, f"has a damaged history ({_named(broken)}). Nothing was made. {advice}", damaged)
    if damaged and not partial:
        advice = "Take another copy of the folder, or go on without these files with --partial"
        raise BackupDamaged(folder, f"is damaged. Nothing was made: {_named(damaged)}. {advice}", damaged)


def _named(damaged: Sequence[DamagedFile]) -> str:
    shown = ", ".join(f"{file.path} {file.problem}" for file in damaged[:_MOST_NAMED])
    return f"{shown}, and {len(damaged) - _MOST_NAMED} more" if len(damaged) > _MOST_NAMED else shown


def _foreign(manifest: BackupManifest) -> Iterator[str]:
    """Yield the machine state that does not count here."""
    for path in manifest.files:
        inner = path.removeprefix(STATE_SHOWN)
        if inner != path and not is_known_state(inner, own=False):
            yield path


def _build(
    folder: Path, manifest: BackupManifest, root: Path, damaged: Collection[DamagedFile], progress: BackupProgress,
    *, partial: bool,
) -> tuple[DamagedFile, ...]:  # fmt: skip
    """Build the home beside *root* without what is *damaged*, and put it there.

    Return the repositories inside it that git refuses and that are left out, on request.
    """
    left_out = {file.path for file in damaged}
    root.parent.mkdir(parents=True, exist_ok=True)
    with _beside(root) as place:
        building = _Building(folder, manifest, place, root)
        if manifest.history is not None:
            progress("checking the history", 0, 0)
            building.make_history()
        if refused := building.make_repositories(left_out, progress):
            _refuse_damage(folder, manifest, refused, partial=partial)
        building.copy_files(left_out, progress)
        building.finish()
        try:
            place.rename(root)
        except OSError as error:
            raise BackupRefused(f"{root} is not empty any more. Nothing was made there") from error
        storage.sync_folder(root.parent)
    return refused


class _Building:
    """A home that is being built in *place* and will be *root*."""

    def __init__(self, folder: Path, manifest: BackupManifest, place: Path, root: Path) -> None:
        self._folder, self._manifest, self._place, self._root = folder, manifest, place, root
        self._store = ContentStore(folder)
        state = WORKTREE_STATE if manifest.history is None else f".git/{STATE}"
        self._machine, self._final_machine = place / state, root / state
        self._folders: set[Path] = set()
        self._repositories: RestoredRepositories | None = None

    def make_history(self) -> None:
        """Make the repository.

        Raises:
            BackupDamaged: git does not accept the history.
            RestoreFailed: git cannot write.
        """
        history = self._manifest.history
        assert history is not None  # noqa: S101 - asked before
        try:
            packs = [self._store.path(pack.digest) for pack in self._manifest.packs]
            make_repository(self._place, history, packs, strict=not self._manifest.own)
        except GitFailed as error:
            if not is_refusal(error):
                raise RestoreFailed(self._root, str(error)) from error
            raise BackupDamaged(self._folder, f"has a history that git refuses. Nothing was made: {error}") from error

    def copy_files(self, left_out: Collection[str], progress: BackupProgress) -> None:
        """Copy the files into their places."""
        size = 0
        for number, file in enumerate(self._manifest.files.values(), 1):
            target = self._target(file.path)
            if target is not None and file.path not in left_out:
                self._copy(file, target)
            size += file.size
            progress("copying", number, size)

    def make_repositories(self, left_out: Collection[str], progress: BackupProgress) -> tuple[DamagedFile, ...]:
        """Make the repositories inside the home before their files, and return those that git refuses.

        Raises:
            RestoreFailed: git cannot write.
        """
        manifest = self._manifest
        for path in manifest.repositories:
            self._make_folder(self._place / path)
        if manifest.repositories:
            progress("checking the histories of repositories", 0, 0)
        made = RestoredRepositories(self._place, manifest.repositories, self._store, own=manifest.own)
        self._repositories = made
        try:
            return tuple(made.make(left_out))
        except GitFailed as error:
            raise RestoreFailed(self._root, str(error)) from error

    def finish(self) -> None:
        """Make links and empty folders, sign the records of this machine, and install hook and merge driver."""
        for path in self._manifest.folders:
            self._make_folder(self._place / path)
        for path, target in self._manifest.links.items():
            self._make_folder((self._place / path).parent)
            (self._place / path).symlink_to(target)
        if self._manifest.own:
            self._sign_records()
        if self._manifest.history is not None:
            home = Home(self._place)
            install_hook(home)
            install_driver(home)
            cover_private_folders(self._place)
        if self._repositories is not None:
            self._repositories.refresh()
        if self._manifest.history is not None:
            refresh(self._place)
        for folder in sorted(self._folders):
            storage.sync_folder(folder)

    def _target(self, path: str) -> Path | None:
        """Return the place of a file, or ``None`` for state that does not count here or is signed anew."""
        inner = path.removeprefix(STATE_SHOWN)
        if inner == path:
            return self._place / path
        counts = is_known_state(inner, own=self._manifest.own) and not is_record(inner)
        return self._machine / inner if counts else None

    def _copy(self, file: BackupFile, target: Path) -> None:
        """Copy a content to the new file *target*.

        Raises:
            BackupDamaged: the content is not what it was when it was checked.
        """
        self._make_folder(target.parent)
        digest = hashlib.sha256()
        mode = _EXECUTABLE if file.executable else storage.PRIVATE_FILE
        with (
            storage.open_plain(self._store.path(file.digest)) as source,
            os.fdopen(os.open(target, _NEW, mode), "wb") as made,
        ):
            for chunk in parts(source):
                digest.update(chunk)
                made.write(chunk)
            made.flush()
            os.utime(made.fileno(), ns=(file.mtime_ns, file.mtime_ns))
            os.fsync(made.fileno())
        if digest.hexdigest() != file.digest:
            raise BackupDamaged(self._folder, f"changed while it was read ({file.path}). Nothing was made. Try again")

    def _make_folder(self, folder: Path) -> None:
        missing = []
        while folder not in self._folders and folder != self._place:
            missing.append(folder)
            folder = folder.parent
        for inner in reversed(missing):
            if not inner.is_dir():  # git made some of them
                inner.mkdir(storage.PRIVATE_FOLDER)
            self._folders.add(inner)

    def _sign_records(self) -> None:
        """Sign the records of this machine for the new folder, if they counted in the old one."""
        for path, file in sorted(self._manifest.files.items()):
            inner = path.removeprefix(STATE_SHOWN)
            if inner == path or not is_record(inner):
                continue
            name = inner.removesuffix(".json")
            with storage.open_plain(self._store.path(file.digest)) as content, suppress(MachineKeyUnusable):
                data = content.read(_MAX_RECORD_BYTES)
                signed = moved_record(data, name, start=self._manifest.machine, machine=self._final_machine)
                if signed is not None:
                    self._make_folder((self._machine / inner).parent)
                    storage.stage(self._machine / inner, signed)


@contextmanager
def _beside(root: Path) -> Iterator[Path]:
    """Yield a new folder beside *root*, which is gone at the end unless it was renamed."""
    _drop_leftovers(root)
    place = root.with_name(f".{root.name}{_BUILDING}{secrets.token_hex(4)}")
    place.mkdir(storage.PRIVATE_FOLDER)
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield place
    finally:
        os.close(descriptor)
        shutil.rmtree(place, ignore_errors=True)


def _drop_leftovers(root: Path) -> None:
    """Remove what killed restores of *root* left. A living one holds the lock of its folder."""
    for place in root.parent.glob(f".{glob.escape(root.name)}{_BUILDING}*"):
        with suppress(OSError):
            descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(place, ignore_errors=True)
            finally:
                os.close(descriptor)


def _silent(_step: str, _files: int, _bytes: int) -> None:
    """Ignore the progress."""
