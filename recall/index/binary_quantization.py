"""Codes: one bit for each coordinate of a vector, so that a million vectors are looked at in some milliseconds.

A bit says whether a coordinate lies above the centre of the home's vectors. The passages whose bits differ least from
the question's are looked up and compared exactly (``recall.search.retrievers``). Codes lie in the index in chunks of 1
024 passages by row number; a process that asks often keeps them and reads again only the chunks that changed.

Codes are a function of the stored vectors and of the recorded centre: ``memory index verify`` makes them anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import apsw
import numpy as np
import numpy.typing as npt

from . import schema

__all__ = [
    "CHUNK",
    "BinaryVector",
    "BinaryVectors",
    "Kind",
    "binarize",
    "load_binary_vectors",
    "parse_chunk",
    "recorded_centroid",
    "remove_binary_vectors",
    "store_binary_vectors",
]

Kind = Literal["vector", "window"]
BinaryVector = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
#: Passages of a chunk: what is written again when one of them changes.
CHUNK = 1024
#: Codes that are looked at in one go: what a core's cache holds.
_BLOCK = 16_384
#: Homes whose codes a process keeps.
_CACHED_HOMES = 4
_FARTHEST = np.iinfo(np.uint16).max
_KIND_BITS: dict[Kind, int] = {"vector": 1, "window": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryVectors:
    """The codes of all passages, one place each, in order of row numbers; a place may be empty.

    *has* says for each kind which places have such a vector, *bits* holds (words of 64 bits, places).
    """

    ids: npt.NDArray[np.int64]
    files: npt.NDArray[np.uint32]
    layers: npt.NDArray[np.uint8]
    has: npt.NDArray[np.uint8]
    bits: Mapping[Kind, BinaryVector]

    def among(self, layers: Sequence[int] | None, files: Sequence[int] | None) -> Flags | None:
        """The places that may be found; ``None`` means all."""
        if layers is None and files is None:
            return None
        allowed = np.ones(len(self.ids), np.bool_)
        if layers is not None:
            allowed &= np.isin(self.layers, np.array(layers, np.uint8))
        if files is not None:
            allowed &= np.isin(self.files, np.array(files, np.uint32))
        return allowed

    def nearest(self, kind: Kind, code: BinaryVector, number: int, among: Flags | None = None) -> npt.NDArray[np.int64]:
        """The *number* places whose code differs least from *code*, in no order; of equals the first."""
        wanted = (self.has & _KIND_BITS[kind]) > 0
        if among is not None:
            wanted &= among
        if np.count_nonzero(wanted) <= number:
            return np.flatnonzero(wanted)
        differing = np.empty(len(self.ids), np.uint16)
        for start in range(0, len(differing), _BLOCK):
            block = slice(start, start + _BLOCK)
            total = np.zeros(len(differing[block]), np.uint16)
            for word, bits in zip(code, self.bits[kind], strict=True):
                total += np.bitwise_count(bits[block] ^ word)
            differing[block] = total
        differing[~wanted] = _FARTHEST
        most = np.partition(differing, number - 1)[number - 1]
        nearer, equal = np.flatnonzero(differing < most), np.flatnonzero(differing == most)
        return np.concatenate([nearer, equal[: number - len(nearer)]])


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    """Codes in memory, and where in them each chunk of which version lies."""

    versions: tuple[tuple[int, int], ...]
    codes: BinaryVectors


def binarize(vectors: Floats, around: Floats) -> BinaryVector:
    """The codes of *vectors* around a point: (vectors, words of 64 bits)."""
    words = -(-vectors.shape[1] // 64)
    bits = np.zeros((len(vectors), words * 64), np.bool_)
    bits[:, : vectors.shape[1]] = vectors > around
    return np.packbits(bits, axis=1).view(np.uint64)


def recorded_centroid(recorded: Mapping[str, str]) -> Floats:
    """The point around which the codes of this index are taken; see :func:`recall.index.vectors.recenter`."""
    text = recorded.get("middle", "")
    return np.frombuffer(bytes.fromhex(text), np.float32) if text else np.zeros(int(recorded["dimension"]), np.float32)


def store_binary_vectors(
    conn: apsw.Connection, kind: Kind, places: Sequence[tuple[int, int, int]], vectors: Floats
) -> None:
    """Write the codes of the passages ``(id, file, layer)``, row by row. Inside a transaction."""
    recorded = schema.read_meta(conn)
    codes = binarize(vectors, recorded_centroid(recorded))
    by_chunk: dict[int, list[int]] = defaultdict(list)
    for row, (ident, _, _) in enumerate(places):
        by_chunk[ident // CHUNK].append(row)
    for chunk, rows in by_chunk.items():
        slots = _read_chunk(conn, chunk, int(recorded["dimension"]))
        which = [places[row][0] % CHUNK for row in rows]
        slots["file"][which] = [places[row][1] for row in rows]
        slots["layer"][which] = [places[row][2] for row in rows]
        slots["has"][which] |= _KIND_BITS[kind]
        slots[kind][which] = codes[rows]
        _write_chunk(conn, chunk, slots)


def remove_binary_vectors(conn: apsw.Connection, ids: Iterable[int], dimension: int) -> None:
    """Empty the places of the passages *ids*. Inside a transaction."""
    by_chunk: dict[int, list[int]] = defaultdict(list)
    for ident in ids:
        by_chunk[ident // CHUNK].append(ident % CHUNK)
    for chunk, which in by_chunk.items():
        slots = _read_chunk(conn, chunk, dimension)
        slots[which] = np.zeros((), slots.dtype)
        _write_chunk(conn, chunk, slots)


def parse_chunk(blob: bytes, dimension: int) -> npt.NDArray[Any]:
    """A stored chunk as an array of ``file``, ``layer``, ``has``, ``vector`` and ``window``."""
    words = -(-dimension // 64)
    slot = [("file", "<u4"), ("layer", "u1"), ("has", "u1"), ("vector", "<u8", words), ("window", "<u8", words)]
    return np.frombuffer(blob, np.dtype(slot))


def load_binary_vectors(conn: apsw.Connection, path: Path, dimension: int) -> BinaryVectors:
    """The codes of the index at *path*, of which *conn* reads one state; only chunks that changed are read.

    What is returned is never changed again, and may be used by several threads.
    """
    versions = tuple(schema.rows(conn, "SELECT chunk, version FROM codes ORDER BY chunk"))
    with _CACHE_LOCK:
        known = _CACHE.pop(str(path), None)
        if known is None or known.versions != versions:
            known = _CacheEntry(versions, _assemble(conn, versions, known, dimension))
        _CACHE[str(path)] = known
        while len(_CACHE) > _CACHED_HOMES:
            _CACHE.popitem(last=False)
    return known.codes


_CACHE_LOCK = threading.Lock()
_CACHE: OrderedDict[str, _CacheEntry] = OrderedDict()


def _assemble(
    conn: apsw.Connection, versions: Sequence[tuple[int, int]], known: _CacheEntry | None, dimension: int
) -> BinaryVectors:
    """The chunks' codes side by side: those of *known* where the version is the same, the others read."""
    places = {version: at for at, version in enumerate(known.versions)} if known else {}
    parts = []
    for version in versions:
        if known is not None and version in places:
            parts.append(_slice(known.codes, slice(places[version] * CHUNK, (places[version] + 1) * CHUNK)))
        else:
            blob = schema.value(conn, "SELECT slots FROM codes WHERE chunk = ?", (version[0],))
            parts.append(_unpacked(version[0], parse_chunk(blob, dimension)))
    parts = parts or [_unpacked(0, parse_chunk(b"", dimension))]
    return BinaryVectors(
        ids=np.concatenate([part.ids for part in parts]),
        files=np.concatenate([part.files for part in parts]),
        layers=np.concatenate([part.layers for part in parts]),
        has=np.concatenate([part.has for part in parts]),
        bits={kind: np.concatenate([part.bits[kind] for part in parts], axis=1) for kind in _KIND_BITS},
    )


def _slice(codes: BinaryVectors, which: slice) -> BinaryVectors:
    return BinaryVectors(
        ids=codes.ids[which],
        files=codes.files[which],
        layers=codes.layers[which],
        has=codes.has[which],
        bits={kind: bits[:, which] for kind, bits in codes.bits.items()},
    )


def _unpacked(chunk: int, slots: npt.NDArray[Any]) -> BinaryVectors:
    return BinaryVectors(
        ids=np.arange(len(slots), dtype=np.int64) + chunk * CHUNK,
        files=slots["file"],
        layers=slots["layer"],
        has=slots["has"],
        bits={kind: slots[kind].T for kind in _KIND_BITS},
    )


def _read_chunk(conn: apsw.Connection, chunk: int, dimension: int) -> npt.NDArray[Any]:
    """A chunk's slots, to be changed; all empty when it is not there yet."""
    rows = schema.rows(conn, "SELECT slots FROM codes WHERE chunk = ?", (chunk,))
    if rows:
        return parse_chunk(rows[0][0], dimension).copy()
    return np.zeros(CHUNK, parse_chunk(b"", dimension).dtype)


def _write_chunk(conn: apsw.Connection, chunk: int, slots: npt.NDArray[Any]) -> None:
    """Store a chunk under a version that it never had, so that who keeps codes sees the change."""
    if slots["has"].any():
        conn.execute(
            "INSERT OR REPLACE INTO codes(chunk, version, slots) VALUES(?, random(), ?)", (chunk, slots.tobytes())
        )
    else:
        conn.execute("DELETE FROM codes WHERE chunk = ?", (chunk,))
