"""Make a backup of a home, or bring an earlier one up to date.

Contents are copied first, while others go on writing. Then the home's lock is held to copy what changed meanwhile, so
that git, transcripts and outputs fit together. The manifest is replaced at the end, in one step. Until then the earlier
backup is as it was, and afterwards what it alone needed is deleted. A repository that git cannot read fails no backup.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from shlex import quote

from .. import storage
from ..errors import DocumentInvalid, HistoryError
from ..git.fetching import remote_addresses
from ..home import Home
from ..salt import ensure_salt
from ..store.machine_state import hold_home
from ..store.recovery import is_pending, recover
from .backup_folder import earlier_backup, held_backup, home_name, made_folder, real_folder, refuse_place
from .carried import HomeFiles, LeftOut, home_files
from .content_store import ContentStore, digest_of, parts
from .copied_history import copy_history
from .errors import BackupDamaged, BackupFailed
from .known_backups import note_backup
from .manifest import MANIFEST_NAME, BackupFile, BackupHistory, BackupManifest, manifest_lines, read_manifest
from .repository_copies import RepositoryCopies

__all__ = ["BackupProgress", "BackupReport", "backup"]

#: ``progress(step, files, bytes)``, called after each file.
BackupProgress = Callable[[str, int, int], None]
#: Nanoseconds for which a file's times do not tell whether it changes. Some file systems count in twos of seconds.
_UNSURE_NS = 3 * 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """Result of :func:`backup`. *new* counts files that are new or changed, *removed* those that the home lost.

    *written* are the bytes that this run copied, and *bytes* those of the whole backup. *mended* counts copies that
    were damaged or missing in the folder and are whole again.
    """

    folder: Path
    manifest: BackupManifest
    new: int
    unchanged: int
    removed: int
    written: int
    mended: int
    left_out: tuple[LeftOut, ...]

    @property
    def unread(self) -> tuple[LeftOut, ...]:
        """The files that should have been carried."""
        return tuple(item for item in self.left_out if item.unread)


def backup(
    home: Home, folder: Path, *, now: datetime, dry_run: bool = False, progress: BackupProgress | None = None
) -> BackupReport:
    """Bring the backup of *home* in *folder* up to date. The folder may be new. *dry_run* compares and writes nothing.

    Raises:
        BackupRefused: *folder* is in the home or the other way round, or holds something else.
        BackupBusy: another process uses the backup.
        BackupDamaged: the earlier manifest cannot be read.
        BackupFailed: a write failed, as on a full disk. The earlier backup is as it was.
        HomeError: the home cannot be locked, or git refused.
    """
    folder = real_folder(folder)
    refuse_place(home, folder)
    say = progress or _silent
    if dry_run:
        return _Run(home, folder, earlier_backup(home, folder), None, say).report(now)
    with hold_home(home):
        ensure_salt(home)  # it tells homes apart
    earlier_backup(home, folder)
    try:
        made_folder(home, folder)
        with held_backup(folder, to_write=True):
            run = _Run(home, folder, earlier_backup(home, folder), ContentStore(folder), say)
            report = run.report(now)
            run.finish(report.manifest)
    except OSError as error:
        raise BackupFailed(folder, f"{error.strerror or error}: {error.filename or folder}") from error
    note_backup(home, folder, now)
    return report


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file as it was copied, and the times and the size by which a change is noticed."""

    file: BackupFile
    state: tuple[int, int, int, int]


class _Run:
    """One backup. Without a *store* nothing is written."""

    def __init__(
        self, home: Home, folder: Path, old: BackupManifest | None, store: ContentStore | None, say: BackupProgress
    ) -> None:
        self._home, self._folder, self._old, self._store, self._say = home, folder, old, store, say
        self._repositories = RepositoryCopies(home, old, store)
        self._began_ns = time.time_ns()
        self._seen: dict[str, _Seen] = {}
        self._unread: dict[str, LeftOut] = {}
        self._known = frozenset(() if old is None else (file.digest for file in old.contents()))
        self._planned: dict[str, int] = {}
        self._bytes = 0

    def report(self, now: datetime) -> BackupReport:
        """Copy everything, and return the result with the new manifest."""
        manifest, found = self._read(now)
        old = {} if self._old is None else self._old.files
        same = sum(file.path in old and old[file.path].digest == file.digest for file in manifest.files.values())
        written = self._planned if self._store is None else self._store.written
        return BackupReport(
            folder=self._folder, manifest=manifest, new=len(manifest.files) - same, unchanged=same,
            removed=len(old.keys() - manifest.files.keys()), written=sum(written.values()),
            mended=len(written.keys() & self._known), left_out=(*found.left_out, *self._unread.values()),
        )  # fmt: skip

    def finish(self, manifest: BackupManifest) -> None:
        """Check what was written, put the manifest into its place, and delete what it does not name.

        Raises:
            BackupFailed: the disk gives back something else than was written.
        """
        assert self._store is not None  # noqa: S101 - a dry run has nothing to finish
        self._say("checking what was written", len(manifest.files), manifest.bytes)
        if broken := self._store.settle():
            raise BackupFailed(
                self._folder, f"{self._store.path(broken[0])} is read back otherwise than it was written"
            )
        staged = self._folder / f"{MANIFEST_NAME}.tmp"
        storage.stage(staged, b"".join(manifest_lines(manifest)))
        try:
            read_manifest(self._folder, staged.name)
        except BackupDamaged as error:  # something in the home that no backup may name
            storage.remove(staged)
            raise BackupFailed(self._folder, f"it could not be read back ({error})") from error
        storage.replace(staged, self._folder / MANIFEST_NAME)
        self._store.drop_others({file.digest for file in manifest.contents()})

    def _read(self, now: datetime) -> tuple[BackupManifest, HomeFiles]:
        old = self._old
        base, packs = (None, ()) if old is None else (old.history, old.packs)
        if self._store is None:
            return self._manifest(now, base, packs, pending=is_pending(self._home))
        found = home_files(self._home)
        for _ in self._files(found):
            pass
        self._say("packing histories", len(self._seen), self._bytes)
        self._repositories.copy(found)
        history, copied, left_out = self._history(base, packs)
        if not left_out:
            base, packs = history, copied
        with hold_home(self._home):
            with suppress(HistoryError, DocumentInvalid):  # then it is carried as it waits
                recover(self._home)
            return self._manifest(now, base, packs, pending=is_pending(self._home))

    def _manifest(
        self, now: datetime, base: BackupHistory | None, packs: tuple[BackupFile, ...], *, pending: bool
    ) -> tuple[BackupManifest, HomeFiles]:
        """Return the manifest of the home as it is now. *packs* hold the objects of *base*."""
        home = self._home
        self._unread.clear()
        found = home_files(home, pending=pending)
        files = {file.path: file for file in self._files(found)}
        files = self._kept(found) | files
        repositories, left_out = self._repositories.copy(found)
        found.left_out += left_out
        history, packs, left_out = self._history(base, packs)
        found.left_out += left_out
        return BackupManifest(
            home=home_name(home), name=home.manifest.name, made=now.isoformat(), machine=str(home.machine.resolve()),
            files=files, links=found.links, folders=tuple(found.folders), history=history, packs=packs,
            remotes=self._remotes(history), repositories=repositories, own=True,
        ), found  # fmt: skip

    def _history(
        self, base: BackupHistory | None, packs: tuple[BackupFile, ...]
    ) -> tuple[BackupHistory | None, tuple[BackupFile, ...], list[LeftOut]]:
        """Return the history of the home, packs with its objects, and what is left out.

        *packs* hold the objects of *base*, the last copy. It stays where the repository is damaged.

        Raises:
            HistoryError: git is absent, or the repository has a form that no backup carries.
            OSError: the backup cannot be written.
        """
        root = self._home.root
        copied = copy_history(root, base, packs, self._store)
        if not copied.problem:
            return copied.history, copied.packs, []
        if copied.staged_alone:
            said = f"what is staged cannot be read ({copied.problem}). The rest of the history is in the backup"
            return copied.history, copied.packs, [LeftOut(path=".git/index", reason=said, unread=True)]
        said = f"not all of the history can be read ({copied.problem})"
        if copied.is_earlier:
            said += ". The earlier copy of it stays"
        elif copied.history is None:
            said += ". There is no earlier copy, so the backup has the files alone"
        advice = f"`git -C {quote(str(root))} fsck` names the damage"
        return copied.history, copied.packs, [LeftOut(path=".git", reason=f"{said}. {advice}", unread=True)]

    def _remotes(self, history: BackupHistory | None) -> dict[str, str]:
        try:
            return {} if history is None else remote_addresses(self._home.root)
        except HistoryError:  # what keeps git from reading is named already
            return {} if self._old is None else dict(self._old.remotes)

    def _files(self, found: HomeFiles) -> Iterator[BackupFile]:
        """Copy the files that are not in the backup yet, and yield each as it is there."""
        for path, place in found.files.items():
            file = self._file(path, place)
            if file is not None:
                yield file

    def _file(self, path: str, place: Path) -> BackupFile | None:
        """Copy a file that is not in the backup yet. One that cannot be read is left out."""
        try:
            file = storage.open_plain(place)
        except FileNotFoundError:  # it went meanwhile
            return None
        except OSError as error:
            self._leave_out(path, error)
            return None
        with file:
            status = os.fstat(file.fileno())
            state = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            if (seen := self._seen.get(path)) and seen.state == state and self._is_settled(status.st_ctime_ns):
                return seen.file
            try:
                digest, size = digest_of(file)
            except OSError as error:  # the disk of the home is damaged
                self._leave_out(path, error)
                return None
            if self._store is None:
                self._plan(digest, size)
            elif not self._store.holds(digest, size):
                file.seek(0)
                digest, size = self._store.add(parts(file))
        made = BackupFile(
            path=path, size=size, digest=digest, executable=bool(status.st_mode & 0o100), mtime_ns=status.st_mtime_ns
        )
        self._seen[path] = _Seen(made, state)
        self._bytes += size
        self._say("copying", len(self._seen), self._bytes)
        return made

    def _leave_out(self, path: str, error: OSError) -> None:
        self._unread[path] = LeftOut(path=path, reason=error.strerror or "cannot be read", unread=True)

    def _kept(self, found: HomeFiles) -> dict[str, BackupFile]:
        """Return the earlier copies of what cannot be read now. They may be the last ones."""
        unread = {*self._unread, *(item.path.removesuffix("/") for item in found.left_out if item.unread)}
        old = {} if self._old is None else self._old.files
        if not unread or not old:
            return {}
        folders = tuple("" if path == "." else f"{path}/" for path in unread)
        return {path: file for path, file in old.items() if path in unread or path.startswith(folders)}

    def _is_settled(self, changed_ns: int) -> bool:
        """Return whether a file that changed then shows a later change by its times."""
        return changed_ns < self._began_ns - _UNSURE_NS

    def _plan(self, digest: str, size: int) -> None:
        if digest not in self._known:
            self._planned[digest] = size


def _silent(_step: str, _files: int, _bytes: int) -> None:
    """Ignore the progress."""
