"""Train the learned relation of two statements from labelled pairs, and write its weights.

    python -m bench.training.relations [--data DIR] [--check] [--rarity]

The pairs are our own (``bench/memory_data/pairs.development.jsonl`` and the development half of
``bench/promotion_data``). With ``--data``, pairs of observations that share words are added as *different*, with little
weight: almost none of them replaces another. ``--check`` trains on one half of the pairs, reports on the other, and
writes nothing. ``--rarity`` writes the table of how rare words are, which needs the data as well.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.promotion_data import pairs
from distill.statements import pairs as pair_package
from distill.statements.pairs.pair_features import FEATURES, compare
from distill.statements.pairs.pair_model import SHARES_TOO_LITTLE, WEIGHTS_FILE, keeps_older
from distill.statements.statement_parser import parse_statement
from recall.text.stems import stem

__all__ = ["RelatedPair", "development_pairs", "fit", "main", "train"]

_PAIRS = Path(__file__).parents[1] / "memory_data" / "pairs.development.jsonl"
_PACKAGE = Path(pair_package.__file__).parent
#: Strength of the pull of every weight towards 0.
_RIDGE = 8.0
#: Weight of a pair of observations, and the most of them.
_OBSERVED = 0.35
_MOST_OBSERVED = 800
#: A word of more texts selects no pairs.
_COMMON = 40
_RELATIONS = ("replaced", "same")
_PROMOTION = {"contradiction": "replaced", "duplicate": "same", "refinement": "different", "unrelated": "different"}

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedPair:
    """Two statements, the *relation* of the newer to the older one, and the *half* of the set that they stand in."""

    older: str
    newer: str
    relation: str
    lang: str
    half: str
    weight: float = 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write, or report with ``--check``."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.relations", description="Train on labelled pairs.")
    parser.add_argument("--data", type=Path, help="folder of evaluation data, for its observations")
    parser.add_argument("--check", action="store_true", help="train on one half, report on the other, write nothing")
    parser.add_argument("--rarity", action="store_true", help="write the table of rare words from the data")
    options = parser.parse_args(arguments)
    if options.rarity:
        if options.data is None:
            parser.error("--rarity needs --data")
        (_PACKAGE / "data" / "word_rarity.txt").write_text(_rarity_table(options.data), "utf-8")
        return 0
    rows = development_pairs()
    observed = _observed_pairs(options.data) if options.data else []
    if options.check:
        _report(rows, observed)
        return 0
    weights = train([*rows, *observed])
    (_PACKAGE / WEIGHTS_FILE).write_text(json.dumps(weights, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{len(rows)} labelled pairs, {len(observed)} of observations; wrote {WEIGHTS_FILE}")
    return 0


def development_pairs() -> list[RelatedPair]:
    """Return our own labelled pairs for training, in file order."""
    rows = [RelatedPair(**_fields(json.loads(line))) for line in _PAIRS.read_text("utf-8").splitlines()]
    return rows + [
        RelatedPair(older=pair.older, newer=pair.newer, relation=_PROMOTION[pair.label], lang=pair.lang, half="tune")
        for pair in pairs("development")
    ]


def train(rows: Sequence[RelatedPair]) -> dict[str, dict[str, float]]:
    """Fit both models. Return the weight of each feature by name, and the constant."""
    read = [compare(pair.older, pair.newer) for pair in rows]
    features = np.array([pair.values for pair in read])
    hidden = np.array([keeps_older(pair) == SHARES_TOO_LITTLE for pair in read])
    importance = np.where(hidden, 0.0, [pair.weight for pair in rows])  # pairs that are never compared
    result = {}
    for name in _RELATIONS:
        wanted = np.array([float(pair.relation == name) for pair in rows])
        weights = fit(features, wanted, importance)
        named = zip((*FEATURES, "constant"), weights, strict=True)
        result[name] = {feature: round(float(weight), 4) for feature, weight in named}
    return result


def fit(features: Matrix, wanted: Matrix, importance: Matrix, *, ridge: float = _RIDGE) -> Matrix:
    """Return the weights of a logistic regression by Newton's method, the constant last.

    The features are scaled to unit variance for the fit, so that the ridge pulls them alike. The weights returned are
    for the features as they are.
    """
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    deviation[deviation < 1e-6] = np.inf  # a feature that never varies has no weight
    scaled = np.column_stack([(features - mean) / deviation, np.ones(len(features))])
    pull = np.full(scaled.shape[1], ridge)
    pull[-1] = 1e-6
    weights = np.zeros(scaled.shape[1])
    for _ in range(50):
        probability = 1 / (1 + np.exp(-scaled @ weights))
        gradient = scaled.T @ (importance * (probability - wanted)) + pull * weights
        curvature = (scaled * (importance * probability * (1 - probability))[:, None]).T @ scaled + np.diag(pull)
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 1e-7:
            break
    plain: Matrix = weights[:-1] / deviation
    return np.append(plain, weights[-1] - plain @ mean)


def _report(rows: Sequence[RelatedPair], observed: Sequence[RelatedPair]) -> None:
    """Print precision and recall on each half, trained on the other one, by the features alone."""
    features = np.array([compare(pair.older, pair.newer).values for pair in rows])
    for half in ("tune", "confirm"):
        weights = train([*(pair for pair in rows if pair.half != half), *observed])
        held = np.array([pair.half == half for pair in rows])
        for name in _RELATIONS:
            vector = np.array([weights[name][feature] for feature in FEATURES])
            score = 1 / (1 + np.exp(-(features @ vector + weights[name]["constant"])))
            wanted = np.array([pair.relation == name for pair in rows])
            for threshold in (0.5, 0.7, 0.9):
                given = held & (score >= threshold)
                right = (given & wanted).sum()
                print(f"{half} {name} at {threshold}: precision {right / max(1, given.sum()):.3f}, "
                      f"recall {right / (held & wanted).sum():.3f}")  # fmt: skip


def _fields(row: Mapping[str, str]) -> dict[str, Any]:
    return {name: row[name] for name in ("older", "newer", "relation", "lang", "half")}


def _observed_pairs(data: Path) -> list[RelatedPair]:
    """Return pairs of observations of one conversation that share rare words and do not say the same."""
    random.seed(10)
    found: list[RelatedPair] = []
    for path in sorted((data / "locomo").glob("*.observations.jsonl")):
        texts = [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]
        found += _neighbours(texts, "en")
    for path in sorted((data / "realmem").glob("*.memories.jsonl")):
        texts = [
            re.sub(r"^【[^】]*】\s*", "", json.loads(line)["text"]) for line in path.read_text("utf-8").splitlines()
        ]
        found += _neighbours(texts, "en")
    for path in sorted((data / "lifebench").glob("*.zh.transcript.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        texts = [part for row in rows if row["role"] == "user" for part in re.split(r"[。!?！？\n]", row["content"])]
        found += _neighbours([text for text in texts if 6 <= len(text) <= 60][:800], "zh")
    random.shuffle(found)
    english = [pair for pair in found if pair.lang == "en"][: _MOST_OBSERVED // 2]
    return english + [pair for pair in found if pair.lang == "zh"][: _MOST_OBSERVED // 2]


def _neighbours(texts: Sequence[str], lang: str) -> list[RelatedPair]:
    """Pair each text with the later text that shares most of the rare words and neighbouring characters with it."""
    said = [_marks(text) for text in texts]
    counts = Counter(mark for marks in said for mark in marks)
    holders: dict[str, list[int]] = {}
    found = []
    for place in reversed(range(len(texts))):
        shared: Counter[int] = Counter()
        for mark in said[place]:
            if counts[mark] <= _COMMON:
                shared.update(holders.get(mark, ()))
                holders.setdefault(mark, []).append(place)
        later = max(shared, key=lambda other: (shared[other], -other), default=None)
        if later is not None and 2 * shared[later] < len(said[place] | said[later]):
            found.append(RelatedPair(older=texts[place], newer=texts[later], relation="different", lang=lang, half="",
                                      weight=_OBSERVED))  # fmt: skip
    return found


def _marks(text: str) -> set[str]:
    """Return the words of a text, and its Chinese characters by two."""
    tokens = parse_statement(text).tokens
    pairs_of = (a.key + b.key for a, b in pairwise(tokens) if a.kind == b.kind == "han" and a.end == b.start)
    return {token.key for token in tokens if token.kind != "han"} | set(pairs_of)


def _rarity_table(data: Path) -> str:
    """Return the table of common words and Chinese characters, by the logarithm of sentences per sentence with them."""
    english = [*(data / "locomo").glob("*.transcript.jsonl"), *(data / "realtalk").glob("*transcript*"),
               *(data / "beam100k").glob("*transcript*")]  # fmt: skip
    chinese = sorted((data / "lifebench").glob("*.zh.transcript.jsonl.gz"))
    by_rarity: dict[float, list[str]] = {}
    for paths, word, most, limit in (
        (sorted(english), re.compile(r"[A-Za-z]+"), 1400, 600), (chinese, re.compile("[\u4e00-\u9fff]"), 1000, 2500),
    ):  # fmt: skip
        counts, sentences = _count(paths, word, limit)
        for key, count in counts.most_common(most):
            by_rarity.setdefault(round(math.log(sentences / count), 1), []).append(key)
    lines = [
        "# How rare words are in conversations: the logarithm of sentences per sentence with a word, and the words.",
        "# Written by bench.training.relations. A word that is not here is rarer than the last line says.",
    ]
    for rarity, words in sorted(by_rarity.items()):
        lines += [f"{rarity} {' '.join(words[at : at + 25])}" for at in range(0, len(words), 25)]
    return "\n".join(lines) + "\n"


def _count(paths: Sequence[Path], word: re.Pattern[str], limit: int) -> tuple[Counter[str], int]:
    """Count the sentences, and those with each word, in at most *limit* turns of each file."""
    random.seed(1)
    counts: Counter[str] = Counter()
    sentences = 0
    for path in paths:
        rows = [row["content"] for row in _rows(path) if row.get("role") in {"user", "assistant"}]
        random.shuffle(rows)
        for sentence in (part for row in rows[:limit] for part in re.split(r"[.!?。！？\n]+", row[:1500])):
            words = {stem(found) for found in word.findall(sentence)}
            if len(words) >= 3:
                sentences += 1
                counts.update(words)
    return counts, sentences


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


if __name__ == "__main__":
    sys.exit(main())
