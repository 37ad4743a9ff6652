"""Codes find what comparing every vector would find, and what is kept of them is never older than the index."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
import pytest

from recall.index import schema
from recall.index.binary_quantization import (
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


def nearest(codes: BinaryVectors, vector: np.ndarray, number: int, **scope: list[int]) -> set[int]:
    (code,) = binarize(vector[None, :], np.zeros(DIMENSION, np.float32))
    among = codes.among(scope.get("layers"), scope.get("files"))
    return {int(codes.ids[place]) for place in codes.nearest("vector", code, number, among)}


def test_a_bit_says_whether_a_coordinate_is_above_the_middle() -> None:
    around = np.array([0.5, 0.5, -0.5], np.float32)
    one, other = binarize(np.array([[0.6, 0.4, 0.0], [0.4, 0.6, -0.6]], np.float32), around)
    assert int(np.bitwise_count(one ^ other).sum()) == 3


def test_the_nearest_by_code_are_those_with_the_fewest_differing_bits(conn: apsw.Connection, path: Path) -> None:
    many = vectors(3 * CHUNK)
    store_binary_vectors(conn, "vector", [(row + 1, 1, 1) for row in range(len(many))], many)
    codes = load_binary_vectors(conn, path, DIMENSION)
    question = vectors(1, seed=1)[0]
    differing = ((many > 0) != (question > 0)).sum(axis=1)
    found = nearest(codes, question, 50)
    assert len(found) == 50
    assert max(differing[ident - 1] for ident in found) <= sorted(differing)[49]


def test_a_disturbed_copy_finds_its_original_among_thousands(conn: apsw.Connection, path: Path) -> None:
    many = vectors(5000)
    store_binary_vectors(conn, "vector", [(row + 1, 1, 1) for row in range(len(many))], many)
    codes = load_binary_vectors(conn, path, DIMENSION)
    for original in range(0, 5000, 500):
        question = many[original] + 0.7 * vectors(1, seed=original + 1)[0]
        assert original + 1 in nearest(codes, question, 100)


def test_fewer_than_asked_for_are_all_found(conn: apsw.Connection, path: Path) -> None:
    store_binary_vectors(conn, "vector", [(7, 1, 1), (5000, 2, 1)], vectors(2))
    assert nearest(load_binary_vectors(conn, path, DIMENSION), vectors(1)[0], 10) == {7, 5000}


def test_layers_and_files_narrow_what_is_found(conn: apsw.Connection, path: Path) -> None:
    store_binary_vectors(conn, "vector", [(1, 10, 0), (2, 10, 1), (3, 20, 1)], vectors(3))
    codes = load_binary_vectors(conn, path, DIMENSION)
    question = vectors(1)[0]
    assert nearest(codes, question, 5, layers=[1]) == {2, 3}
    assert nearest(codes, question, 5, files=[10]) == {1, 2}
    assert nearest(codes, question, 5, layers=[1], files=[10]) == {2}
    assert nearest(codes, question, 5, files=[]) == set()


def test_a_window_is_not_taken_for_a_vector(conn: apsw.Connection, path: Path) -> None:
    store_binary_vectors(conn, "vector", [(1, 1, 1), (2, 1, 1)], vectors(2))
    store_binary_vectors(conn, "window", [(2, 1, 1)], vectors(1, seed=3))
    codes = load_binary_vectors(conn, path, DIMENSION)
    (code,) = binarize(vectors(1), recorded_centroid(schema.read_meta(conn)))
    assert [int(codes.ids[place]) for place in codes.nearest("window", code, 5)] == [2]
    assert len(codes.nearest("vector", code, 5)) == 2


def test_what_is_taken_out_is_not_found_and_an_empty_chunk_goes(conn: apsw.Connection, path: Path) -> None:
    store_binary_vectors(conn, "vector", [(1, 1, 1), (2, 1, 1), (CHUNK + 1, 1, 1)], vectors(3))
    remove_binary_vectors(conn, [1, CHUNK + 1], DIMENSION)
    assert nearest(load_binary_vectors(conn, path, DIMENSION), vectors(1)[0], 5) == {2}
    assert schema.value(conn, "SELECT count(*) FROM codes") == 1


def test_a_process_that_keeps_codes_sees_every_change(conn: apsw.Connection, path: Path) -> None:
    """Among them one chunk that comes before those that are kept, and one that changes while another stays."""
    question = vectors(1)[0]
    steps: list[tuple[list[int], set[int]]] = [
        ([2 * CHUNK], {2 * CHUNK}),
        ([3, 4], {3, 4, 2 * CHUNK}),
        ([2 * CHUNK + 1], {3, 4, 2 * CHUNK, 2 * CHUNK + 1}),
    ]
    for added, wanted in steps:
        store_binary_vectors(conn, "vector", [(ident, 1, 1) for ident in added], vectors(len(added)))
        assert nearest(load_binary_vectors(conn, path, DIMENSION), question, 9) == wanted
    remove_binary_vectors(conn, [4, 2 * CHUNK], DIMENSION)
    assert nearest(load_binary_vectors(conn, path, DIMENSION), question, 9) == {3, 2 * CHUNK + 1}


def test_codes_that_nobody_changed_are_not_read_again(conn: apsw.Connection, path: Path) -> None:
    store_binary_vectors(conn, "vector", [(1, 1, 1)], vectors(1))
    assert load_binary_vectors(conn, path, DIMENSION) is load_binary_vectors(conn, path, DIMENSION)


def test_an_index_without_codes_finds_nothing(conn: apsw.Connection, path: Path) -> None:
    assert nearest(load_binary_vectors(conn, path, DIMENSION), vectors(1)[0], 5) == set()
