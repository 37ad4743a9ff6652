"""Stored vectors of passages, and of turns together with their neighbours.

A coordinate is stored in eight bits: a cosine changes by less than a thousandth, and a page of the index holds four
times as many. A search finds candidates by binary vectors (``.binary_quantization``), and compares them by cosine, all
at once. Functions that write run inside the caller's transaction.
"""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Sequence

import apsw
import numpy as np

from ..passage import LAYERS
from ..vector_math import Vectors, dequantize, nearest_of, quantize, runs, window_vector
from . import schema
from .binary_quantization import CHUNK, Kind, remove_binary_vectors, store_binary_vectors

__all__ = [
    "mark_windows_stale",
    "nearest_by_cosine",
    "recenter",
    "refresh_windows",
    "remove_vectors",
    "store_quantized",
    "store_vectors",
]

_SESSIONS = LAYERS.index("sessions")
#: Turns whose windows are computed in one transaction. It bounds memory and the time of the write lock.
_WINDOW_BATCH = 1000
#: Numbers of vectors at which their centroid is computed again. Below the first of them it is zero.
_CENTRED_AT = (4_096, 65_536)
#: Vectors whose mean is the centroid. More would hardly move it.
_SAMPLE = 4_096


def store_vectors(conn: apsw.Connection, rows: Sequence[tuple[int, int]], vectors: Vectors, reach: int) -> None:
    """Store the *vectors* of the passages ``(id, layer)``, row by row, and mark the windows around them as stale."""
    blobs = [row.tobytes() for row in quantize(vectors)]
    store_quantized(conn, rows, blobs, reach)


def store_quantized(conn: apsw.Connection, rows: Sequence[tuple[int, int]], blobs: Sequence[bytes], reach: int) -> None:
    """Store vectors that are quantized already. See :func:`store_vectors`."""
    if not rows:
        return
    conn.executemany(
        "INSERT INTO embeddings(passage, vector) VALUES(?, ?)",
        ((ident, blob) for (ident, _), blob in zip(rows, blobs, strict=True)),
    )
    conn.executemany("UPDATE passages SET embedded = 1 WHERE id = ?", ((ident,) for ident, _ in rows))
    ids = json.dumps([ident for ident, _ in rows])
    select = "SELECT id, file, ordinal FROM passages WHERE id IN (SELECT value FROM json_each(?))"
    places = {ident: (file, ordinal) for ident, file, ordinal in schema.rows(conn, select, (ids,))}
    passages = [(ident, places[ident][0], layer) for ident, layer in rows]
    store_binary_vectors(conn, "vector", passages, dequantize(blobs, len(blobs[0])))
    turns: dict[int, list[int]] = defaultdict(list)
    for ident, layer in rows:
        if layer == _SESSIONS:
            turns[places[ident][0]].append(places[ident][1])
    for file, ordinals in turns.items():
        mark_windows_stale(conn, file, ordinals, reach)


def remove_vectors(conn: apsw.Connection, ids: Sequence[int]) -> None:
    """Remove the vectors, windows and binary vectors of the passages *ids*."""
    recorded = schema.read_meta(conn)
    if ids and "dimension" in recorded:
        conn.executemany("DELETE FROM embeddings WHERE passage = ?", ((ident,) for ident in ids))
        remove_binary_vectors(conn, ids, int(recorded["dimension"]))


def nearest_by_cosine(
    conn: apsw.Connection, vector: Vectors, ids: Sequence[int], limit: int
) -> tuple[dict[int, float], dict[int, float]]:
    """Return the *limit* of *ids* with the largest cosine to *vector*, best first, by vectors and by windows.

    sqlite-vec compares all of them with the query rounded to eight bits. Among a million passages this rounding blurs
    the order of the best, so the best are compared once more with the exact query. A process whose index is in memory
    calls :func:`nearest_of` instead, which gives the same answer.
    """
    rounded = quantize(vector[None, :])[0].tobytes()
    rows = schema.rows(conn, _SELECT_COSINES, (rounded, rounded, json.dumps(ids)))
    best = [
        heapq.nlargest(limit, ((row[column], row[0]) for row in rows if row[column] is not None)) for column in (1, 2)
    ]
    return _compare_exactly(conn, "vector", vector, best[0]), _compare_exactly(conn, "window", vector, best[1])


_SELECT_COSINES = """
SELECT passage, 1.0 - vec_distance_cosine(vec_int8(vector), vec_int8(?)),
       CASE WHEN window IS NOT NULL THEN 1.0 - vec_distance_cosine(vec_int8(window), vec_int8(?)) END
FROM embeddings WHERE passage IN (SELECT value FROM json_each(?))
"""


def _compare_exactly(
    conn: apsw.Connection, kind: Kind, vector: Vectors, best: list[tuple[float, int]]
) -> dict[int, float]:
    if not best:
        return {}
    select = f"SELECT passage, {kind} FROM embeddings WHERE passage IN (SELECT value FROM json_each(?))"  # noqa: S608
    rows = schema.rows(conn, select, (json.dumps([ident for _, ident in best]),))
    stored = np.frombuffer(b"".join(blob for _, blob in rows), np.int8).reshape(len(rows), -1)
    return nearest_of(np.array([ident for ident, _ in rows], np.int64), stored, vector, len(rows))


def refresh_windows(conn: apsw.Connection, reach: int, limit: int = _WINDOW_BATCH) -> int:
    """Compute at most *limit* of the stale windows. Return the number of computed windows."""
    due: dict[int, list[int]] = defaultdict(list)
    waiting = "SELECT file, ordinal FROM passages WHERE windowed = 0 AND embedded = 1 ORDER BY file, ordinal LIMIT ?"
    for file, ordinal in schema.rows(conn, waiting, (limit,)):
        due[file].append(ordinal)
    places, made = [], []
    for file, ordinals in due.items():
        vectors = _file_vectors(conn, file, min(ordinals) - reach, max(ordinals) + reach)
        for ordinal in ordinals:
            near = {at - ordinal: vectors[at][1] for at in range(ordinal - reach, ordinal + reach + 1) if at in vectors}
            places.append((vectors[ordinal][0], file, _SESSIONS))
            made.append(window_vector(near))
    if made:
        stored = quantize(np.array(made))
        rows = ((blob.tobytes(), ident) for (ident, _, _), blob in zip(places, stored, strict=True))
        conn.executemany("UPDATE embeddings SET window = ? WHERE passage = ?", rows)
        store_binary_vectors(conn, "window", places, dequantize([blob.tobytes() for blob in stored], stored.shape[1]))
        conn.executemany("UPDATE passages SET windowed = 1 WHERE id = ?", ((ident,) for ident, _, _ in places))
    return len(made)


def mark_windows_stale(conn: apsw.Connection, file: int, ordinals: Sequence[int] | None, reach: int) -> None:
    """Mark the windows around *ordinals* as stale. ``None`` means all of the file."""
    if ordinals is None:
        conn.execute("UPDATE passages SET windowed = 0 WHERE file = ?", (file,))
        return
    conn.executemany(
        "UPDATE passages SET windowed = 0 WHERE file = ? AND ordinal BETWEEN ? AND ?",
        ((file, first - reach, last + reach) for first, last in runs(ordinals)),
    )


def recenter(conn: apsw.Connection) -> bool:
    """Compute all binary vectors around the current centroid, if the vectors have become many. Return whether it did.

    Vectors of one model lie in a narrow cone. Around zero most bits are the same for all of them, and useless.
    """
    recorded = schema.read_meta(conn)
    embedded = schema.value(conn, "SELECT count(*) FROM passages WHERE embedded = 1")
    many = max((number for number in _CENTRED_AT if number <= embedded), default=0)
    if many <= int(recorded.get("centred", 0)):
        return False
    dimension = int(recorded["dimension"])
    sample = "SELECT vector FROM embeddings WHERE passage % ? = 0 ORDER BY passage LIMIT ?"
    blobs = [row[0] for row in schema.rows(conn, sample, (max(1, embedded // _SAMPLE), _SAMPLE))]
    around = dequantize(blobs, dimension).mean(axis=0)
    schema.set_meta(conn, {"centred": many, "middle": around.tobytes().hex()})
    for (chunk,) in schema.rows(conn, "SELECT chunk FROM binary_vectors ORDER BY chunk"):
        kinds: tuple[Kind, ...] = ("vector", "window")
        for kind in kinds:
            select = f"""SELECT e.passage, p.file, p.layer, e.{kind}
            FROM embeddings e JOIN passages p ON p.id = e.passage
            WHERE e.passage BETWEEN ? AND ? AND e.{kind} IS NOT NULL"""  # noqa: S608 - constants
            rows = schema.rows(conn, select, (chunk * CHUNK, (chunk + 1) * CHUNK - 1))
            if rows:
                vectors = dequantize([row[3] for row in rows], dimension)
                store_binary_vectors(conn, kind, [row[:3] for row in rows], vectors)
    return True


def _file_vectors(conn: apsw.Connection, file: int, first: int, last: int) -> dict[int, tuple[int, Vectors]]:
    """Return ``ordinal -> (id, vector)`` of the embedded passages of a file between two ordinals."""
    rows = schema.rows(
        conn,
        "SELECT p.ordinal, p.id, e.vector FROM passages p JOIN embeddings e ON e.passage = p.id "
        "WHERE p.file = ? AND p.ordinal BETWEEN ? AND ?",
        (file, first, last),
    )
    if not rows:
        return {}
    vectors = dequantize([row[2] for row in rows], len(rows[0][2]))
    return {ordinal: (ident, vector) for (ordinal, ident, _), vector in zip(rows, vectors, strict=True)}
