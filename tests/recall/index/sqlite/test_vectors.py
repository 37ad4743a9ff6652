"""Tests of stored vectors: eight bits keep the order of cosines, and binary vectors follow the stored ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.home import Home
from recall.index import vector_math
from recall.index.sqlite import schema, vectors
from recall.index.sync import SyncReport, sync
from recall.index.verify import verify
from recall.settings import RecallSettings

Update = Callable[[], SyncReport]


@given(st.integers(0, 2**32 - 1))
def test_eight_bits_move_a_cosine_by_less_than_a_hundredth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    two = rng.standard_normal((2, 384)).astype(np.float32)
    two /= np.linalg.norm(two, axis=1, keepdims=True)
    stored = vector_math.dequantize([row.tobytes() for row in vector_math.quantize(two)], 384)
    assert abs(float(two[0] @ two[1]) - float(stored[0] @ stored[1])) < 0.01
    assert np.allclose(np.linalg.norm(stored, axis=1), 1, atol=1e-5)


def test_a_zero_vector_stays_zero() -> None:
    assert not vector_math.quantize(np.zeros((1, 4), np.float32)).any()
    assert not vector_math.dequantize([bytes(4)], 4).any()


def test_cosines_are_those_of_the_stored_vectors(tmp_path: Path) -> None:
    """Compare a long and a short vector of one direction: both are equally near, because the measure is the cosine."""
    conn, _ = schema.open_writer(tmp_path / "index.db")
    schema.describe_vectors(conn, "model", "model:1", 4)
    rows = np.array([[127, 0, 0, 0], [1, 0, 0, 0], [0, 5, 0, 0]], np.int8)
    conn.executemany(
        "INSERT INTO embeddings(passage, vector, window) VALUES(?, ?, ?)",
        [(1, rows[0].tobytes(), None), (2, rows[1].tobytes(), rows[2].tobytes()), (3, rows[2].tobytes(), None)],
    )
    passages, windows = vectors.nearest_by_cosine(conn, np.array([1, 0, 0, 0], np.float32), [1, 2, 3, 4], 10)
    assert passages == {1: pytest.approx(1), 2: pytest.approx(1), 3: pytest.approx(0, abs=1e-6)}
    assert windows == {2: pytest.approx(0, abs=1e-6)}
    assert list(vectors.nearest_by_cosine(conn, np.array([0, 1, 0, 0], np.float32), [1, 2, 3, 4], 1)[0]) == [3]


@pytest.mark.parametrize("seed", range(5))
def test_distances_are_those_of_sqlite_vec(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stored = vector_math.quantize(rng.standard_normal((300, 384)).astype(np.float32))
    question = rng.standard_normal(384).astype(np.float32)
    rounded = vector_math.quantize(question[None, :])[0].tobytes()
    conn = schema.connect(":memory:")
    select = "SELECT vec_distance_cosine(vec_int8(?), vec_int8(?))"
    expected = [schema.value(conn, select, (row.tobytes(), rounded)) for row in stored]
    conn.close()
    assert vector_math._rounded_distances(stored, question).tolist() == expected


def test_a_vector_of_zeros_is_near_nothing() -> None:
    stored = np.array([[0, 0], [1, 0]], np.int8)
    assert list(vector_math.nearest_of(np.array([1, 2]), stored, np.array([1, 0], np.float32), 5)) == [2]
    assert vector_math.nearest_of(np.array([1, 2]), stored, np.zeros(2, np.float32), 5) == {}


def test_bits_are_taken_around_the_centroid_of_many_vectors(
    home: Home, say: Callable[..., Path], settings: RecallSettings, embedder: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_CENTRED_AT", (4, 8))
    say("s1", *(f"turn {number} about the falcon" for number in range(3)))
    sync(home, settings, embedder)  # type: ignore[arg-type]
    assert "middle" not in _meta(home)
    say("s2", *(f"turn {number} about the otter" for number in range(3)))
    sync(home, settings, embedder)  # type: ignore[arg-type]
    first = _meta(home)
    assert first["centred"] == "4"
    assert verify(home, settings).ok
    say("s3", *(f"turn {number} about the badger" for number in range(3)))
    sync(home, settings, embedder)  # type: ignore[arg-type]
    assert _meta(home)["centred"] == "8"
    assert _meta(home)["middle"] != first["middle"]
    assert verify(home, settings).ok


def _meta(home: Home) -> dict[str, str]:
    conn = schema.open_reader(home.index)
    assert isinstance(conn, apsw.Connection)
    try:
        return schema.read_meta(conn)
    finally:
        conn.close()
