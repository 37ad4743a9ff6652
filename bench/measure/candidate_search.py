"""Ways to find the vectors that are worth an exact comparison: our one-bit codes beside tables of sqlite-vec.

Each way stores the vectors of one index in a database of its own. All ways answer the same questions in one process.
The exact comparison that follows is the same for all: ``nearest_by_cosine`` on the index's rows.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import apsw
import numpy as np

from recall.embedding.embedder import Vector
from recall.index.sqlite import schema
from recall.index.sqlite.binary_quantization import (
    binarize,
    load_binary_vectors,
    recorded_centroid,
    store_binary_vectors,
)
from recall.index.sqlite.vectors import nearest_by_cosine
from recall.index.vector_math import dequantize

__all__ = ["HEAD", "WAYS", "SearchMeasurement", "compare_ways", "table_row"]

#: Rows written in one transaction, as in a sync.
_BATCH = 128
#: The largest ``k`` that vec0 accepts.
_LARGEST_K = 4_096
#: Two scores that differ by less belong to equal vectors.
_EQUAL = 1e-6
_WARM_UP = 3
_SELECT_STORED = """
SELECT e.passage, p.file, p.layer, e.vector, coalesce(e.window, e.vector)
FROM embeddings e JOIN passages p ON p.id = e.passage ORDER BY e.passage
"""


@dataclass(frozen=True, slots=True)
class QuestionBatch:
    """Passages ``(id, file, layer)`` with two unit vectors each, as arrays (passages, dimension)."""

    passages: list[tuple[int, int, int]]
    vectors: Vector
    windows: Vector


class OurCodes:
    """The table ``binary_vectors`` of an index, which numpy compares. A process reads it once."""

    name = "our one-bit codes, numpy"
    approximate = True

    def create(self, conn: apsw.Connection, recorded: dict[str, str]) -> None:
        """Make the tables."""
        schema.migrate(conn)
        schema.set_meta(conn, recorded)

    def insert(self, conn: apsw.Connection, batch: QuestionBatch, around: Vector) -> None:  # noqa: ARG002 - as the other ways
        """Add a batch."""
        store_binary_vectors(conn, "vector", batch.passages, batch.vectors)
        store_binary_vectors(conn, "window", batch.passages, batch.windows)

    def candidates(self, conn: apsw.Connection, question: Vector, around: Vector, number: int) -> list[int]:
        """Return the ids of the *number* passages that are nearest to *question*."""
        codes = load_binary_vectors(conn, Path(conn.filename), len(question))
        (code,) = binarize(question[None, :], around)
        found: list[int] = codes.ids[codes.nearest("vector", code, number)].tolist()
        return found


class Vec0Bits:
    """A ``vec0`` table with a bit column for each kind of vector, compared by Hamming distance."""

    name = "vec0, bit columns"
    approximate = True
    _create = """CREATE VIRTUAL TABLE bits USING vec0(passage INTEGER PRIMARY KEY, file INTEGER, layer INTEGER,
    vector bit[{dimension}], window bit[{dimension}])"""
    _insert = "INSERT INTO bits(passage, file, layer, vector, window) VALUES(?, ?, ?, vec_bit(?), vec_bit(?))"
    _select = "SELECT passage FROM bits WHERE vector MATCH vec_bit(?) AND k = ?"

    def create(self, conn: apsw.Connection, recorded: dict[str, str]) -> None:
        """Make the tables."""
        conn.execute(self._create.format(dimension=recorded["dimension"]))

    def insert(self, conn: apsw.Connection, batch: QuestionBatch, around: Vector) -> None:
        """Add a batch. *around* is the point around which bits are taken."""
        both = zip(_bits(batch.vectors, around), _bits(batch.windows, around), strict=True)
        conn.executemany(self._insert, ((*row, *blobs) for row, blobs in zip(batch.passages, both, strict=True)))

    def candidates(self, conn: apsw.Connection, question: Vector, around: Vector, number: int) -> list[int]:
        """Return the ids of the *number* passages that are nearest to *question*."""
        (bits,) = _bits(question[None, :], around)
        return [row[0] for row in conn.execute(self._select, (bits, number))]


class PlainBits(Vec0Bits):
    """An ordinary table with the same bits, sorted by ``vec_distance_hamming``."""

    name = "plain rows, `vec_distance_hamming`"
    _create = "CREATE TABLE bits(passage INTEGER PRIMARY KEY, file INTEGER, layer INTEGER, vector BLOB, window BLOB)"
    _insert = "INSERT INTO bits(passage, file, layer, vector, window) VALUES(?, ?, ?, ?, ?)"
    _select = "SELECT passage FROM bits ORDER BY vec_distance_hamming(vec_bit(vector), vec_bit(?)) LIMIT ?"


class Vec0Floats:
    """A ``vec0`` table with whole vectors. Every one is compared, so nothing is left to compare afterwards."""

    name = "vec0, float columns, exact"
    approximate = False

    def create(self, conn: apsw.Connection, recorded: dict[str, str]) -> None:
        """Make the tables."""
        column = f"float[{recorded['dimension']}] distance_metric=cosine"
        columns = f"passage INTEGER PRIMARY KEY, file INTEGER, layer INTEGER, vector {column}, window {column}"
        conn.execute(f"CREATE VIRTUAL TABLE whole USING vec0({columns})")

    def insert(self, conn: apsw.Connection, batch: QuestionBatch, around: Vector) -> None:  # noqa: ARG002 - as the other ways
        """Add a batch."""
        both = ((vector.tobytes(), near.tobytes()) for vector, near in zip(batch.vectors, batch.windows, strict=True))
        rows = ((*row, *blobs) for row, blobs in zip(batch.passages, both, strict=True))
        conn.executemany("INSERT INTO whole(passage, file, layer, vector, window) VALUES(?, ?, ?, ?, ?)", rows)

    def candidates(self, conn: apsw.Connection, question: Vector, around: Vector, number: int) -> list[int]:  # noqa: ARG002
        """Return the ids of the *number* passages that are nearest to *question*, nearest first."""
        select = "SELECT passage FROM whole WHERE vector MATCH ? AND k = ? ORDER BY distance"
        return [row[0] for row in conn.execute(select, (question.tobytes(), number))]


Way = OurCodes | Vec0Bits | Vec0Floats
WAYS: tuple[Way, ...] = (OurCodes(), Vec0Bits(), PlainBits(), Vec0Floats())


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchMeasurement:
    """Figures of one way. Times are in milliseconds, as p50 and p95."""

    way: str
    number: int
    candidates_ms: tuple[float, float]
    with_comparison_ms: tuple[float, float]
    recall: float
    first_ms: float
    rows_per_s: float
    size_mb: float


HEAD = (
    "way", "k", "candidates", "with exact comparison", "recall of the ten", "first question of a process",
    "rows stored a second", "MB",
)  # fmt: skip


def table_row(measured: SearchMeasurement) -> list[str]:
    """Return the cells of *measured* under `HEAD`."""
    times = [f"{p50:.1f} / {p95:.1f}" for p50, p95 in (measured.candidates_ms, measured.with_comparison_ms)]
    figures = [f"{measured.recall:.3f}", f"{measured.first_ms:.0f}", f"{measured.rows_per_s:,.0f}".replace(",", " ")]
    return [measured.way, str(measured.number), *times, *figures, f"{measured.size_mb:.0f}"]


def compare_ways(
    index: Path,
    questions: Sequence[Vector],
    folder: Path,
    *,
    compared: int,
    limit: int,
    ways: Sequence[Way] = WAYS,
    processes: int = 5,
) -> list[SearchMeasurement]:
    """Store the vectors of the index at *index* in every way, and answer *questions* in every way.

    Args:
        folder: where each way's database is written.
        compared: candidates that approximate ways hand over to the exact comparison.
        limit: results of the exact comparison, and of an exact way.
        processes: new processes whose first answer is timed, at least 1.
    """
    conn = _opened(index)
    recorded = {key: value for key, value in schema.read_meta(conn).items() if key in {"dimension", "middle"}}
    around = recorded_centroid(recorded)
    exact = _exact(conn, questions, int(recorded["dimension"]))
    paths = {way.name: folder / f"candidates-{number}.db" for number, way in enumerate(ways)}
    stored = {way.name: _store(way, paths[way.name], conn, recorded) for way in ways}
    open_ways = {way.name: schema.connect(path) for way, path in zip(ways, paths.values(), strict=True)}
    candidates: dict[str, list[float]] = {way.name: [] for way in ways}
    compared_too: dict[str, list[float]] = {way.name: [] for way in ways}
    shares: dict[str, list[float]] = {way.name: [] for way in ways}
    for turn, (question, best) in enumerate(zip(questions, exact, strict=True)):
        for way in ways:
            start = time.perf_counter()
            ids = way.candidates(open_ways[way.name], question, around, _number(way, compared, limit))
            between = time.perf_counter()
            found = list(nearest_by_cosine(conn, question, ids, limit)[0]) if way.approximate else ids
            end = time.perf_counter()
            if turn >= _WARM_UP:
                candidates[way.name].append((between - start) * 1000)
                compared_too[way.name].append((end - start) * 1000)
                shares[way.name].append(len(best & set(found[:10])) / 10)
    numbers = {way.name: _number(way, compared, limit) for way in ways}
    return [
        SearchMeasurement(
            way=way.name,
            number=numbers[way.name],
            candidates_ms=_quantiles(candidates[way.name]),
            with_comparison_ms=_quantiles(compared_too[way.name]),
            recall=statistics.mean(shares[way.name]),
            first_ms=_first_answer(
                way, paths[way.name], questions[0], around, _number(way, compared, limit), processes
            ),
            rows_per_s=stored[way.name][0],
            size_mb=stored[way.name][1],
        )
        for way in ways
    ]


def _number(way: Way, compared: int, limit: int) -> int:
    return min(compared, _LARGEST_K) if way.approximate else limit


def _opened(index: Path) -> apsw.Connection:
    conn = schema.open_reader(index)
    if conn is None:
        raise FileNotFoundError(index)
    return conn


def _store(way: Way, path: Path, source: apsw.Connection, recorded: dict[str, str]) -> tuple[float, float]:
    """Write all vectors of *source* to a new database. Return rows a second and the size in MB."""
    conn = schema.connect(path)
    conn.execute("PRAGMA journal_mode = WAL")
    way.create(conn, recorded)
    empty = path.stat().st_size
    seconds, rows, around = 0.0, 0, recorded_centroid(recorded)
    for batch in _batches(source, int(recorded["dimension"])):
        start = time.perf_counter()
        with schema.transaction(conn):
            way.insert(conn, batch, around)
        seconds += time.perf_counter() - start
        rows += len(batch.passages)
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    conn.close()
    return rows / seconds, (path.stat().st_size - empty) / 1e6


def _batches(conn: apsw.Connection, dimension: int) -> Iterator[QuestionBatch]:
    cursor = conn.execute(_SELECT_STORED)
    while rows := list(islice(cursor, _BATCH)):
        vectors, windows = (dequantize([row[column] for row in rows], dimension) for column in (3, 4))
        yield QuestionBatch([row[:3] for row in rows], vectors, windows)


def _exact(conn: apsw.Connection, questions: Sequence[Vector], dimension: int) -> list[set[int]]:
    """Return for each question the ten nearest of all passages, and those that are as near as the tenth."""
    ids, scores = [], []
    for batch in _batches(conn, dimension):
        ids += [row[0] for row in batch.passages]
        scores.append(np.array(questions) @ batch.vectors.T)
    of_question = np.concatenate(scores, axis=1)
    tenth = np.partition(of_question, -10, axis=1)[:, -10]
    return [
        {ids[place] for place in np.flatnonzero(line >= least - _EQUAL)}
        for line, least in zip(of_question, tenth, strict=True)
    ]


def _first_answer(way: Way, path: Path, question: Vector, around: Vector, number: int, processes: int) -> float:
    """Return the median time in which a new process opens the database and finds candidates, without imports."""
    times = []
    for _ in range(processes):
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            times.append(pool.submit(_answer_once, way, path, question, around, number).result())
    return statistics.median(times)


def _answer_once(way: Way, path: Path, question: Vector, around: Vector, number: int) -> float:
    start = time.perf_counter()
    way.candidates(schema.connect(path), question, around, number)
    return (time.perf_counter() - start) * 1000


def _bits(vectors: Vector, around: Vector) -> list[bytes]:
    return [row.tobytes() for row in np.packbits(vectors > around, axis=1)]


def _quantiles(values: Sequence[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return cuts[9], cuts[18]
