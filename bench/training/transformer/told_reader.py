"""Train the second reading of candidates for told secrets, and write its weights.

    python -m bench.training.transformer.told_reader --data DIR

It reads what ``bench.training.told_values`` reads, whose weights must be there, and needs no PyTorch: the guard's
network only gives the words' vectors. A hidden layer of 64 judges each candidate that the linear models do not rule
out. The least sum of both scores is one that at most seven benign lines of ten thousand reach by plain words, of lines
that no model was trained on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.training.told_values import ToldText, benign_lines, own_texts, spans_of, spelt
from guard.inference.passage_network import PassageNetwork
from guard.secrets.told.features import TextWords
from guard.secrets.told.model import plain_model, told_model
from guard.secrets.told.names import told_candidates
from guard.secrets.told.passages import passage_model
from guard.secrets.told.reader import WEIGHTS, candidate_vectors
from guard.secrets.told.words import plain_regions
from guard.text.canonical import TextVariant

__all__ = ["main"]

_HIDDEN, _EPOCHS, _BATCH, _RATE, _DECAY, _DROPPED = 64, 5, 1024, 0.002, 2e-5, 0.15
_TOLD_WEIGHT = 4.0
#: Weight of a candidate of our own texts without a secret, which are harder than benign lines.
_TALK_WEIGHT = 4.0
#: Linear score below the least one from which candidates train, and the longest benign line.
_RULED_OUT, _MOST_CHARS = -8.0, 400
#: Overlap of a candidate with a secret from which it is one. One that overlaps less does not train.
_ENOUGH = 0.79
#: Share of this score in the sum. 0.3 to 1.5 were tried on texts of two authors left out.
_SHARE = 1.0
#: Share of benign lines that may raise an alarm.
_FALSE_ALARMS = 0.0007

#: Sum below which no plain word is a secret. The sums of two authors of harder texts chose it.
_LEAST = -0.4

Floats = NDArray[np.float32]


@dataclass(slots=True)
class _Rows:
    """Candidates of texts: vectors, whether each is a secret, weights, linear scores, whether each is a plain word."""

    vectors: Floats
    wanted: Floats
    weights: Floats
    linear: Floats
    plain: NDArray[np.bool_]
    texts: NDArray[np.int64]


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write the weights."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.training.transformer.told_reader", description="Train the second reading."
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with guard/ and conversations in it")
    options = parser.parse_args(arguments)
    benign = benign_lines(options.data)
    texts = [*own_texts(), *(ToldText(text=spelt(line)[:_MOST_CHARS]) for line in benign["train"])]
    rows = _rows(texts)
    layers = _trained(rows)
    least = max(_LEAST, *(_least_sum(layers, benign[name]) for name in ("chat", "developer")))
    inner, inner_bias, outer, bias = layers
    np.savez_compressed(
        WEIGHTS, inner=inner.astype(np.float16), inner_bias=inner_bias, outer=outer,
        numbers=np.array([float(bias), _SHARE, least]),
    )  # fmt: skip
    print(f"{len(rows.wanted)} candidates, {int(rows.wanted.sum())} of them secrets; a sum counts from {least:.2f}")
    return 0


def _rows(texts: Sequence[ToldText]) -> _Rows:
    network = PassageNetwork()
    vectors, wanted, linear, numbers, weights, plain = [], [], [], [], [], []
    for number, text in enumerate(texts):
        secrets = spans_of(text.text, text.values)
        found = sorted(_candidates(text.text, everything=bool(text.author)))
        shares = [max((_overlap(one, secret) for secret in secrets), default=0.0) for one in found]
        kept = [(one, share) for one, share in zip(found, shares, strict=True) if share == 0 or share > _ENOUGH]
        for (one, share), vector in zip(
            kept, candidate_vectors(network, text.text, [one[:2] for one, _ in kept]), strict=True
        ):
            if vector is not None:
                vectors.append(vector.astype(np.float16))
                wanted.append(float(share > 0))
                linear.append(one[2])
                plain.append(one[3])
                numbers.append(number)
                weights.append(_TOLD_WEIGHT if share > 0 else _TALK_WEIGHT if text.author and not secrets else 1)
    return _Rows(
        np.array(vectors), np.array(wanted, np.float32), np.array(weights, np.float32),
        np.array(linear, np.float32), np.array(plain, bool), np.array(numbers, np.int64),
    )  # fmt: skip


def _candidates(text: str, *, everything: bool) -> Iterator[tuple[int, int, float, bool]]:
    """Yield the candidates of *text* that are not ruled out.

    Each has its start, its end, its linear score above the least one, and whether it is a plain word or phrase.
    """
    told, plain, passages = told_model(), plain_model(), passage_model()
    least = -np.inf if everything else passages.least
    for region in plain_regions(TextVariant(text, text), passages.with_least(least)):
        yield from ((start, end, score, True) for score, start, end in plain.told(region, _RULED_OUT))
    candidates = list(told_candidates(text))
    words = TextWords(text, candidates)
    for candidate in candidates:
        score = told.score(words, candidate) - told.least
        if score > _RULED_OUT:
            yield candidate.start, candidate.end, score, False


def _overlap(one: tuple[int, int, float, bool], other: tuple[int, int]) -> float:
    shared = min(one[1], other[1]) - max(one[0], other[0])
    return max(0, shared) / (max(one[1], other[1]) - min(one[0], other[0]))


def _trained(rows: _Rows) -> list[Floats]:
    """Return the layers, by Adam. The vectors' means and spreads are folded into the first one."""
    chance = np.random.default_rng(5)
    middle = rows.vectors.astype(np.float32).mean(0)
    spread = rows.vectors.astype(np.float32).std(0) + 1e-3
    width = rows.vectors.shape[1]
    layers: list[Floats] = [
        (chance.normal(0, width**-0.5, (width, _HIDDEN))).astype(np.float32), np.zeros(_HIDDEN, np.float32),
        (chance.normal(0, _HIDDEN**-0.5, _HIDDEN)).astype(np.float32), np.array(-3, np.float32),
    ]  # fmt: skip
    means: list[NDArray[Any]] = [np.zeros_like(layer) for layer in layers]
    squares: list[NDArray[Any]] = [np.zeros_like(layer) for layer in layers]
    step = 0
    for epoch in range(_EPOCHS):
        order = chance.permutation(len(rows.wanted))
        for at in range(0, len(order), _BATCH):
            batch = order[at : at + _BATCH]
            given = (rows.vectors[batch].astype(np.float32) - middle) / spread
            given *= chance.random(given.shape) > _DROPPED
            step += 1
            for place, raw in enumerate(_slopes(layers, given, rows.wanted[batch], rows.weights[batch])):
                slope = raw + _DECAY * layers[place]
                means[place] = 0.9 * means[place] + 0.1 * slope
                squares[place] = 0.999 * squares[place] + 0.001 * slope * slope
                rate = _RATE * (1 - epoch / (_EPOCHS + 0.5))
                change = (means[place] / (1 - 0.9**step)) / (np.sqrt(squares[place] / (1 - 0.999**step)) + 1e-8)
                layers[place] = (layers[place] - rate * change).astype(np.float32)
    inner = layers[0] / spread[:, None]
    return [inner, layers[1] - middle @ inner, *layers[2:]]


def _slopes(layers: Sequence[Floats], given: Floats, wanted: Floats, weights: Floats) -> Iterator[Floats]:
    inner, inner_bias, outer, bias = layers
    hidden = np.maximum(given @ inner + inner_bias, 0)
    error = (1 / (1 + np.exp(-(hidden @ outer + bias))) - wanted) * weights / len(wanted)
    back = np.outer(error, outer) * (hidden > 0)
    yield from (given.T @ back, back.sum(0), hidden.T @ error, np.array(error.sum(), np.float32))


def _least_sum(layers: Sequence[Floats], lines: Sequence[str]) -> float:
    """Return the sum of both scores that the allowed share of *lines* reaches by plain words.

    Of other values, the second reading takes back and adds none.
    """
    rows = _rows([ToldText(text=spelt(line)[:_MOST_CHARS]) for line in lines])
    inner, inner_bias, outer, bias = layers
    hidden = np.maximum(rows.vectors.astype(np.float32) @ inner + inner_bias, 0)
    best = np.full(len(lines), -np.inf)
    sums = rows.linear + _SHARE * (hidden @ outer + bias)
    np.maximum.at(best, rows.texts[rows.plain], sums[rows.plain])
    return float(np.quantile(best, 1 - _FALSE_ALARMS, method="lower"))


if __name__ == "__main__":
    sys.exit(main())
