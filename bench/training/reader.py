"""Train the reader of ``distill.reading`` and measure it by cross-validation.

    python -m bench.training.reader [--write] [--data DIR]

The training sentences are hand-written and stand in ``bench/memory_data``. With ``--data``, sentences of development
conversations with weak labels (``bench.training.weak_sentences``) join them at a small weight. The model is a
multinomial logistic regression with an L2 penalty, in its dual form: there are far fewer sentences than features, so
the kernel of the sentences is small. Training is deterministic and uses numpy alone. With an embedding model, a second
set of weights is trained that reads sentence vectors as well.

Cross-validation leaves out all the sentences of one writer, because the next user writes like none of them. The
threshold of each language and role is the probability that a given share of its ordinary sentences exceeds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from distill.reading import classifier
from distill.reading.classifier import ACTS, DENSE_PARTS, SECTIONS, ReaderWeights, dense_features
from distill.reading.features import BUCKETS, GROUPS, feature_names
from recall.embedding.embedder import Embedder, NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings

from .weak_sentences import load_weak_sentences

__all__ = ["Quality", "Spoken", "cross_validate", "load_sentences", "main", "measure", "train"]

Matrix = NDArray[np.float32]

DATA = Path(__file__).parents[1] / "memory_data"
#: Sentences to measure with, which nothing is trained on.
_UNSEEN = "speech.unseen.jsonl"
WEIGHTS = Path(classifier.__file__).parent / "weights.npz"
#: Share of the ordinary sentences of the user and of the assistant that may pass. The assistant's sentences also need
#: consent or a report of work.
_ORDINARY_SHARES = (0.03, 0.025)
#: Writer of sentences with weak labels, their weights for ordinary ones and for ones worth keeping, and the probability
#: that one of the latter is ordinary after all.
WEAK = "weak"
_WEAK_ORDINARY, _WEAK_KEPT, _WEAK_DOUBT = 0.15, 0.3, 0.15
#: Writers whose ordinary sentences show how often one is met, and whose part of all sentences is small. Those of the
#: others were chosen because they are hard, or too much of the training is missing without them.
_NATURAL = ("second", "third", "fourth")
_PENALTY, _STEPS = 0.1, 100
#: Weight of each part of the sentence vectors, chosen by cross-validation.
_DENSE_WEIGHTS: Mapping[str, float] = {"text": 1.5, "previous": 0.9, "both": 1.5}
_NONE = ACTS.index("none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A labelled sentence. *writer* names the one who wrote it."""

    text: str
    role: str
    previous: str
    lang: str
    act: str
    writer: str

    @property
    def target(self) -> int:
        return ACTS.index(self.act)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Quality over the sentences of a language: shares of sentences."""

    right: float
    entered: float
    ordinary: float
    act: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of the cross-validation, and write the weights with ``--write``."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.reader", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help="write distill/reading/weights.npz")
    parser.add_argument("--data", type=Path, help="folder of evaluation data, for sentences with weak labels")
    options = parser.parse_args(arguments)
    rows = load_sentences()
    if options.data:
        rows += [
            Spoken(text=row.text, role="user", previous=row.previous, lang="en", act="fact" if row.keep else "none",
                   writer=WEAK)
            for row in load_weak_sentences(options.data)
        ]  # fmt: skip
    loaded = open_embedder(EmbeddingSettings(threads=1), build_missing=True)
    stored: dict[str, NDArray[np.generic]] = {}
    for name, embedder in (("words", None), ("vectors", loaded)):
        if isinstance(embedder, NoEmbedder):
            print(f"no vectors: {embedder.reason}", file=sys.stderr)
            continue
        examples = _TrainingSet.of(rows, embedder)
        scores = cross_validate(rows, examples)
        thresholds = _thresholds(rows, scores)
        for lang, role in itertools.product(("en", "zh"), ("user", "assistant")):
            own = np.asarray([row.lang == lang and row.role == role and row.writer != WEAK for row in rows])
            found = measure([row for row, mine in zip(rows, own, strict=True) if mine], scores[own], thresholds)
            print(f"{name} {lang} {role}: right section {found.right:.3f}, entered {found.entered:.3f}, "
                  f"ordinary {found.ordinary:.3f}, act {found.act:.3f}")  # fmt: skip
        stored |= {f"{name}_{key}": value for key, value in examples.weights(thresholds).items()}
    if options.write:
        np.savez_compressed(WEIGHTS, **stored)  # type: ignore[arg-type]
        print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size} bytes")
    return 0


def load_sentences(folder: Path = DATA) -> list[Spoken]:
    """Load the training sentences. One that is not worth keeping counts as an ordinary one."""
    rows = []
    for path in sorted(folder.glob("speech.*.jsonl")):
        if path.name == _UNSEEN:
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            rows.append(
                Spoken(
                    text=row["text"], role=row["role"], previous=row["previous"], lang=row["lang"],
                    act=row["act"] if row["keep"] else "none", writer=path.name.split(".")[1],
                )
            )  # fmt: skip
    return rows


def train(rows: Sequence[Spoken], embedder: Embedder | None = None) -> ReaderWeights:
    """Train on *rows*, with thresholds from cross-validation."""
    examples = _TrainingSet.of(rows, embedder)
    thresholds = _thresholds(rows, cross_validate(rows, examples))
    return classifier.weights_from(examples.weights(thresholds))


def cross_validate(rows: Sequence[Spoken], examples: _TrainingSet) -> Matrix:
    """Return the probabilities of the acts of each sentence, from a model that was not trained on its writer."""
    writers = np.asarray([row.writer for row in rows])
    result = np.zeros((len(rows), len(ACTS)), np.float32)
    for writer in sorted({*writers.tolist()} - {WEAK}):
        inside, outside = np.flatnonzero(writers != writer), np.flatnonzero(writers == writer)
        dual, bias = examples.fit(inside)
        result[outside] = _softmax(examples.kernel[np.ix_(outside, inside)] @ dual + bias)
    return result


def measure(rows: Sequence[Spoken], scores: Matrix, thresholds: NDArray[np.float32]) -> Quality:
    """Measure probabilities of acts against the labels.

    *right* and *entered* are shares of the sentences whose act has a section, *ordinary* is the share of ordinary
    sentences that pass, and *act* is the share of sentences with the right act.
    """
    targets = np.asarray([row.target for row in rows])
    likeliest = scores[:, :_NONE].argmax(axis=1)
    limit = thresholds[[classifier.threshold_row(row.text, row.role) for row in rows]]
    passes = (scores[:, :SECTIONS].sum(axis=1) >= limit) & (likeliest < SECTIONS)
    wanted, ordinary = targets < SECTIONS, targets == _NONE
    return Quality(
        right=float(np.mean((passes & (likeliest == targets))[wanted])),
        entered=float(np.mean(passes[wanted])),
        ordinary=float(np.mean(passes[ordinary])),
        act=float(np.mean(scores.argmax(axis=1) == targets)),
    )


@dataclass(frozen=True, slots=True)
class _TrainingSet:
    """The kernel of the sentences, their targets, and what the weights are made of."""

    kernel: Matrix
    targets: Matrix
    trust: Matrix
    buckets: NDArray[np.int64]
    values: Matrix
    owners: NDArray[np.int64]
    dense: Matrix

    @classmethod
    def of(cls, rows: Sequence[Spoken], embedder: Embedder | None) -> _TrainingSet:
        """Make the training set of *rows*."""
        buckets, values, owners = _sparse(rows)
        dense = np.zeros((len(rows), 0), np.float32)
        if embedder is not None:
            dense = dense_features([(row.text, row.previous, row.role) for row in rows], embedder)
            dense *= np.repeat([_DENSE_WEIGHTS[part] for part in DENSE_PARTS], embedder.dimension).astype(np.float32)
        targets = np.eye(len(ACTS), dtype=np.float32)[[row.target for row in rows]]
        kernel = _sparse_kernel(len(rows), buckets, values, owners) + dense @ dense.T
        weak = np.asarray([row.writer == WEAK for row in rows])
        trust = np.where(weak, np.where(targets[:, _NONE] > 0, _WEAK_ORDINARY, _WEAK_KEPT), 1).astype(np.float32)
        made = cls(kernel, targets, trust, buckets, values, owners, dense)
        return made._with_guessed_sections(np.flatnonzero(weak & (targets[:, _NONE] == 0)))

    def _with_guessed_sections(self, kept: NDArray[np.int64]) -> _TrainingSet:
        """Return the set in which the rows *kept* have the sections that a reader of the other rows gives them."""
        if not len(kept):
            return self
        sure = np.flatnonzero(self.trust == 1)
        dual, bias = self.fit(sure)
        guessed = _softmax(self.kernel[np.ix_(kept, sure)] @ dual + bias)
        guessed[:, SECTIONS:] = 0
        targets = self.targets.copy()
        targets[kept] = (1 - _WEAK_DOUBT) * guessed / guessed.sum(axis=1, keepdims=True)
        targets[kept, _NONE] = _WEAK_DOUBT
        return replace(self, targets=targets)

    def fit(self, rows: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        """Fit the dual weights and the bias on some *rows*."""
        return _fit(self.kernel[np.ix_(rows, rows)], self.targets[rows], self.trust[rows])

    def weights(self, thresholds: NDArray[np.float32]) -> dict[str, NDArray[np.generic]]:
        """Train on all sentences and return the arrays of the weights file."""
        dual, bias = self.fit(np.arange(len(self.kernel)))
        table = np.zeros((BUCKETS, len(ACTS)), np.float32)
        # The value of a bucket holds its rarity once. A new sentence brings its value without it.
        rarity = _rarity(len(dual), self.buckets, self.owners)
        np.add.at(table, self.buckets, self.values[:, None] * dual[self.owners])
        table *= rarity[:, None]
        scale = np.maximum(np.abs(table).max(axis=0), 1e-9) / 127
        parts = len(self.dense[0]) // len(DENSE_PARTS)
        factors = np.repeat([_DENSE_WEIGHTS[part] for part in DENSE_PARTS], parts).astype(np.float32)
        return {
            "table": np.round(table / scale).astype(np.int8),
            "scale": scale.astype(np.float32),
            "bias": bias,
            "dense": ((self.dense.T @ dual) * factors[:, None]).astype(np.float16),
            "thresholds": thresholds,
        }


def _sparse(rows: Sequence[Spoken]) -> tuple[NDArray[np.int64], Matrix, NDArray[np.int64]]:
    """Return bucket, value and sentence of each feature. Rare features weigh more."""
    buckets: list[int] = []
    values: list[float] = []
    owners: list[int] = []
    for number, row in enumerate(rows):
        for group, names in feature_names(row.text, row.previous, row.role).items():
            buckets += names
            values += [GROUPS[group] / max(1, len(names)) ** 0.5] * len(names)
            owners += [number] * len(names)
    found, whose = np.asarray(buckets, np.int64), np.asarray(owners, np.int64)
    rarity = _rarity(len(rows), found, whose)
    return found, np.asarray(values, np.float32) * rarity[found], whose


def _rarity(count: int, buckets: NDArray[np.int64], owners: NDArray[np.int64]) -> Matrix:
    """Return the weight of each bucket: the root of the logarithm of its inverse document frequency."""
    pairs = np.unique(buckets * count + owners)
    frequency = np.bincount(pairs // count, minlength=BUCKETS)
    return np.sqrt(np.log((1 + count) / (1 + frequency)) + 1e-6).astype(np.float32)


def _sparse_kernel(count: int, buckets: NDArray[np.int64], values: Matrix, owners: NDArray[np.int64]) -> Matrix:
    """Return the products of all pairs of sentences. Buckets are taken in blocks, so that memory has a limit."""
    order = np.argsort(buckets, kind="stable")
    buckets, values, owners = buckets[order], values[order], owners[order]
    kernel = np.zeros((count, count), np.float32)
    for start, end in _blocks(4096):
        first, last = np.searchsorted(buckets, [start, end])
        block = np.zeros((count, end - start), np.float32)
        np.add.at(block, (owners[first:last], buckets[first:last] - start), values[first:last])
        block = block[:, block.any(axis=0)]
        kernel += block @ block.T
    return kernel


def _blocks(size: int) -> Iterator[tuple[int, int]]:
    for start in range(0, BUCKETS, size):
        yield start, start + size


def _fit(kernel: Matrix, targets: Matrix, trust: Matrix) -> tuple[Matrix, Matrix]:
    """Fit the dual weights and the bias by accelerated gradient descent in the space of functions.

    *trust* is the weight of each row.
    """
    direction = np.full(len(kernel), len(kernel) ** -0.5, np.float32)
    largest = 1.0
    for _ in range(15):
        direction = kernel @ direction
        largest = float(np.linalg.norm(direction))
        direction /= largest
    step, bias_step = 1 / (0.5 * largest + _PENALTY), 2 / len(kernel)
    dual: Matrix = np.zeros_like(targets)
    ahead = dual
    bias: Matrix = np.zeros(targets.shape[1], np.float32)
    bias_ahead = bias
    momentum = 1.0
    for _ in range(_STEPS):
        error = (_softmax(kernel @ ahead + bias_ahead) - targets) * trust[:, None]
        new: Matrix = np.asarray(ahead - step * (error + _PENALTY * ahead), np.float32)
        new_bias: Matrix = np.asarray(bias_ahead - bias_step * error.sum(axis=0), np.float32)
        grown = (1 + (1 + 4 * momentum * momentum) ** 0.5) / 2
        push = (momentum - 1) / grown
        ahead, bias_ahead = new + push * (new - dual), new_bias + push * (new_bias - bias)
        dual, bias, momentum = new, new_bias, grown
    return dual.astype(np.float32), bias.astype(np.float32)


def _softmax(scores: Matrix) -> Matrix:
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True), np.float32)


def _thresholds(rows: Sequence[Spoken], scores: Matrix) -> Matrix:
    """Return the least probability of an entry for each language and role. A sample may lack the natural writers."""
    kinds = np.asarray([classifier.threshold_row(row.text, row.role) for row in rows])
    ordinary = np.asarray([row.act == "none" and row.writer in _NATURAL for row in rows])
    found = []
    for kind in range(4):
        entry = np.sort(scores[ordinary & (kinds == kind), :SECTIONS].sum(axis=1))[::-1]
        found.append(entry[int(_ORDINARY_SHARES[kind % 2] * len(entry))] + 1e-4 if len(entry) else 1.0)
    return np.asarray(found, np.float32)


if __name__ == "__main__":
    sys.exit(main())
