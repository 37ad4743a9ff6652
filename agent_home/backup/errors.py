"""Errors of backups. Every message names the folder, what is wrong with it, and what to do.

``HomeError``
├── ``BackupRefused``  the folder is no place for this backup, or the new home would cover something
├── ``BackupBusy``     another process uses the folder of the backup
├── ``BackupDamaged``  files of the backup are missing, damaged or not acceptable
├── ``BackupFailed``   the backup could not be written, and the earlier one stays
└── ``RestoreFailed``  the home could not be written, and nothing is there
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import HomeError

__all__ = ["BackupBusy", "BackupDamaged", "BackupFailed", "BackupRefused", "DamagedFile", "RestoreFailed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedFile:
    """A file of a backup that is not what the manifest says: its *path* in the home, and the *problem*."""

    path: str
    problem: str


class BackupRefused(HomeError):
    """The folder is no place for this backup, or for the home that is to be made from it. Nothing was written."""


class BackupBusy(HomeError):
    """Another process writes or reads the backup."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"another process is using the backup in {folder}. Wait until it is done, then try again")
        self.folder = folder


class BackupDamaged(HomeError):
    """A backup cannot be used as it is. *files* names each file that is damaged or missing."""

    def __init__(self, folder: Path, problem: str, files: Sequence[DamagedFile] = ()) -> None:
        super().__init__(f"the backup in {folder} {problem}")
        self.folder, self.files = folder, tuple(files)


class BackupFailed(HomeError):
    """A backup could not be finished. The one that was in the folder before is unchanged."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(
            f"the backup in {folder} was not finished: {reason}. The earlier backup there, if any, stays usable. "
            "Run the command again to continue"
        )
        self.folder, self.reason = folder, reason


class RestoreFailed(HomeError):
    """A home could not be made from a backup. Nothing is in its place."""

    def __init__(self, root: Path, reason: str) -> None:
        super().__init__(f"the home {root} was not made: {reason}. The backup is unchanged")
        self.root, self.reason = root, reason
