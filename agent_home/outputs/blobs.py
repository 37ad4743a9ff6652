"""Own the content of outputs: files of zstandard frames, one for each chunk, named by the digest of the whole.

Such a file is what ``zstd -d`` reads. The same content is stored once. A file appears under its name when it is whole
and on the disk, so a killed writer leaves nothing but a file with another name.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import zstandard

from .. import storage
from ..home import Home
from .entry import OutputChunk, OutputDamaged
from .own_place import PlaceIsLink, is_own, require_own

__all__ = [
    "BlobWriter",
    "blob_path",
    "blobs",
    "drop_content",
    "drop_unused",
    "is_idle",
    "leftovers",
    "read_chunk",
    "require_content",
]

_FOLDER = "outputs/blobs"
_LEVEL = 9
#: Seconds after which a file that no writer finished is a leftover.
_LEFT_S = 86_400
_YOUNG_S = 3600
_MOST_CHUNK_BYTES = 64 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class BlobWriter:
    """A writer of one content, chunk by chunk. Leave the block without :meth:`finish`, and nothing is stored.

    Raises:
        PlaceIsLink: the contents lie behind a link.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._digest = hashlib.sha256()
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
        self._offset = 0
        folder = require_own(home, home.root / _FOLDER)
        storage.make_folder(folder)
        self._staged = folder / f".{secrets.token_hex(8)}.tmp"
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        self._file = os.fdopen(os.open(self._staged, _NEW, storage.PRIVATE_FILE), "wb")
        return self

    def add(self, data: bytes, *, tokens: int, first_line: int) -> OutputChunk:
        """Write the next chunk, and return where it lies."""
        assert self._file is not None  # noqa: S101 - inside the block
        self._digest.update(data)
        frame = self._compressor.compress(data)
        self._file.write(frame)
        chunk = OutputChunk(
            offset=self._offset, size=len(frame), length=len(data), tokens=tokens, first_line=first_line,
            digest=hashlib.sha256(data).hexdigest(),
        )  # fmt: skip
        self._offset += len(frame)
        return chunk

    def finish(self) -> str:
        """Make the content durable, and return its digest."""
        assert self._file is not None  # noqa: S101 - inside the block
        self._file.flush()
        os.fsync(self._file.fileno())
        digest = self._digest.hexdigest()
        target = require_own(self._home, blob_path(self._home, digest))
        with _held(self._home, fcntl.LOCK_SH):
            try:
                os.utime(target)  # a prune must not take it for unused
            except FileNotFoundError:
                storage.make_folder(target.parent)
                storage.replace(self._staged, target)
        return digest

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        self._staged.unlink(missing_ok=True)


def blob_path(home: Home, digest: str) -> Path:
    """Return the file of the content with that *digest*."""
    return home.root / _FOLDER / digest[:2] / f"{digest}.zst"


def read_chunk(home: Home, name: str, digest: str, chunk: OutputChunk) -> bytes:
    """Return a chunk of the output *name*, whose content has that *digest*.

    Raises:
        OutputDamaged: the file is absent, a link, or not what was written.
    """
    if chunk.length > _MOST_CHUNK_BYTES:
        raise OutputDamaged(name, "its record names a chunk that is too large")
    try:
        with storage.open_file(require_own(home, blob_path(home, digest))) as file:
            file.seek(chunk.offset)
            frame = file.read(chunk.size)
        data = zstandard.ZstdDecompressor().decompress(frame, max_output_size=chunk.length)
    except PlaceIsLink as error:
        raise OutputDamaged(name, f"its content {error.place} is a link") from error
    except OSError as error:
        raise OutputDamaged(name, f"its content cannot be read ({error.strerror})") from error
    except (zstandard.ZstdError, ValueError, MemoryError) as error:
        raise OutputDamaged(name, "its content is not what was stored") from error
    if hashlib.sha256(data).hexdigest() != chunk.digest:
        raise OutputDamaged(name, "its content is not what was stored")
    return data


def require_content(home: Home, name: str, digest: str) -> None:
    """Check that the content of the output *name* is there, without reading it.

    Raises:
        OutputDamaged: it is not.
    """
    path = blob_path(home, digest)
    if not path.is_file() or not is_own(home, path):
        raise OutputDamaged(name, "its content is absent")


def blobs(home: Home) -> Iterator[Path]:
    """Yield the files of all contents. Links are left out."""
    found = sorted((home.root / _FOLDER).glob("??/*.zst"))
    yield from (path for path in found if is_own(home, path))


def drop_unused(home: Home, path: Path) -> None:
    """Delete the file of a content that no record named, unless a writer has used it within the hour."""
    with _held(home, fcntl.LOCK_EX), suppress(OSError):
        if is_idle(path):
            path.unlink()


def drop_content(home: Home, digest: str) -> None:
    """Delete the content with that *digest*, whoever uses it.

    Raises:
        PlaceIsLink: it lies behind a link.
    """
    with _held(home, fcntl.LOCK_EX):
        require_own(home, blob_path(home, digest)).unlink(missing_ok=True)


def is_idle(path: Path) -> bool:
    """Return whether no writer has written or used the content at *path* within the hour.

    Its record may be about to be written otherwise.
    """
    return time.time() - path.stat().st_mtime > _YOUNG_S


@contextmanager
def _held(home: Home, kind: int) -> Iterator[None]:
    """Hold the lock of contents: shared to use one, alone to delete one."""
    descriptor = storage.open_to_append(require_own(home, home.root / _FOLDER / ".lock"))
    try:
        fcntl.flock(descriptor, kind)
        yield
    finally:
        os.close(descriptor)


def leftovers(home: Home) -> list[Path]:
    """Return files that killed writers of outputs and checkpoints left a day ago or earlier."""
    found = []
    for pattern in (".*.tmp", "checkpoints/*.lock"):
        for path in (home.root / "outputs").glob(f"**/{pattern}"):
            with suppress(OSError):
                if is_own(home, path) and time.time() - path.stat().st_mtime > _LEFT_S:
                    found.append(path)
    return sorted(found)
