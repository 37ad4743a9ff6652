"""Write new git objects as one pack, which git itself checks and imports.

One command for each of thousands of objects would take minutes. The pack format is small, and git verifies every byte
of a pack before any of its objects exists.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from pathlib import Path
from typing import IO, Self

from .client import home_client

__all__ = ["PackWriter"]

_CODES = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}


class PackWriter:
    """A pack that is being written. *algorithm* is the repository's hash, sha1 or sha256."""

    def __init__(self, algorithm: str) -> None:
        self._algorithm = algorithm
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the writer is left
        self._file.write(b"PACK" + (2).to_bytes(4, "big") + bytes(4))
        self._ids: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, kind: str, data: bytes) -> str:
        """Add an object, unless the pack already has it, and return its id."""
        oid = hashlib.new(self._algorithm, f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()
        if oid not in self._ids:
            self._ids.add(oid)
            self._file.write(_head(_CODES[kind], len(data)) + zlib.compress(data, 1))
        return oid

    def store(self, root: Path) -> None:
        """Import the objects into the repository of *root*.

        Raises:
            HistoryError: git refused the pack, and none of its objects exists.
        """
        self._file.seek(8)
        self._file.write(len(self._ids).to_bytes(4, "big"))
        self._file.seek(0)
        digest = hashlib.new(self._algorithm, usedforsecurity=False)
        while chunk := self._file.read(1 << 20):
            digest.update(chunk)
        self._file.write(digest.digest())
        self._file.flush()
        os.lseek(self._file.fileno(), 0, os.SEEK_SET)  # git reads from the descriptor, past our buffer
        home_client(root).change("index-pack", "--stdin", stdin=self._file)


def _head(code: int, size: int) -> bytes:
    """Return the header of an object: its type with four bits of its size, then seven bits a byte, lowest first."""
    byte, size = (code << 4) | (size & 15), size >> 4
    out = bytearray()
    while size:
        out.append(byte | 128)
        byte, size = size & 127, size >> 7
    out.append(byte)
    return bytes(out)
