"""Unpack compressed files and archives in memory, so that the guard can read what they hold.

Nothing is written to the disk. Bytes, members and depth are bounded, so that a small file cannot unpack to a large one.
What lies behind a bound, a password or damage is not read.
"""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator

__all__ = ["unpacked"]

#: Bytes that one file may unpack to, in all its members.
_MAX_BYTES = 16_777_216
_MAX_MEMBERS = 2_000
#: Archives within archives, as a tar file within gzip.
_MAX_DEPTH = 3


class _UnpackingLimit:
    """Bytes and members that may still be read."""

    def __init__(self) -> None:
        self.bytes = _MAX_BYTES
        self.members = _MAX_MEMBERS


def unpacked(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield ``(name, content)`` of everything that *data* holds compressed. A compressed stream has no name."""
    yield from _members(data, _UnpackingLimit(), _MAX_DEPTH)


def _members(data: bytes, budget: _UnpackingLimit, depth: int) -> Iterator[tuple[str, bytes]]:
    if not depth:
        return
    for name, content in _one_layer(data, budget):
        inner = list(_members(content, budget, depth - 1))
        if inner:
            yield name, b""
            yield from inner
        else:
            yield name, content


def _one_layer(data: bytes, budget: _UnpackingLimit) -> Iterator[tuple[str, bytes]]:
    """Yield the members of *data*. Damage ends the archive, and what came before it counts."""
    try:
        if data.startswith(b"PK\x03\x04"):
            yield from _from_zip(data, budget)
        elif data[257:262] == b"ustar":
            yield from _from_tar(data, budget)
        elif stream := _stream(data, budget):
            yield "", stream
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
        return
    except (NotImplementedError, RuntimeError):  # a compression that is not known, or a password
        return


def _from_zip(data: bytes, budget: _UnpackingLimit) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            if member.is_dir() or not _takes_member(budget):
                continue
            if member.flag_bits & 1:  # encrypted
                yield member.filename, b""
                continue
            with archive.open(member) as file:
                yield member.filename, _taken(file.read(budget.bytes), budget)


def _from_tar(data: bytes, budget: _UnpackingLimit) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for member in archive:
            if member.isfile() and _takes_member(budget) and (file := archive.extractfile(member)) is not None:
                yield member.name, _taken(file.read(budget.bytes), budget)


def _stream(data: bytes, budget: _UnpackingLimit) -> bytes | None:
    """Return the content of a gzip, zlib, bzip2 or xz stream, or None."""
    if data.startswith(b"\x1f\x8b") or data[:2] in {b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"}:
        return _taken(zlib.decompressobj(wbits=47).decompress(data, max(1, budget.bytes)), budget)
    if data.startswith(b"BZh"):
        return _taken(bz2.BZ2Decompressor().decompress(data, max(1, budget.bytes)), budget)
    if data.startswith((b"\xfd7zXZ", b"]\x00\x00")):
        return _taken(lzma.LZMADecompressor(memlimit=128_000_000).decompress(data, max(1, budget.bytes)), budget)
    return None


def _takes_member(budget: _UnpackingLimit) -> bool:
    budget.members -= 1
    return budget.members >= 0 and budget.bytes > 0


def _taken(content: bytes, budget: _UnpackingLimit) -> bytes:
    budget.bytes -= len(content)
    return content
