"""Check a backup: every content is read and compared with its digest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .backup_folder import held_backup, real_folder, require_backup
from .content_store import ContentStore
from .errors import DamagedFile
from .making import BackupProgress
from .manifest import BackupManifest

__all__ = ["VerifiedBackup", "damaged_files", "verify_backup"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedBackup:
    """Result of :func:`verify_backup`. *damaged* names each file whose content is damaged or missing."""

    folder: Path
    manifest: BackupManifest
    damaged: tuple[DamagedFile, ...]


def verify_backup(folder: Path, *, progress: BackupProgress | None = None) -> VerifiedBackup:
    """Read every content of the backup in *folder*, and compare it with the manifest.

    Raises:
        BackupRefused: there is no backup.
        BackupBusy: another process uses it.
        BackupDamaged: the manifest itself is damaged.
    """
    folder = real_folder(folder)
    require_backup(folder)
    with held_backup(folder, to_write=False):
        manifest = require_backup(folder)
        damaged = tuple(damaged_files(folder, manifest, progress))
    return VerifiedBackup(folder=folder, manifest=manifest, damaged=damaged)


def damaged_files(
    folder: Path, manifest: BackupManifest, progress: BackupProgress | None = None
) -> Iterator[DamagedFile]:
    """Yield the files of *manifest* whose contents are damaged or missing. A content of several files is read once."""
    store = ContentStore(folder)
    problems: dict[tuple[str, int], str] = {}
    size = 0
    for number, file in enumerate(manifest.contents(), 1):
        content = (file.digest, file.size)
        if content not in problems:
            problems[content] = store.problem(*content)
        if problems[content]:
            yield DamagedFile(path=file.path, problem=problems[content])
        size += file.size
        if progress is not None:
            progress("checking", number, size)
