"""Tests of the comparison of ways to find candidate vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.measure.candidate_search import HEAD, WAYS, SearchMeasurement, compare_ways, table_row
from recall.index.sqlite import schema
from recall.index.sqlite.vectors import store_vectors

PASSAGES = 200
DIMENSION = 64


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Return an index with random vectors, and no texts."""
    path = tmp_path / "index.db"
    conn, _ = schema.open_writer(path)
    vectors = np.random.default_rng(0).standard_normal((PASSAGES, DIMENSION)).astype(np.float32)
    with schema.transaction(conn):
        schema.describe_vectors(conn, "model", "fingerprint", DIMENSION)
        conn.execute("INSERT INTO files VALUES(1, 'Knowledge/a.md', 'knowledge', '', x'', 0, 0, '', 0, 0)")
        conn.executemany(
            "INSERT INTO passages(id, file, layer, ordinal, part, source, session, message, role, name, ts, heading,"
            " text, meaning, content_digest, meaning_digest) VALUES(?, 1, 0, ?, 0, '', '', '', '', '', '', '', '', '',"
            " x'', x'')",
            ((ident, ident) for ident in range(PASSAGES)),
        )
        store_vectors(conn, [(ident, 0) for ident in range(PASSAGES)], vectors, 2)
    conn.close()
    return path


def test_every_way_finds_the_ten_nearest_when_it_compares_all(index: Path, tmp_path: Path) -> None:
    questions = list(np.random.default_rng(1).standard_normal((6, DIMENSION)).astype(np.float32))
    measured = compare_ways(index, questions, tmp_path, compared=PASSAGES, limit=50, processes=1)
    assert [row.way for row in measured] == [way.name for way in WAYS]
    assert [row.recall for row in measured] == [1.0] * len(WAYS)


def test_ways_with_the_same_bits_find_the_same_share(index: Path, tmp_path: Path) -> None:
    questions = list(np.random.default_rng(1).standard_normal((30, DIMENSION)).astype(np.float32))
    measured = compare_ways(index, questions, tmp_path, compared=20, limit=10, ways=WAYS[:3], processes=1)
    shares = [row.recall for row in measured]
    assert max(shares) - min(shares) < 0.1  # candidates at equal distance are cut off in another order
    assert 0.3 < min(shares) < 1.0


def test_a_row_has_a_cell_for_each_heading() -> None:
    row = SearchMeasurement(
        way="w", number=600, candidates_ms=(1.0, 2.0), with_comparison_ms=(3.0, 4.0), recall=0.99,
        first_ms=46.4, rows_per_s=48_805.0, size_mb=11.2,
    )  # fmt: skip
    assert len(table_row(row)) == len(HEAD)
    assert table_row(row)[:5] == ["w", "600", "1.0 / 2.0", "3.0 / 4.0", "0.990"]
    assert table_row(row)[6] == "48 805"
