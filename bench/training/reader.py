"""Train the reader of ``distill.reading`` and measure it by cross-validation.

    python -m bench.training.reader [--write] [--data DIR]

The training sentences are hand-written and stand in ``bench/memory_data``. With ``--data``, sentences of development
conversations with weak labels (``bench.training.weak_sentences``) join them at a small weight. The model is a
multinomial logistic regression with an L2 penalty, in its dual form: there are far fewer sentences than features, so
the kernel of the sentences is small. Training is deterministic and uses numpy alone. With an embedding model, a second
set of weights is trained that reads sentence vectors as well.

The turn before a sentence has features of its own. They are fitted together with those of the sentence: every sentence
that follows a turn counts a second time without it, and some sentences count once more after a turn that has nothing to
do with them (``bench.training.idle_turns``). So the weights of the sentence learn to judge it alone.

Cross-validation leaves out all the sentences of two writers at a time, because the next user writes like none of them.
The threshold of each language and role is the probability that a given share of its ordinary sentences exceeds, with or
without a turn before them. Very short sentences have thresholds of their own.

Two files outside of the cross-validation hold sentences that look like another act than theirs: ``speech.sections`` was
written for this, and ``speech.chats`` are sentences of simulated chats that an earlier reader took for a preference,
decision, lesson or correction.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from distill.reading import classifier
from distill.reading.classifier import ACTS, DENSE_PARTS, SECTIONS, ReaderWeights, dense_features
from distill.reading.features import BUCKETS, GROUPS, sentence_names, turn_names
from recall.embedding.embedder import Embedder, NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings

from .idle_turns import idle_turn
from .weak_sentences import load_weak_sentences

__all__ = ["Quality", "Spoken", "cross_validate", "load_sentences", "main", "measure", "train"]

Matrix = NDArray[np.float32]

DATA = Path(__file__).parents[1] / "memory_data"
WEIGHTS = Path(classifier.__file__).parent / "weights.npz"
#: Share of the ordinary sentences that may pass, by the row of the threshold. The assistant's sentences also need
#: consent or a report of work. With a smaller share a tenth of the Chinese sentences worth keeping would be lost.
_ORDINARY_SHARES = (0.025, 0.04, 0.035, 0.04, 0.018, 0.04, 0.01, 0.04)
#: Number of the rows of sentences that are not very short, which come first.
_LONGER = 4
#: Writer of sentences with weak labels, their weights for ordinary ones and for ones worth keeping, and the probability
#: that one of the latter is ordinary after all.
WEAK = "weak"
_WEAK_ORDINARY, _WEAK_KEPT, _WEAK_DOUBT = 0.15, 0.3, 0.15
#: Weight of a sentence without the turn before it, and of one after an idle turn. One of so many follows an idle turn.
_ALONE, _IDLE, _IDLE_STEP = 0.5, 0.5, 4
#: Writers that are left out together. Their ordinary sentences show how often one is met. Those of the other writers
#: were chosen because they are hard, or too much of the training is missing without them.
FOLDS = (("second", "unseen"), ("third", "fourth"), ("plain", "turns"), ("bare", "aside"), ("sixth",))
#: Writers whose ordinary sentences were all chosen because they look worth keeping. They choose no threshold.
_TRAPS = ("turns", "aside")
_PENALTY, _STEPS = 0.04, 100
#: Weight of each part of the sentence vectors, chosen by cross-validation.
_DENSE_WEIGHTS: Mapping[str, float] = {"text": 1.8, "previous": 0.9, "both": 1.2}
_NONE = ACTS.index("none")
#: Fewest characters of a sentence that is said after an idle turn.
_LEAST_CHARS = {"en": 18, "zh": 7}
#: Most sentences with a bucket whose pairs are added one by one, and most of these pairs at a time.
_RARE, _MAX_PAIRS = 96, 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A labelled sentence by *writer*. *idle*: the turn before it has nothing to do with it."""

    text: str
    role: str
    previous: str
    lang: str
    act: str
    writer: str
    idle: bool = False

    @property
    def target(self) -> int:
        return ACTS.index(self.act)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Quality over the sentences of a language: shares of sentences."""

    right: float
    entered: float
    ordinary: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of the cross-validation, and write the weights with ``--write``."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.reader", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help="write distill/reading/weights.npz")
    parser.add_argument("--data", type=Path, help="folder of evaluation data, for sentences with weak labels")
    options = parser.parse_args(arguments)
    rows = load_sentences()
    rows += with_idle_turns(rows)
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
        for line in _quality_lines(rows, scores, thresholds):
            print(f"{name} {line}", flush=True)
        stored |= {f"{name}_{key}": value for key, value in examples.weights(thresholds).items()}
    if options.write:
        np.savez_compressed(WEIGHTS, **stored)  # type: ignore[arg-type]
        print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size} bytes")
    return 0


def _quality_lines(rows: Sequence[Spoken], scores: Matrix, thresholds: Matrix) -> Iterator[str]:
    """Yield the quality of the sentences that were left out, by language, role and the turn before them."""
    measured = {writer for fold in FOLDS for writer in fold}
    for lang, role, place in itertools.product(
        ("en", "zh"), ("user", "assistant"), ("alone", "answering", "idle turn")
    ):
        mine = [
            at for at, row in enumerate(rows)
            if (row.lang, row.role, _place(row)) == (lang, role, place) and row.writer in measured
        ]  # fmt: skip
        if len({rows[at].act == "none" for at in mine}) > 1:
            found = measure([rows[at] for at in mine], scores[mine], thresholds)
            yield (f"{lang} {role} {place}: right section {found.right:.3f}, entered {found.entered:.3f}, "
                   f"ordinary {found.ordinary:.3f} ({len(mine)} sentences)")  # fmt: skip


def _place(row: Spoken) -> str:
    return "idle turn" if row.idle else "answering" if row.previous else "alone"


def with_idle_turns(rows: Sequence[Spoken]) -> list[Spoken]:
    """Return some of the user's sentences again, after a turn that has nothing to do with them.

    Short ones are left out: they may need the turn that they answer.
    """
    said = [row for row in rows if row.role == "user" and len(row.text) >= _LEAST_CHARS[row.lang]]
    chosen = [row for row in said if zlib.crc32(row.text.encode()) % _IDLE_STEP == 0]
    return [replace(row, previous=idle_turn(row.text, row.lang), idle=True) for row in chosen]


def load_sentences(folder: Path = DATA) -> list[Spoken]:
    """Load the training sentences. One that is not worth keeping counts as an ordinary one."""
    rows = []
    for path in sorted(folder.glob("speech.*.jsonl")):
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
    """Return the probabilities of the acts of each sentence, alone and after its turn, from a model without its writer.

    The sentences of writers outside :data:`FOLDS` have none.
    """
    writers = np.asarray([row.writer for row in rows])
    result = np.zeros((len(rows), 2, len(ACTS)), np.float32)
    for fold in FOLDS:
        left_out = np.isin(writers, fold)
        if left_out.any() and not left_out.all():
            outside = np.flatnonzero(left_out)
            result[outside] = examples.chances(outside, np.flatnonzero(~left_out))
    return result


def measure(rows: Sequence[Spoken], scores: Matrix, thresholds: NDArray[np.float32]) -> Quality:
    """Measure probabilities of acts, alone and after the turn, against the labels.

    *right* and *entered* are shares of the sentences whose act has a section, and *ordinary* is the share of ordinary
    sentences that pass.
    """
    targets = np.asarray([row.target for row in rows])
    likeliest = scores.prod(axis=1)[:, :_NONE].argmax(axis=1)
    limit = thresholds[[classifier.threshold_row(row.text, row.role) for row in rows]]
    passes = (_of_sections(scores) >= limit) & (likeliest < SECTIONS)
    wanted, ordinary = targets < SECTIONS, targets == _NONE
    return Quality(
        right=float(np.mean((passes & (likeliest == targets))[wanted])),
        entered=float(np.mean(passes[wanted])),
        ordinary=float(np.mean(passes[ordinary])),
    )


def _of_sections(scores: Matrix) -> Matrix:
    """Return the greater of the probabilities of the acts with a section, alone and after the turn."""
    return np.asarray(scores[:, :, :SECTIONS].sum(axis=2).max(axis=1), np.float32)


@dataclass(frozen=True, slots=True)
class _Features:
    """Sparse features of all sentences: bucket, value and sentence of each, and the rarity of each bucket."""

    buckets: NDArray[np.int64]
    values: Matrix
    owners: NDArray[np.int64]
    rarity: Matrix

    @classmethod
    def of(cls, names: Sequence[Mapping[str, Sequence[int]]]) -> _Features:
        """Make the features of sentences from the buckets of their groups. Rare features weigh more."""
        buckets: list[int] = []
        values: list[float] = []
        owners: list[int] = []
        for number, groups in enumerate(names):
            for group, found in groups.items():
                buckets += found
                values += [GROUPS[group] / max(1, len(found)) ** 0.5] * len(found)
                owners += [number] * len(found)
        which, whose = np.asarray(buckets, np.int64), np.asarray(owners, np.int64)
        rarity = _rarity(len(names), which, whose)
        return cls(which, np.asarray(values, np.float32) * rarity[which], whose, rarity)

    def table(self, dual: Matrix) -> Matrix:
        """Return the weights of the buckets. A new sentence brings its values without their rarity."""
        found = np.zeros((BUCKETS, dual.shape[1]), np.float32)
        for act in range(dual.shape[1]):
            found[:, act] = np.bincount(self.buckets, self.values * dual[self.owners, act], BUCKETS)
        return found * self.rarity[:, None]


@dataclass(frozen=True, slots=True)
class _TrainingSet:
    """Kernels of the sentences and of the turns before them, their targets, and what the weights are made of.

    *alone* is the weight of each sentence without its turn.
    """

    sentences: Matrix
    turns: Matrix
    targets: Matrix
    trust: Matrix
    alone: Matrix
    features: tuple[_Features, _Features]
    dense: Matrix

    @classmethod
    def of(cls, rows: Sequence[Spoken], embedder: Embedder | None) -> _TrainingSet:
        """Make the training set of *rows*."""
        features = (
            _Features.of([sentence_names(row.text, row.role) for row in rows]),
            _Features.of([turn_names(row.text, row.previous, row.role) for row in rows]),
        )
        kernels = [_sparse_kernel(len(rows), part) for part in features]
        dense = np.zeros((len(rows), 0), np.float32)
        if embedder is not None:
            dense = dense_features([(row.text, row.previous, row.role) for row in rows], embedder)
            dense *= np.repeat([_DENSE_WEIGHTS[part] for part in DENSE_PARTS], embedder.dimension).astype(np.float32)
            own = embedder.dimension
            kernels = [kernels[0] + dense[:, :own] @ dense[:, :own].T, kernels[1] + dense[:, own:] @ dense[:, own:].T]
        targets = np.eye(len(ACTS), dtype=np.float32)[[row.target for row in rows]]
        trust = np.asarray([_trust(row) for row in rows], np.float32)
        alone = trust * [_ALONE * bool(row.previous and not row.idle) for row in rows]
        made = cls(kernels[0], kernels[1], targets, trust, alone.astype(np.float32), features, dense)
        kept = [at for at, row in enumerate(rows) if row.writer == WEAK and row.act != "none"]
        return made._with_guessed_sections(np.asarray(kept, np.int64))

    def _with_guessed_sections(self, kept: NDArray[np.int64]) -> _TrainingSet:
        """Return the set in which the rows *kept* have the sections that a reader of the other rows gives them."""
        if not len(kept):
            return self
        guessed = self.chances(kept, np.flatnonzero(self.trust == 1))[:, 1]
        guessed[:, SECTIONS:] = 0
        targets = self.targets.copy()
        targets[kept] = (1 - _WEAK_DOUBT) * guessed / guessed.sum(axis=1, keepdims=True)
        targets[kept, _NONE] = _WEAK_DOUBT
        return replace(self, targets=targets)

    def chances(self, rows: NDArray[np.int64], trained: NDArray[np.int64]) -> Matrix:
        """Return the probabilities of the acts of *rows*, alone and after their turns, from a model of other rows."""
        own, turn, bias = self.fit(trained)
        alone = self.sentences[np.ix_(rows, trained)] @ own + bias
        return np.stack([_softmax(alone), _softmax(alone + self.turns[np.ix_(rows, trained)] @ turn)], axis=1)

    def fit(self, rows: NDArray[np.int64]) -> tuple[Matrix, Matrix, Matrix]:
        """Fit the dual weights of sentences and of turns, and the bias, on some *rows*."""
        square = np.ix_(rows, rows)
        return _fit(self.sentences[square], self.turns[square], self.targets[rows], self.trust[rows], self.alone[rows])

    def weights(self, thresholds: NDArray[np.float32]) -> dict[str, NDArray[np.generic]]:
        """Train on all sentences and return the arrays of the weights file."""
        own, turn, bias = self.fit(np.arange(len(self.targets)))
        table = self.features[0].table(own) + self.features[1].table(turn)
        scale = np.maximum(np.abs(table).max(axis=0), 1e-9) / 127
        size = self.dense.shape[1] // len(DENSE_PARTS)
        factors = np.repeat([_DENSE_WEIGHTS[part] for part in DENSE_PARTS], size).astype(np.float32)
        dense = np.vstack([self.dense[:, :size].T @ own, self.dense[:, size:].T @ turn])
        return {
            "table": np.round(table / scale).astype(np.int8),
            "scale": scale.astype(np.float32),
            "bias": bias,
            "dense": (dense * factors[:, None]).astype(np.float16),
            "thresholds": thresholds,
        }


def _trust(row: Spoken) -> float:
    """Return the weight of a sentence in the training."""
    if row.writer == WEAK:
        return _WEAK_ORDINARY if row.act == "none" else _WEAK_KEPT
    return _IDLE if row.idle else 1.0


def _rarity(count: int, buckets: NDArray[np.int64], owners: NDArray[np.int64]) -> Matrix:
    """Return the weight of each bucket: the root of the logarithm of its inverse document frequency."""
    pairs = np.unique(buckets * count + owners)
    frequency = np.bincount(pairs // count, minlength=BUCKETS)
    return np.sqrt(np.log((1 + count) / (1 + frequency)) + 1e-6).astype(np.float32)


def _sparse_kernel(count: int, features: _Features) -> Matrix:
    """Return the products of all pairs of sentences.

    The pairs of a rare bucket are added one by one. Frequent buckets are taken in blocks, so that memory has a limit.
    """
    pairs, inverse = np.unique(features.buckets * count + features.owners, return_inverse=True)
    values = np.bincount(inverse, features.values, len(pairs)).astype(np.float32)
    owners = pairs % count
    _, starts, sizes = np.unique(pairs // count, return_index=True, return_counts=True)
    cells = np.zeros(count * count, np.float32)
    for size in range(1, _RARE + 1):
        for places in _blocks(starts[sizes == size], max(1, _MAX_PAIRS // size**2)):
            found = places[:, None] + np.arange(size)
            which = owners[found][:, :, None] * count + owners[found][:, None, :]
            np.add.at(cells, which.ravel(), (values[found][:, :, None] * values[found][:, None, :]).ravel())
    kernel: Matrix = cells.reshape(count, count)
    for numbers in _blocks(np.flatnonzero(sizes > _RARE), 512):
        block = np.zeros((count, len(numbers)), np.float32)
        for column, number in enumerate(numbers):
            own = slice(starts[number], starts[number] + sizes[number])
            block[owners[own], column] = values[own]
        kernel += block @ block.T
    return kernel


def _blocks(values: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _fit(
    sentences: Matrix, turns: Matrix, targets: Matrix, trust: Matrix, alone: Matrix
) -> tuple[Matrix, Matrix, Matrix]:
    """Fit the dual weights of sentences and of turns, and the bias, by accelerated gradient descent.

    *trust* is the weight of each row after its turn, and *alone* its weight without it. A sentence has one dual weight
    for each of the two, and both move the weights of the sentence.
    """
    step = 1 / (0.5 * _largest(sentences, turns) + _PENALTY)
    bias_step = 1 / len(targets)
    shape = (2, *targets.shape)
    dual, ahead = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    bias, bias_ahead = (np.zeros(targets.shape[1], np.float32) for _ in range(2))
    weights = np.stack([trust, alone])[:, :, None]
    momentum = 1.0
    for _ in range(_STEPS):
        scores = sentences @ (ahead[0] + ahead[1]) + bias_ahead
        error = np.stack([_softmax(scores + turns @ ahead[0]) - targets, _softmax(scores) - targets]) * weights
        new = np.asarray(ahead - step * (error + _PENALTY * ahead), np.float32)
        new_bias = np.asarray(bias_ahead - bias_step * error.sum(axis=(0, 1)), np.float32)
        grown = (1 + (1 + 4 * momentum * momentum) ** 0.5) / 2
        push = (momentum - 1) / grown
        ahead, bias_ahead = new + np.float32(push) * (new - dual), new_bias + np.float32(push) * (new_bias - bias)
        dual, bias, momentum = new, new_bias, grown
    return dual[0] + dual[1], dual[0], bias


def _largest(sentences: Matrix, turns: Matrix) -> float:
    """Return an estimate of the largest eigenvalue of the whole problem."""
    direction = np.full(len(sentences), len(sentences) ** -0.5, np.float32)
    largest = 1.0
    for _ in range(10):
        direction = 2 * (sentences @ direction) + turns @ direction
        largest = float(np.linalg.norm(direction))
        direction /= largest
    return largest


def _softmax(scores: Matrix) -> Matrix:
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True), np.float32)


def _thresholds(rows: Sequence[Spoken], scores: Matrix) -> Matrix:
    """Return the least probability of an entry by :func:`classifier.threshold_row`. A sample may lack a kind."""
    kinds = np.asarray([classifier.threshold_row(row.text, row.role) for row in rows])
    ordinary = np.asarray(
        [row.act == "none" and row.writer not in _TRAPS and scores[at].any() for at, row in enumerate(rows)]
    )
    found = []
    for kind, share in enumerate(_ORDINARY_SHARES):
        # The thresholds of the longer sentences count the very short ones as well.
        own = ordinary & ((kinds == kind) | (kinds == kind + _LONGER))
        entry = np.sort(_of_sections(scores[own]))[::-1]
        found.append(entry[int(share * len(entry))] + 1e-4 if len(entry) else 1.0)
    return np.asarray(found, np.float32)


if __name__ == "__main__":
    sys.exit(main())
