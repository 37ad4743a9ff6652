"""Tests of searching binary vectors, and of the cache that follows the index."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
import pytest

from recall.index.sqlite import binary_quantization, schema
from recall.index.sqlite.binary_quantization import (
    CHUNK,
    BinaryVectors,
    binarize,
    load_binary_vectors,
    recorded_centroid,
    remove_binary_vectors,
    store_binary_vectors,
)

DIMENSION = 100


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


@pytest.fixture
def conn(path: Path) -> apsw.Connection:
    conn, _ = schema.open_writer(path)
    schema.describe_vectors(conn, "model", "model:1", DIMENSION)
    return conn


def vectors(number: int, seed: int = 0) -> np.ndarray:
    found = np.random.default_rng(seed).standard_normal((number, DIMENSION)).astype(np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def nearest(stored: BinaryVectors, vector: np.ndarray, number: int, **scope: list[int]) -> set[int]:
    (query,) = binarize(vector[None, :], np.zeros(DIMENSION, np.float32))
    eligible = stored.eligible(scope.get("layers"), scope.get("files"))
    return {int(stored.ids[slot]) for slot in stored.nearest("vector", query, number, eligible)}


def test_a_bit_says_whether_a_coordinate_is_above_the_centroid() -> None:
    centroid = np.array([0.5, 0.5, -0.5], np.float32)
    first, second = binarize(np.array([[0.6, 0.4, 0.0], [0.4, 0.6, -0.6]], np.float32), centroid)
    assert int(np.bitwise_count(first ^ second).sum()) == 3


def test_the_nearest_have_the_fewest_differing_bits(conn: apsw.Connection, path: Path) -> None:
    many = vectors(3 * CHUNK)
    store_binary_vectors(conn, "vector", [(row + 1, 1, 1) for row in range(len(many))], many)
    stored = load_binary_vectors(conn, path, DIMENSION)
    question = vectors(1, seed=1)[0]
    differing = ((many > 0) != (question > 0)).sum(axis=1)
    found = nearest(stored, question, 50)
    assert len(found) == 50
    assert max(differing[ident - 1] for ident in found) <= sorted(differing)[49]


def test_a_disturbed_copy_finds_its_original_among_thousands(conn: apsw.Connection, path: Path) -> None:
    many = vectors(5000)
    store_binary_vectors(conn, "vector", [(row + 1, 1, 1) for row in range(len(many))], many)
    stored = load_binary_vectors(conn, path, DIMENSION)
    for original in range(0, 5000, 500):
        question = many[original] + 0.7 * vectors(1, seed=original + 1)[0]
        assert original + 1 in nearest(stored, question, 100)


def test_fewer_vectors_than_requested_are_all_found(conn: apsw.Connection, path: Path) -> None:
    store_binary_vectors(conn, "vector", [(7, 1, 1), (5000, 2, 1)], vectors(2))
    assert nearest(load_binary_vectors(conn, path, DIMENSION), vectors(1)[0], 10) == {7, 5000}


def test_layers_and_files_restrict_the_search(conn: apsw.Connection, path: Path) -> None:
    store_binary_vectors(conn, "vector", [(1, 10, 0), (2, 10, 1), (3, 20, 1)], vectors(3))
    stored = load_binary_vectors(conn, path, DIMENSION)
    question = vectors(1)[0]
    assert nearest(stored, question, 5, layers=[1]) == {2, 3}
    assert nearest(stored, question, 5, files=[10]) == {1, 2}
    assert nearest(stored, question, 5, layers=[1], files=[10]) == {2}
    assert nearest(stored, question, 5, files=[]) == set()


def test_windows_and_vectors_are_searched_apart(conn: apsw.Connection, path: Path) -> None:
    store_binary_vectors(conn, "vector", [(1, 1, 1), (2, 1, 1)], vectors(2))
    store_binary_vectors(conn, "window", [(2, 1, 1)], vectors(1, seed=3))
    stored = load_binary_vectors(conn, path, DIMENSION)
    (query,) = binarize(vectors(1), recorded_centroid(schema.read_meta(conn)))
    assert [int(stored.ids[slot]) for slot in stored.nearest("window", query, 5)] == [2]
    assert len(stored.nearest("vector", query, 5)) == 2


def test_a_removed_vector_is_not_found_and_an_empty_chunk_is_deleted(conn: apsw.Connection, path: Path) -> None:
    store_binary_vectors(conn, "vector", [(1, 1, 1), (2, 1, 1), (CHUNK + 1, 1, 1)], vectors(3))
    remove_binary_vectors(conn, [1, CHUNK + 1], DIMENSION)
    assert nearest(load_binary_vectors(conn, path, DIMENSION), vectors(1)[0], 5) == {2}
    assert schema.value(conn, "SELECT count(*) FROM binary_vectors") == 1


def test_the_cache_sees_every_change(conn: apsw.Connection, path: Path) -> None:
    """Add a chunk before a cached one, and change one chunk while another stays."""
    question = vectors(1)[0]
    steps: list[tuple[list[int], set[int]]] = [
        ([2 * CHUNK], {2 * CHUNK}),
        ([3, 4], {3, 4, 2 * CHUNK}),
        ([2 * CHUNK + 1], {3, 4, 2 * CHUNK, 2 * CHUNK + 1}),
    ]
    for added, expected in steps:
        store_binary_vectors(conn, "vector", [(ident, 1, 1) for ident in added], vectors(len(added)))
        assert nearest(load_binary_vectors(conn, path, DIMENSION), question, 9) == expected
    remove_binary_vectors(conn, [4, 2 * CHUNK], DIMENSION)
    assert nearest(load_binary_vectors(conn, path, DIMENSION), question, 9) == {3, 2 * CHUNK + 1}


def test_an_unchanged_index_is_not_read_again(conn: apsw.Connection, path: Path) -> None:
    store_binary_vectors(conn, "vector", [(1, 1, 1)], vectors(1))
    assert load_binary_vectors(conn, path, DIMENSION) is load_binary_vectors(conn, path, DIMENSION)


def test_an_index_without_vectors_finds_nothing(conn: apsw.Connection, path: Path) -> None:
    assert nearest(load_binary_vectors(conn, path, DIMENSION), vectors(1)[0], 5) == set()


def test_stored_vectors_in_memory_follow_the_index(
    conn: apsw.Connection, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def insert(idents: list[int], number: int, window: int | None) -> None:
        blobs = [bytes([number]) * DIMENSION, None if window is None else bytes([window]) * DIMENSION]
        conn.executemany("INSERT OR REPLACE INTO embeddings VALUES(?, ?, ?)", [(ident, *blobs) for ident in idents])
        store_binary_vectors(conn, "vector", [(ident, 1, 1) for ident in idents], vectors(len(idents)))
        if window is not None:
            store_binary_vectors(conn, "window", [(ident, 1, 1) for ident in idents], vectors(len(idents)))

    insert([3, 5, CHUNK + 1], 7, 9)
    insert([CHUNK + 2], 8, None)
    stored = load_binary_vectors(conn, path, DIMENSION, keep_stored=True)
    places = np.flatnonzero(stored.has)
    ids, found = stored.vectors_at(places)["vector"]
    assert (ids.tolist(), found[:, 0].tolist()) == ([3, 5, CHUNK + 1, CHUNK + 2], [7, 7, 7, 8])
    ids, found = stored.vectors_at(places)["window"]
    assert (ids.tolist(), found[:, 0].tolist()) == ([3, 5, CHUNK + 1], [9, 9, 9])
    insert([5], 1, 2)
    changed = load_binary_vectors(conn, path, DIMENSION)
    assert stored.stored is not None
    assert changed.stored is not None
    assert changed.stored[1] is stored.stored[1]
    assert changed.vectors_at(np.array([5]))["window"][1][0].tolist() == [2] * DIMENSION
    monkeypatch.setattr(binary_quantization, "_MOST_STORED_BYTES", 1)
    assert load_binary_vectors(conn, path, DIMENSION, keep_stored=True).stored is None


def test_no_place_has_no_vectors() -> None:
    vectors = BinaryVectors(
        ids=np.array([1], np.int64), files=np.array([1], np.uint32), layers=np.array([1], np.uint8),
        has=np.array([3], np.uint8), bits={}, stored=(np.zeros((1024, 2, 8), np.int8),),
    )  # fmt: skip
    found = vectors.vectors_at(np.array([], np.int64))
    assert [len(ids) for ids, _ in found.values()] == [0, 0]
