"""The trained reader: which act a sentence does, and whether it is worth keeping for months.

The reader is a linear model over the features of ``distill.reading.features``. Its weights are a file beside this
module, written by ``python -m bench.training.reader``. There are two sets of weights. The first one reads words
alone. The second one also reads sentence vectors, where an embedding model is installed.

Every sentence is judged twice: alone, and after the turn before it. It may become an entry when either judgement gives
the acts that have a section a probability that reaches a threshold. So a fact that is clear by itself is kept after any
turn, and the turn before it only helps. The thresholds are chosen by cross-validation, so that few ordinary sentences
pass. Very short sentences have thresholds of their own: few of the ordinary ones look worth keeping, and a single word
that the weights do not know weighs much in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from recall.embedding.embedder import Embedder
from recall.embedding.model import DEFAULT_MODEL
from recall.errors import ModelError

from .features import FeatureVector, count_pieces, sentence_features, turn_features
from .vital_facts import vital_act

__all__ = [
    "ACTS",
    "DENSE_PARTS",
    "SECTIONS",
    "Act",
    "ReaderWeights",
    "SentenceReader",
    "SentenceReading",
    "act_chances",
    "dense_features",
    "is_chinese",
    "load_weights",
    "read_sentence",
    "threshold_row",
    "weights_from",
]

Act = Literal["preference", "decision", "lesson", "correction", "thread", "fact", "done", "report", "none"]
ACTS: tuple[Act, ...] = get_args(Act)
#: Acts that an entry may have, and the least chance among them of a preference and of another act than a fact.
_KEPT_ACTS: tuple[Act, ...] = ("preference", "decision", "lesson", "thread", "fact")
_LEAST_WISH, _LEAST_ACT = 0.4, 0.7
_MOST_READ_CHARS = 400
#: What the sentence vectors are made of, in order.
DENSE_PARTS = ("text", "previous", "both")
#: Factor of the vectors of Chinese texts, which say less: they come from a table of characters.
_CHINESE_WEIGHT = 0.6
#: Number of the first acts, which have a section of MEMORY.md.
SECTIONS = 6
_NONE = ACTS.index("none")
#: Most words, Chinese characters and marks of a very short sentence.
_SHORT_PIECES = 6
_WEIGHTS = "weights.npz"
#: Characters of the turn before a sentence that a vector reads, up to its end.
_MAX_PREVIOUS_CHARS = 200
_MAX_CHARS = 320
#: Least probability by words of a sentence that is worth a vector, and the most sentences of a session with vectors.
_PROMISING, _MAX_EMBEDDED = 0.15, 160

Head = Literal["words", "vectors"]
Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceReading:
    """Judgement of a sentence.

    Attributes:
        act: the likeliest act, ``none`` for an ordinary sentence.
        likeliest: the likeliest act besides ``none``.
        keep: the probability that the sentence is worth keeping for months.
        enters: whether an act that has a section of MEMORY.md is likely enough for an entry.
    """

    act: Act
    likeliest: Act
    keep: float
    enters: bool


@dataclass(frozen=True, slots=True)
class ReaderWeights:
    """Weights of one head, those of words quantised to one byte.

    Attributes:
        table: a row for each bucket of features, a column for each act.
        scale: the factor of each column.
        bias: the constant of each column.
        dense: a row for each coordinate of the sentence vectors, none for the head of words.
        thresholds: the least probability of an entry, by :func:`threshold_row`.
    """

    table: NDArray[np.int8]
    scale: Matrix
    bias: Matrix
    dense: Matrix
    thresholds: Matrix

    def alone(self, text: str, role: str = "user") -> Matrix:
        """Return the chances of :data:`ACTS` for a sentence by its words, without the turn before it."""
        return _softmax(self._scores(sentence_features(text, role)) + self.bias)

    def read(self, text: str, previous: str = "", role: str = "user", vector: Matrix | None = None) -> SentenceReading:
        """Judge a sentence. *vector* is its row of :func:`dense_features`, for the head of vectors."""
        scores = self._scores(sentence_features(text, role)) + self.bias
        added = self._scores(turn_features(text, previous, role)) if previous else np.zeros_like(scores)
        if vector is not None:
            own = len(vector) // len(DENSE_PARTS)
            scores += vector[:own] @ self.dense[:own]
            added += vector[own:] @ self.dense[own:]
        judgements = (_softmax(scores), _softmax(scores + added))
        acts = judgements[0] * judgements[1]
        sections = max(float(chances[:SECTIONS].sum()) for chances in judgements)
        return SentenceReading(
            act=ACTS[int(acts.argmax())],
            likeliest=ACTS[int(acts[:_NONE].argmax())],
            keep=float(1 - min(chances[_NONE] for chances in judgements)),
            enters=sections >= float(self.thresholds[threshold_row(text, role)]),
        )

    def _scores(self, features: FeatureVector) -> Matrix:
        found: Matrix = (features.values @ self.table[features.buckets].astype(np.float32)) * self.scale
        return found


def _softmax(scores: Matrix) -> Matrix:
    grown = np.exp(scores - scores.max())
    chances: Matrix = grown / grown.sum()
    return chances


@lru_cache(maxsize=4096)
def act_chances(text: str, role: str = "user") -> tuple[float, ...]:
    """Return the chances of :data:`ACTS` for a sentence by its words, without the turn before it."""
    return tuple(float(chance) for chance in load_weights().alone(text, role))


def likely_act(text: str) -> Act:
    """Return what a statement that somebody wants kept is: a fact, unless another act is likely.

    Whether it is worth keeping is no question any more.
    """
    chances = dict(zip(ACTS, act_chances(text[:_MOST_READ_CHARS]), strict=True))
    best = max(_KEPT_ACTS, key=lambda act: chances[act])
    share = chances[best] / sum(chances[act] for act in _KEPT_ACTS)
    return best if share >= (_LEAST_WISH if best == "preference" else _LEAST_ACT) else "fact"


def threshold_row(text: str, role: str) -> int:
    """Return the row of the threshold for a text of a speaker: its length, then its language, then its role."""
    return 4 * int(count_pieces(text) <= _SHORT_PIECES) + 2 * int(is_chinese(text)) + int(role != "user")


def is_chinese(text: str) -> bool:
    """Return whether *text* has Chinese characters, which a table reads in place of the embedding model."""
    return any("\u3400" <= char <= "\u9fff" for char in text[:_MAX_CHARS])


@cache
def load_weights(head: Head = "words") -> ReaderWeights:
    """Load the shipped weights of a head."""
    with (files(__package__) / _WEIGHTS).open("rb") as file, np.load(file) as stored:
        return weights_from({name: stored[f"{head}_{name}"] for name in ReaderWeights.__slots__})


def weights_from(stored: Mapping[str, NDArray[np.generic]]) -> ReaderWeights:
    """Make weights from arrays by name."""
    return ReaderWeights(
        table=np.asarray(stored["table"], np.int8),
        scale=np.asarray(stored["scale"], np.float32),
        bias=np.asarray(stored["bias"], np.float32),
        dense=np.asarray(stored["dense"], np.float32),
        thresholds=np.asarray(stored["thresholds"], np.float32),
    )


@lru_cache(maxsize=4096)
def read_sentence(text: str, previous: str = "", role: str = "user") -> SentenceReading:
    """Judge a sentence by its words.

    Args:
        text: one sentence, as it was written.
        previous: the turn of the other speaker before it, empty for the first turn.
        role: ``user`` or ``assistant``.
    """
    return _kept(load_weights().read(text, previous, role), text, role)


def _kept(reading: SentenceReading, text: str, role: str) -> SentenceReading:
    """Return *reading*, or that of a statement which no unlucky word may cost its entry."""
    act = vital_act(text) if role == "user" and not reading.enters else None
    return reading if act is None else replace(reading, act=act, likeliest=act, keep=1.0, enters=True)


class SentenceReader:
    """Judges the sentences of one session, the promising ones by their vectors if there is an embedding model."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        # The weights belong to the vectors of one model.
        self._embedder = embedder if embedder is not None and embedder.name == DEFAULT_MODEL else None
        self._known: dict[tuple[str, str, str], SentenceReading] = {}

    def prepare(self, rows: Sequence[tuple[str, str, str]]) -> None:
        """Judge the most promising of *rows*, given as ``(text, previous, role)``, by their vectors.

        A failing model leaves them to their words.
        """
        if self._embedder is None:
            return
        words = {row: read_sentence(*row).keep for row in rows}
        best = sorted((row for row in words if words[row] >= _PROMISING), key=lambda row: (-words[row], row))
        with suppress(ModelError):
            chosen = best[:_MAX_EMBEDDED]
            vectors = dense_features(chosen, self._embedder)
            weights = load_weights("vectors")
            for row, vector in zip(chosen, vectors, strict=True):
                reading = _confirmed(weights.read(*row, vector=vector), read_sentence(*row))
                self._known[row] = _kept(reading, row[0], row[2])

    def read(self, text: str, previous: str, role: str) -> SentenceReading:
        """Judge a sentence. See :func:`read_sentence`."""
        return self._known.get((text, previous, role)) or read_sentence(text, previous, role)


def _confirmed(reading: SentenceReading, by_words: SentenceReading) -> SentenceReading:
    """Return *reading* as that of a fact if only the vectors take the sentence for a lesson.

    The vector of an event is near those of what was learned from such events, but its words teach nothing.
    """
    if reading.likeliest != "lesson" or by_words.likeliest == "lesson":
        return reading
    return replace(reading, act="fact" if reading.act == "lesson" else reading.act, likeliest="fact")


def dense_features(rows: Sequence[tuple[str, str, str]], embedder: Embedder) -> Matrix:
    """Return the vectors of ``(text, previous, role)``, the parts of ``DENSE_PARTS`` side by side.

    The parts of a missing turn are zero.
    """
    texts: dict[str, int] = {}
    parts = []
    for text, previous, _ in rows:
        own, before = text[:_MAX_CHARS], previous[-_MAX_PREVIOUS_CHARS:]
        both = f"{before} / {own}" if before else ""
        parts.append([texts.setdefault(part, len(texts)) if part else -1 for part in (own, before, both)])
    found = embedder.embed(list(texts)) if texts else np.zeros((0, embedder.dimension), np.float32)
    known = np.vstack([found, np.zeros((1, embedder.dimension), np.float32)])
    weights = np.asarray([_CHINESE_WEIGHT if is_chinese(text) else 1.0 for text, _, _ in rows], np.float32)
    places = np.asarray(parts, np.int64).reshape(-1, len(DENSE_PARTS))
    return np.hstack([known[column] for column in places.T]) * weights[:, None]
