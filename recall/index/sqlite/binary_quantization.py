"""Binary vectors: one bit for each coordinate, so that a million of them are compared in some milliseconds.

A bit says whether a coordinate lies above the centroid of the home's vectors. The passages whose bits differ least from
the query's become candidates for the exact comparison (``recall.search.retrievers``). The index stores binary vectors
in chunks of 1 024 passages by row number. A process that searches often caches them, and reads only changed chunks.

Binary vectors are a function of the stored vectors and of the recorded centroid. ``memory index verify`` computes them
again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
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
    "in_layers",
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
#: Coordinates in eight bits.
StoredVectors = npt.NDArray[np.int8]
#: Passages in a chunk. A chunk is written again when one of them changes.
CHUNK = 1024
#: Binary vectors compared at once: as many as fit into a core's cache.
_BLOCK = 8_192
#: Homes whose binary vectors a process caches.
_CACHED_HOMES = 4
_FARTHEST = np.iinfo(np.uint16).max
_KIND_BITS: dict[Kind, int] = {"vector": 1, "window": 2}
#: Places of the kinds in an array of stored vectors.
_COLUMNS: dict[Kind, int] = {"vector": 0, "window": 1}
#: Memory for the stored vectors of one index: those of 170 000 passages with 384 dimensions.
_MOST_STORED_BYTES = 1 << 27


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryVectors:
    """Binary vectors of all passages, one slot each, in order of row numbers. A slot may be empty.

    *has* holds for each slot the flags of the kinds of vector in it. *bits* holds arrays (words of 64 bits, slots).
    *stored* has for each chunk the vectors themselves, in an array (slots, kinds, dimension), if a process keeps them.
    """

    ids: npt.NDArray[np.int64]
    files: npt.NDArray[np.uint32]
    layers: npt.NDArray[np.uint8]
    has: npt.NDArray[np.uint8]
    bits: Mapping[Kind, BinaryVector]
    stored: tuple[StoredVectors, ...] | None = None

    def eligible(self, layers: Sequence[int] | None, files: Sequence[int] | None) -> Flags | None:
        """Return a mask of the slots that a search may find, or ``None`` for all."""
        if layers is None and files is None:
            return None
        allowed = np.ones(len(self.ids), np.bool_)
        if layers is not None:
            allowed &= in_layers(self.layers, layers)
        if files is not None:
            allowed &= np.isin(self.files, np.array(files, np.uint32))
        return allowed

    def files_of(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
        """Return the file of each of the passages *ids*, all of which have a slot."""
        return np.asarray(self.files[np.searchsorted(self.ids, ids)])

    def vectors_at(self, places: npt.NDArray[np.int64]) -> dict[Kind, tuple[npt.NDArray[np.int64], StoredVectors]]:
        """Return by kind the passages at *places* that have such a vector, and their vectors out of *stored*.

        *places* are in order.
        """
        chunks, slots = places // CHUNK, places % CHUNK
        starts = np.flatnonzero(np.diff(chunks, prepend=-1)).tolist()
        spans = pairwise([*starts, len(places)]) if len(places) else ()
        stored = self.stored or ()
        parts = [stored[chunks[start]][slots[start:end]] for start, end in spans]
        both = np.concatenate(parts) if parts else np.empty((0, len(_COLUMNS), 0), np.int8)
        having = {kind: np.flatnonzero(self.has[places] & bit) for kind, bit in _KIND_BITS.items()}
        return {kind: (self.ids[places[at]], both[at, _COLUMNS[kind]]) for kind, at in having.items()}

    def nearest(
        self, kind: Kind, query: BinaryVector, number: int, eligible: Flags | None = None
    ) -> npt.NDArray[np.int64]:
        """Return the *number* slots that differ least from *query*, in no order. Of equal ones the first are taken."""
        compared = (self.has & _KIND_BITS[kind]) > 0
        if eligible is not None:
            compared &= eligible
        if np.count_nonzero(compared) <= number:
            return np.flatnonzero(compared)
        differing = np.zeros(len(self.ids), np.uint16)
        for start in range(0, len(differing), _BLOCK):
            block = slice(start, start + _BLOCK)
            total, changed = differing[block], np.empty(len(differing[block]), np.uint64)
            for word, bits in zip(query, self.bits[kind], strict=True):
                total += np.bitwise_count(np.bitwise_xor(bits[block], word, out=changed))
        differing[~compared] = _FARTHEST
        largest = np.partition(differing, number - 1)[number - 1]
        nearer, equal = np.flatnonzero(differing < largest), np.flatnonzero(differing == largest)
        return np.concatenate([nearer, equal[: number - len(nearer)]])


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    """Binary vectors in memory, with number and version of each of their chunks."""

    versions: tuple[tuple[int, int], ...]
    vectors: BinaryVectors


def in_layers(codes: npt.NDArray[np.uint8], layers: Sequence[int]) -> Flags:
    """Return which of the *codes* of layers are among *layers*. A table is read ten times as fast as a search."""
    wanted = np.zeros(np.iinfo(np.uint8).max + 1, np.bool_)
    wanted[list(layers)] = True
    return np.asarray(wanted[codes])


def binarize(vectors: Floats, centroid: Floats) -> BinaryVector:
    """Return the bits of *vectors* around *centroid*, as an array (vectors, words of 64 bits)."""
    words = -(-vectors.shape[1] // 64)
    bits = np.zeros((len(vectors), words * 64), np.bool_)
    bits[:, : vectors.shape[1]] = vectors > centroid
    return np.packbits(bits, axis=1).view(np.uint64)


def recorded_centroid(recorded: Mapping[str, str]) -> Floats:
    """Return the centroid around which the bits of this index are taken. See :func:`.vectors.recenter`."""
    text = recorded.get("middle", "")
    return np.frombuffer(bytes.fromhex(text), np.float32) if text else np.zeros(int(recorded["dimension"]), np.float32)


def store_binary_vectors(
    conn: apsw.Connection, kind: Kind, places: Sequence[tuple[int, int, int]], vectors: Floats
) -> None:
    """Write the binary vectors of the passages ``(id, file, layer)``, row by row. Inside a transaction."""
    recorded = schema.read_meta(conn)
    bits = binarize(vectors, recorded_centroid(recorded))
    by_chunk: dict[int, list[int]] = defaultdict(list)
    for row, (ident, _, _) in enumerate(places):
        by_chunk[ident // CHUNK].append(row)
    for chunk, rows in by_chunk.items():
        slots = _read_chunk(conn, chunk, int(recorded["dimension"]))
        which = [places[row][0] % CHUNK for row in rows]
        slots["file"][which] = [places[row][1] for row in rows]
        slots["layer"][which] = [places[row][2] for row in rows]
        slots["has"][which] |= _KIND_BITS[kind]
        slots[kind][which] = bits[rows]
        _write_chunk(conn, chunk, slots)


def remove_binary_vectors(conn: apsw.Connection, ids: Iterable[int], dimension: int) -> None:
    """Clear the slots of the passages *ids*. Inside a transaction."""
    by_chunk: dict[int, list[int]] = defaultdict(list)
    for ident in ids:
        by_chunk[ident // CHUNK].append(ident % CHUNK)
    for chunk, which in by_chunk.items():
        slots = _read_chunk(conn, chunk, dimension)
        slots[which] = np.zeros((), slots.dtype)
        _write_chunk(conn, chunk, slots)


def parse_chunk(blob: bytes, dimension: int) -> npt.NDArray[Any]:
    """Return a stored chunk as an array of ``file``, ``layer``, ``has``, ``vector`` and ``window``."""
    words = -(-dimension // 64)
    slot = [("file", "<u4"), ("layer", "u1"), ("has", "u1"), ("vector", "<u8", words), ("window", "<u8", words)]
    return np.frombuffer(blob, np.dtype(slot))


def load_binary_vectors(
    conn: apsw.Connection, path: Path, dimension: int, *, keep_stored: bool = False
) -> BinaryVectors:
    """Return the binary vectors of the index at *path*. Only chunks that changed since the last call are read.

    With *keep_stored*, the vectors themselves are read too, if they are few enough to be kept in memory.

    *conn* reads one state of that index. The result is never changed again, so several threads may use it.
    """
    versions = tuple(schema.rows(conn, "SELECT chunk, version FROM binary_vectors ORDER BY chunk"))
    with _CACHE_LOCK:
        cached = _CACHE.get(str(path))
    keeping = cached is not None and cached.vectors.stored is not None
    keep = (keep_stored or keeping) and len(versions) * CHUNK * dimension * len(_COLUMNS) <= _MOST_STORED_BYTES
    if cached is None or cached.versions != versions or keep != keeping:
        vectors = _assemble(conn, versions, cached, dimension)
        if keep:
            vectors = replace(vectors, stored=_kept_chunks(conn, versions, cached, dimension))
        cached = _CacheEntry(versions, vectors)
    with _CACHE_LOCK:
        _CACHE[str(path)] = cached
        _CACHE.move_to_end(str(path))
        while len(_CACHE) > _CACHED_HOMES:
            _CACHE.popitem(last=False)
    return cached.vectors


_CACHE_LOCK = threading.Lock()
_CACHE: OrderedDict[str, _CacheEntry] = OrderedDict()


def _assemble(
    conn: apsw.Connection, versions: Sequence[tuple[int, int]], cached: _CacheEntry | None, dimension: int
) -> BinaryVectors:
    """Concatenate the chunks. Those of *cached* are reused where the version is the same, and the others are read."""
    positions = {version: at for at, version in enumerate(cached.versions)} if cached else {}
    parts = []
    for version in versions:
        if cached is not None and version in positions:
            parts.append(_slice(cached.vectors, slice(positions[version] * CHUNK, (positions[version] + 1) * CHUNK)))
        else:
            blob = schema.value(conn, "SELECT slots FROM binary_vectors WHERE chunk = ?", (version[0],))
            parts.append(_unpacked(version[0], parse_chunk(blob, dimension)))
    parts = parts or [_unpacked(0, parse_chunk(b"", dimension))]
    return BinaryVectors(
        ids=np.concatenate([part.ids for part in parts]),
        files=np.concatenate([part.files for part in parts]),
        layers=np.concatenate([part.layers for part in parts]),
        has=np.concatenate([part.has for part in parts]),
        bits={kind: _side_by_side([part.bits[kind] for part in parts]) for kind in _KIND_BITS},
    )


def _kept_chunks(
    conn: apsw.Connection, versions: Sequence[tuple[int, int]], cached: _CacheEntry | None, dimension: int
) -> tuple[StoredVectors, ...]:
    """Return the stored vectors of each chunk, those of *cached* where the version is the same."""
    known = {}
    if cached is not None and cached.vectors.stored is not None:
        known = dict(zip(cached.versions, cached.vectors.stored, strict=True))
    return tuple(
        known[version] if version in known else _stored_chunk(conn, version[0], dimension) for version in versions
    )


def _stored_chunk(conn: apsw.Connection, chunk: int, dimension: int) -> StoredVectors:
    """Return the vectors of a chunk as an array (slots, kinds, dimension)."""
    vectors = np.zeros((CHUNK, len(_COLUMNS), dimension), np.int8)
    select = "SELECT passage % ?, vector, coalesce(window, zeroblob(?)) FROM embeddings WHERE passage BETWEEN ? AND ?"
    rows = schema.rows(conn, select, (CHUNK, dimension, chunk * CHUNK, (chunk + 1) * CHUNK - 1))
    if rows:
        both = b"".join(blob for _, *blobs in rows for blob in blobs)
        vectors[[slot for slot, *_ in rows]] = np.frombuffer(both, np.int8).reshape(len(rows), len(_COLUMNS), -1)
    return vectors


def _side_by_side(parts: Sequence[BinaryVector]) -> BinaryVector:
    """Return the slots of all *parts*, word by word in memory, as a search compares them."""
    whole = np.empty((len(parts[0]), sum(part.shape[1] for part in parts)), np.uint64)
    return np.concatenate(parts, axis=1, out=whole)


def _slice(vectors: BinaryVectors, which: slice) -> BinaryVectors:
    return BinaryVectors(
        ids=vectors.ids[which],
        files=vectors.files[which],
        layers=vectors.layers[which],
        has=vectors.has[which],
        bits={kind: bits[:, which] for kind, bits in vectors.bits.items()},
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
    """Return a writable copy of a chunk's slots, or empty slots when the index has no such chunk."""
    rows = schema.rows(conn, "SELECT slots FROM binary_vectors WHERE chunk = ?", (chunk,))
    if rows:
        return parse_chunk(rows[0][0], dimension).copy()
    return np.zeros(CHUNK, parse_chunk(b"", dimension).dtype)


def _write_chunk(conn: apsw.Connection, chunk: int, slots: npt.NDArray[Any]) -> None:
    """Store a chunk under a new random version, so that processes with a cache see the change."""
    if slots["has"].any():
        conn.execute(
            "INSERT OR REPLACE INTO binary_vectors(chunk, version, slots) VALUES(?, random(), ?)",
            (chunk, slots.tobytes()),
        )
    else:
        conn.execute("DELETE FROM binary_vectors WHERE chunk = ?", (chunk,))
