"""Train the weights of ``distill.reading.endings``: ``python -m bench.training.endings [--check]``.

The labelled pairs are in ``bench/memory_data/endings.txt``, written for this purpose: ``LABEL|ROLE|OLDER|NEWER`` with
the labels R (resolved), T (taken back), P (replaced), S (the same) and D (different). Every sentence is also paired
with other older statements, which it does not end. The thresholds come from cross-validation over the older statements.
``--check`` prints the cross-validated figures and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distill.reading.endings import FEATURES, HEADS, Head, is_related, pair_features
from recall.embedding.embedder import NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings

__all__ = ["DATA", "HeadReport", "LabelledPair", "main", "read_pairs", "train"]

DATA = Path(__file__).parents[1] / "memory_data" / "endings.txt"
TARGET = Path(__file__).parents[2] / "distill" / "reading" / "endings.json"
FOLDS, SEED, STEPS = 5, 7, 400
#: Weight of a pair with a sentence of another older statement, against a labelled pair.
CROSS_WEIGHT, CROSSED = 0.3, 4
#: Share of the older statements that an ordinary sentence is paired with.
ORDINARY_SHARE = 0.05
DECAY = 0.03
#: Precision at which an ending is certain, and at which it is worth a question.
CERTAIN, LIKELY = 0.95, 0.75
#: Least chance of either. Few labelled pairs are ordinary talk, so their own threshold would be too low.
FLOOR = 0.5
#: Acts of sentences that end nothing.
_ORDINARY = frozenset({"none", "fact", "thread", "preference", "lesson"})
_LABELS: Mapping[str, Head] = {"R": "resolve", "T": "retract"}
Cosines = Callable[[Sequence[tuple[str, str]]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPair:
    """An older statement, a newer sentence, who said it, and the label."""

    label: str
    role: str
    older: str
    newer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadReport:
    """Cross-validated figures of one head: precision and recall at the threshold, and the number of pairs."""

    head: str
    pairs: int
    precision: float
    recall: float
    threshold: float


def read_pairs(path: Path = DATA) -> list[LabelledPair]:
    """Read labelled pairs, one on each line."""
    rows = (line.split("|") for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return [LabelledPair(label=label, role=role, older=older, newer=newer) for label, role, older, newer in rows]


def read_ordinary(most: int = 1500) -> list[LabelledPair]:
    """Read sentences of the reader's training data that end nothing, as pairs without an older statement."""
    found = [
        LabelledPair(label="D", role=row["role"], older="", newer=row["text"])
        for path in sorted(DATA.parent.glob("speech.train.*.jsonl"))
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
        if row["act"] in _ORDINARY
    ]
    return random.Random(SEED).sample(found, min(most, len(found)))  # noqa: S311 - a reproducible sample, no secret


def train(
    pairs: Sequence[LabelledPair], cosines: Cosines | None, ordinary: Sequence[LabelledPair] = ()
) -> tuple[dict[str, Any], list[HeadReport]]:
    """Train both heads without vectors, and with them where *cosines* computes them.

    Returns:
        The content of the weight file, and the cross-validated figures.
    """
    heads: dict[str, Any] = {}
    reports: list[HeadReport] = []
    for head in HEADS:
        for suffix, computed in (("", None), ("+vector", cosines)):
            trained, report = _train_head(head, suffix, pairs, ordinary, computed)
            heads[head + suffix] = trained
            reports.append(report)
    return {"features": list(FEATURES), "heads": heads}, reports


def _train_head(
    head: Head, suffix: str, pairs: Sequence[LabelledPair], ordinary: Sequence[LabelledPair], cosines: Cosines | None
) -> tuple[dict[str, Any], HeadReport]:
    threads = {pair.older for pair in pairs if pair.label == "R"}
    if head == "resolve":  # what ends a thread resolves it, also when it is dropped
        own = [pair for pair in pairs if pair.older in threads]
    else:
        own = [pair for pair in pairs if not (pair.older in threads and pair.label == "R")]
    olders = sorted({pair.older for pair in own})
    rng = random.Random(SEED)  # noqa: S311 - a reproducible sample, no secret
    crossed = [
        LabelledPair(label="D", role=pair.role, older=older, newer=pair.newer)
        for pair in own
        for older in rng.sample(olders, min(CROSSED, len(olders)))
        if older != pair.older and _is_chinese(older) == _is_chinese(pair.newer)
    ]
    crossed += [
        LabelledPair(label="D", role=sentence.role, older=older, newer=sentence.newer)
        for sentence in ordinary
        for older in olders
        if _is_chinese(older) == _is_chinese(sentence.newer) and rng.random() < ORDINARY_SHARE
    ]
    crossed = [row for row in crossed if is_related(row.older, row.newer)]  # others are never judged
    rows = [*own, *crossed]
    inputs = _inputs(rows, suffix, cosines)
    wanted = np.array([_LABELS.get(row.label) is not None and (head == "resolve" or row.label == "T") for row in rows])
    weights = np.array([1.0] * len(own) + [CROSS_WEIGHT] * len(crossed))
    rng.shuffle(olders)
    fold_of = {older: place % FOLDS for place, older in enumerate(olders)}
    folds = np.array([fold_of[row.older] for row in rows])
    said = {row.newer: fold_of[row.older] for row in own}
    home_fold = np.array([said.get(row.newer, -1) for row in rows])
    chances = np.zeros(len(rows))
    for fold in range(FOLDS):
        learn = (folds != fold) & (home_fold != fold)
        weight, bias = _fit(inputs[learn], wanted[learn], weights[learn])
        chances[folds == fold] = 1 / (1 + np.exp(-(inputs[folds == fold] @ weight + bias)))
    certain, likely = (max(FLOOR, _threshold(chances, wanted, target)) for target in (CERTAIN, LIKELY))
    passed = chances >= certain
    report = HeadReport(
        head=head + suffix, pairs=len(rows), precision=float(wanted[passed].mean()) if passed.any() else 0.0,
        recall=float(passed[wanted].mean()), threshold=certain,
    )  # fmt: skip
    weight, bias = _fit(inputs, wanted, weights)
    trained = {"weights": [round(float(value), 4) for value in weight], "bias": round(bias, 4)}
    return {**trained, "certain": round(certain, 3), "likely": round(min(likely, certain), 3)}, report


def _inputs(rows: Sequence[LabelledPair], suffix: str, cosines: Cosines | None) -> NDArray[np.float64]:
    if not suffix:
        return np.stack([pair_features(row.older, row.newer, row.role) for row in rows])
    found = cosines([(row.older, row.newer) for row in rows]) if cosines else np.zeros(len(rows))
    return np.stack(
        [pair_features(row.older, row.newer, row.role, float(c)) for row, c in zip(rows, found, strict=True)]
    )  # fmt: skip


def _fit(
    inputs: NDArray[np.float64], wanted: NDArray[np.bool_], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Fit a logistic regression by Adam."""
    parameters = np.zeros(inputs.shape[1] + 1)
    first, second = np.zeros_like(parameters), np.zeros_like(parameters)
    design = np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1)
    decay = np.array([DECAY] * inputs.shape[1] + [0.0])
    for step in range(1, STEPS + 1):
        error = (1 / (1 + np.exp(-(design @ parameters))) - wanted) * weights / weights.sum()
        gradient = design.T @ error + decay * parameters * 0.2
        first, second = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        parameters -= 0.05 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return parameters[:-1], float(parameters[-1])


def _threshold(chances: NDArray[np.float64], wanted: NDArray[np.bool_], precision: float) -> float:
    """Return the least threshold at which the chances reach *precision*, above any chance where none does."""
    order = np.argsort(-chances, kind="stable")
    reached = np.cumsum(wanted[order]) / np.arange(1, len(order) + 1) >= precision
    places = np.flatnonzero(reached)
    return float(chances[order[places[-1]]]) if len(places) else 1.01


def _is_chinese(text: str) -> bool:
    return any("\u3400" <= character <= "\u9fff" for character in text)


def _model_cosines() -> Cosines:
    """Return a function that computes cosines with the installed model. A pair with Chinese counts as 0."""
    embedder = open_embedder(EmbeddingSettings(), build_missing=True)
    if isinstance(embedder, NoEmbedder):
        raise SystemExit(f"no embedding model: {embedder.reason}")

    def cosines(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = dict(zip(texts, embedder.embed(texts), strict=True))
        return np.array([float(vectors[a] @ vectors[b]) if not _is_chinese(a + b) else 0.0 for a, b in pairs])

    return cosines


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, print the cross-validated figures, and write the weights."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.endings", description=__doc__)
    parser.add_argument("--check", action="store_true", help="print the figures and write nothing")
    options = parser.parse_args(arguments)
    stored, reports = train(read_pairs(), _model_cosines(), read_ordinary())
    for report in reports:
        print(
            f"{report.head}: {report.pairs} pairs, precision {report.precision:.3f}, recall {report.recall:.3f} "
            f"at {report.threshold:.3f}"
        )
    if not options.check:
        TARGET.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
