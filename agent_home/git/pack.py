"""New git objects, gathered in one pack that git itself takes in and checks.

Writing thousands of objects one command at a time would take minutes; a pack is a plain format of thirty lines, and git
verifies every byte of it before any of its objects exists.
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
    """A pack in the making. *algorithm* is what the repository names its objects by, sha1 or sha256."""

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
        """Take an object in, once; its id."""
        oid = hashlib.new(self._algorithm, f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()
        if oid not in self._ids:
            self._ids.add(oid)
            self._file.write(_head(_CODES[kind], len(data)) + zlib.compress(data, 1))
        return oid

    def store(self, root: Path) -> None:
        """Hand the objects to the repository of *root*.

        Raises:
            HistoryError: git did not take them; none of them exists then.
        """
        self._file.seek(8)
        self._file.write(len(self._ids).to_bytes(4, "big"))
        self._file.seek(0)
        digest = hashlib.new(self._algorithm, usedforsecurity=False)
        while chunk := self._file.read(1 << 20):
            digest.update(chunk)
        self._file.write(digest.digest())
        self._file.flush()
        os.lseek(self._file.fileno(), 0, os.SEEK_SET)  # git reads the file itself, past any buffer of ours
        home_client(root).change("index-pack", "--stdin", stdin=self._file)


def _head(code: int, size: int) -> bytes:
    """Type and size of an object: four bits of the size with the type, then seven a byte, lowest first."""
    byte, size = (code << 4) | (size & 15), size >> 4
    out = bytearray()
    while size:
        out.append(byte | 128)
        byte, size = size & 127, size >> 7
    out.append(byte)
    return bytes(out)
