"""Own the contents of a backup: files named by their digests, so that each is stored once and checks itself.

A content appears under its name when it is whole and on the disk. A killed writer leaves a file with another name,
which the next backup removes.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from .. import storage
from .errors import BackupRefused

__all__ = ["ContentStore", "digest_of", "parts"]

_FOLDER = "contents"
_READ_BYTES = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ContentStore:
    """The contents in a folder of a backup."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / _FOLDER
        self._whole: set[str] = set()
        self._touched: set[Path] = set()
        self.written: dict[str, int] = {}

    def path(self, digest: str) -> Path:
        """Return the file of the content with that *digest*."""
        return self._folder / digest[:2] / digest

    def holds(self, digest: str, size: int) -> bool:
        """Return whether the content is there and whole. It is read the first time that it is asked for."""
        if digest not in self._whole and not self.problem(digest, size):
            self._whole.add(digest)
        return digest in self._whole

    def problem(self, digest: str, size: int) -> str:
        """Return what is wrong with the content, or an empty text. It is read."""
        try:
            with storage.open_plain(self.path(digest)) as file:
                if os.fstat(file.fileno()).st_size != size:
                    return f"has {os.fstat(file.fileno()).st_size} bytes and should have {size}"
                return "" if digest_of(file)[0] == digest else "is not what was backed up"
        except FileNotFoundError:
            return "is missing"
        except OSError as error:
            return f"cannot be read: {error.strerror}"

    def add(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        """Store the content in *chunks*, unless it is there, and return its digest and its size.

        Raises:
            OSError: it cannot be written.
        """
        self._require_folder(self._folder)
        staged = self._folder / f".{secrets.token_hex(8)}.tmp"
        digest, size = hashlib.sha256(), 0
        try:
            with os.fdopen(os.open(staged, _NEW, storage.PRIVATE_FILE), "wb") as file:
                for chunk in chunks:
                    digest.update(chunk)
                    size += len(chunk)
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            name = digest.hexdigest()
            if not self.holds(name, size):
                target = self.path(name)
                self._require_folder(target.parent)
                staged.replace(target)
                self._touched.add(target.parent)
                self._whole.add(name)
                self.written[name] = size
        finally:
            staged.unlink(missing_ok=True)
        return name, size

    def settle(self) -> list[str]:
        """Make the names of new contents durable. Return the digests of those that are read back otherwise."""
        for folder in self._touched:
            storage.sync_folder(folder)
        return [digest for digest, size in self.written.items() if self.problem(digest, size)]

    def drop_others(self, kept: Collection[str]) -> int:
        """Delete the contents that are not among the digests *kept*, and what killed writers left. Count them."""
        count = 0
        for path in self._stored():
            if path.name not in kept:
                path.unlink(missing_ok=True)
                count += 1
        for folder in sorted(self._folder.glob("??")):
            with suppress(OSError):  # it is not empty
                folder.rmdir()
        return count

    def _stored(self) -> Iterator[Path]:
        yield from self._folder.glob(".*.tmp")
        for folder in sorted(self._folder.glob("??")):
            if folder.is_dir() and not folder.is_symlink():
                yield from sorted(folder.iterdir())

    def _require_folder(self, folder: Path) -> None:
        """Make *folder*, and refuse a link in its place.

        Raises:
            BackupRefused: it is a link, which would lead elsewhere.
        """
        if folder.is_symlink():
            raise BackupRefused(f"{folder} is a link, and a backup is written into folders only. Remove the link")
        storage.make_folder(folder)


def digest_of(file: BinaryIO) -> tuple[str, int]:
    """Return the digest and the size of what is left in *file*."""
    digest, size = hashlib.sha256(), 0
    for chunk in parts(file):
        digest.update(chunk)
        size += len(chunk)
    return digest.hexdigest(), size


def parts(file: BinaryIO) -> Iterator[bytes]:
    """Yield what is left in *file*, in parts."""
    while chunk := file.read(_READ_BYTES):
        yield chunk
