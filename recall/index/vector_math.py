"""Arithmetic of stored vectors, the same wherever they are stored.

A coordinate has eight bits: a cosine changes by less than a thousandth, and a page of the index holds four times as
many. The vector of a turn with its neighbours is a weighted sum of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["METRIC", "Vectors", "candidate_count", "dequantize", "nearest_of", "quantize", "runs", "window_vector"]

Vectors = npt.NDArray[np.float32]
_Number = TypeVar("_Number", np.float32, np.float64)
#: How vectors are compared. An index records it, so that one with another metric is recognised.
METRIC = "cosine"
_LARGEST = 127
#: Decimals of a cosine.
_DECIMALS = 9
#: Vectors that are compared at once.
_BLOCK = 128
#: Vectors that are compared exactly after a first look at all of them: at least 98 % of the ten nearest
#: are among them, up to a million passages (``python -m bench.scale``).
_COMPARED = 400
#: Vectors in the index for which one more is compared: among many, the codes of more are nearer by chance.
_ONE_MORE_COMPARED = 500


def quantize(vectors: Vectors) -> npt.NDArray[np.int8]:
    """Return *vectors* in eight bits a coordinate, each scaled so that its largest coordinate uses all of them."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    largest[largest == 0] = 1.0
    return np.asarray(np.rint(vectors * (_LARGEST / largest)), np.int8)


def dequantize(blobs: Sequence[bytes], dimension: int) -> Vectors:
    """Return unit vectors from stored blobs, as an array (blobs, dimension)."""
    vectors = np.frombuffer(b"".join(blobs), np.int8).reshape(-1, dimension).astype(np.float32)
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1.0))


def candidate_count(vectors: int, limit: int) -> int:
    """Return how many of *vectors* are compared exactly to find the *limit* nearest."""
    return max(limit, _COMPARED + vectors // _ONE_MORE_COMPARED)


def nearest_of(
    passages: npt.NDArray[np.int64], stored: npt.NDArray[np.int8], vector: Vectors, limit: int
) -> dict[int, float]:
    """Return the *limit* of *passages* whose *stored* vectors are nearest to *vector*, best first, with cosines."""
    if not vector.any():  # it has no cosine
        return {}
    if len(passages) > limit:
        best = np.lexsort((-passages, _rounded_distances(stored, vector)))[:limit]
        passages, stored = passages[best], stored[best]
    exact, products, lengths = vector.astype(np.float64), np.empty(len(stored)), np.empty(len(stored))
    for at, numbers in _blocks(stored, np.float64):
        products[at : at + len(numbers)] = numbers @ exact
        lengths[at : at + len(numbers)] = np.sqrt(np.einsum("ij,ij->i", numbers, numbers))
    # Sums in another order differ in the last digits, and a rebuilt index must give the same order.
    scores = np.round(products / np.maximum(lengths, 1.0), _DECIMALS)
    order = np.lexsort((passages, -scores))
    order = order[lengths[order] > 0]  # a vector of zeros has no cosine
    return dict(zip(passages[order].tolist(), scores[order].tolist(), strict=True))


def _rounded_distances(stored: npt.NDArray[np.int8], vector: Vectors) -> Vectors:
    """Return the cosine distances of *stored* to *vector* in eight bits. Sums of whole numbers are exact in any order.

    A vector of zeros has no distance, and comes last.
    """
    rounded = quantize(vector[None, :])[0].astype(np.float32)
    products, squares = np.empty(len(stored)), np.empty(len(stored))
    for at, numbers in _blocks(stored, np.float32):
        products[at : at + len(numbers)] = numbers @ rounded
        squares[at : at + len(numbers)] = np.einsum("ij,ij->i", numbers, numbers)
    with np.errstate(invalid="ignore"):
        distances = 1.0 - products / (np.sqrt(squares) * np.sqrt(np.float64(rounded @ rounded)))
    return np.asarray(distances, np.float32)


def _blocks(vectors: npt.NDArray[np.int8], dtype: type[_Number]) -> Iterator[tuple[int, npt.NDArray[_Number]]]:
    """Yield the first place of some *vectors* and them as numbers: larger arrays would get fresh memory every time."""
    return ((at, vectors[at : at + _BLOCK].astype(dtype)) for at in range(0, len(vectors), _BLOCK))


def window_vector(near: Mapping[int, Vectors]) -> Vectors:
    """Return the vector of a turn with its neighbours, keyed by distance from it. Each step halves the weight."""
    total = np.zeros_like(next(iter(near.values())), dtype=np.float64)
    for distance in sorted(near):
        total += near[distance] * 0.5 ** abs(distance)
    length = float(np.linalg.norm(total))
    return (total / length if length else total).astype(np.float32)


def runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of successive numbers."""
    ordered = sorted(numbers)
    start = 0
    for at in range(1, len(ordered) + 1):
        if at == len(ordered) or ordered[at] > ordered[at - 1] + 1:
            yield ordered[start], ordered[at - 1]
            start = at
