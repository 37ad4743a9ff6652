"""Vectors of Chinese texts, in the space of the default model, which reads no Chinese itself.

A table holds a vector for each of some ten thousand sequences of one to three Han characters, and for the Latin words
that are common in Chinese texts. A text's vector is the sum of its rows, each weighted by the square root of its count.
The rows were learned from parallel texts, so that a Chinese text lies where the default model puts its translation.
``python -m bench.training.chinese_vectors`` makes the table. ``data/chinese_vectors.md`` names its sources.

A row has fewer dimensions than the model. The table's *basis* turns their sum into a vector of the model's length.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import BytesIO

import numpy as np
import numpy.typing as npt

from guard.lazy_regex import lazy_regex

from ..text.han import HAN, chinese_characters
from ..text.normalise import normalise

__all__ = ["ChineseTable", "chinese_share", "grams", "shipped_table", "without_chinese"]

Vector = npt.NDArray[np.float32]

_FILE = "chinese_vectors.npz"
#: Characters of a text that are read. Passages of the index are far shorter.
_LIMIT = 4_000
#: Longest sequence of Han characters that has a row.
_LONGEST = 3
_RUN = lazy_regex(f"[{HAN}]+")
_TOKEN = lazy_regex(f"[{HAN}]+|[A-Za-z]{{2,}}")
_LATIN = lazy_regex(r"[A-Za-z]{2,}")
#: Han characters that say as much as one Latin word.
_HAN_PER_WORD = 1.6


@dataclass(frozen=True, slots=True, kw_only=True)
class ChineseTable:
    """Rows by sequence, in eight bits with a scale each, and the basis (row length, dimension) of their space."""

    places: dict[str, int]
    levels: npt.NDArray[np.int8]
    scales: Vector
    basis: Vector
    digest: str = ""

    @classmethod
    def from_bytes(cls, content: bytes) -> ChineseTable:
        """Read a table from the NumPy archive that ``bench.training.chinese_vectors`` writes.

        Raises:
            ValueError: the parts of the table do not fit together.
        """
        with np.load(BytesIO(content)) as stored:
            sequences = stored["sequences"].tobytes().decode().split("\n")
            levels, scales, basis = stored["levels"], stored["scales"], stored["basis"]
        if not len(sequences) == len(levels) == len(scales) or levels.shape[1] != len(basis):
            shapes = f"{len(sequences)} sequences, rows {levels.shape}, {len(scales)} scales, basis {basis.shape}"
            raise ValueError(f"the table of Chinese vectors is damaged: {shapes}")
        return cls(
            places={sequence: place for place, sequence in enumerate(sequences)},
            levels=levels,
            scales=scales.astype(np.float32),
            basis=basis.astype(np.float32),
            digest=hashlib.sha256(content).hexdigest(),
        )

    def encode(self, text: str) -> Vector:
        """Return the vector of *text*, not scaled. It is zero for a text without any known sequence."""
        counts = Counter(place for place in map(self.places.get, grams(text)) if place is not None)
        if not counts:
            return np.zeros(self.basis.shape[1], np.float32)
        places = np.fromiter(counts, np.int64, len(counts))
        weights = np.sqrt(np.fromiter(counts.values(), np.float64, len(counts))) * self.scales[places]
        total = (self.levels[places] * weights[:, None]).sum(axis=0)
        return np.asarray(total @ self.basis, np.float32)


def grams(text: str) -> list[str]:
    """Return the sequences of *text* that may have a row, in order and with repeats.

    >>> grams("用 Keep 跑步")
    ['用', 'keep', '跑', '步', '跑步']
    """
    found: list[str] = []
    for match in _TOKEN.finditer(normalise(text[:_LIMIT])):
        token = match[0]
        if token.isascii():
            found.append(token.lower())
            continue
        for size in range(1, _LONGEST + 1):
            found += [token[at : at + size] for at in range(len(token) - size + 1)]
    return found


def chinese_share(text: str) -> float:
    """Return the share of the words of *text* that are Chinese, from 0 to 1. A Japanese or Korean text has 0.

    >>> chinese_share("see you on Friday"), chinese_share("周五见"), round(chinese_share("周五 deploy 发票服务"), 2)
    (0.0, 1.0, 0.79)
    """
    plain = text[:_LIMIT]
    chinese = chinese_characters(plain) / _HAN_PER_WORD
    return chinese / (chinese + len(_LATIN.findall(plain))) if chinese else 0.0


def without_chinese(text: str) -> str:
    """Return *text* without its Han characters.

    >>> without_chinese("周五 deploy 发票服务")
    'deploy'
    """
    return " ".join(_RUN.sub(" ", text).split())


@cache
def shipped_table() -> ChineseTable:
    """Return the table that this version ships."""
    return ChineseTable.from_bytes(files(__package__).joinpath("data", _FILE).read_bytes())
