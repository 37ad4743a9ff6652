"""Train the model of secrets told in sentences, and measure it on authors that it has not read.

    python -m bench.training.told_values --data DIR [--check]

Reads ``bench/secret_data``: texts that tell a secret and texts that do not, each with the letter of its author. Benign
lines come from the conversations and the guard corpora of ``DIR``, from the documents and from the code here. Half of
their sources train, the other half chooses the score from which a candidate counts. A text that tells a secret is used
again with other values of the same kind, and identifiers with other digits, so that the words around them count.

``--check`` trains once for each author without the texts of that author, prints how many of their secrets are found and
how many of their other texts raise a false alarm, and writes nothing.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.training.secret_values import generated_password
from guard import secrets
from guard.secrets.told_candidates import Candidate, shaped_candidates
from guard.secrets.told_features import (
    CONTEXT_BUCKETS,
    FORM_BUCKETS,
    context_buckets,
    form_buckets,
    group_of,
    place_buckets,
    window_of,
)
from guard.secrets.told_model import HEAD
from guard.text.canonical import text_variants

__all__ = ["ToldText", "main", "own_texts", "train"]

OWN = Path(__file__).parents[1] / "secret_data"
ROOT = Path(__file__).parents[2]
_WEIGHTS = Path(secrets.__file__).parent / "told_values.bin"
_FILES = ("told", "prose", "developer")
_BUCKETS = FORM_BUCKETS + CONTEXT_BUCKETS
_SCALES = (0.25, 0.08)
"""Steps of the buckets of form and context. A form has few buckets, so each counts for more."""

_STEPS, _RATE, _DECAY, _TOLD_WEIGHT = 60, 0.1, 2e-6, 10.0
_TALK_WEIGHT = 6.0
"""Weight of the candidates of our own texts without a secret, beside one for a benign line."""

_OTHER_VALUES, _OTHER_DIGITS = 4, 2
"""Further copies of a text with another value, and of an identifier with other digits."""

_FALSE_ALARMS = 0.0025
"""Share of benign lines of either kind that may raise an alarm."""

_LEAST = 1.0
"""Log odds below which nothing is a secret."""

_ENOUGH = 0.79
"""Overlap of a candidate with the secret, from which it is the secret."""

Floats = NDArray[np.float32]
_Benign = dict[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldText:
    """A text. ``value`` is the secret that it tells, or empty."""

    text: str
    value: str = ""
    author: str = ""
    kind: str = ""
    lang: str = ""


class Examples:
    """Candidates as rows of buckets, with what is known of them."""

    def __init__(self) -> None:
        self._rows: list[NDArray[np.int32]] = []
        self._labels: list[float] = []
        self._weights: list[float] = []
        self.texts: list[int] = []
        self.places: list[Candidate] = []

    def add(self, text: str, value: str, number: int, weight: float = 1.0) -> None:
        """Add the candidates of *text*. Those that are a part of the secret are left out."""
        start = text.find(value) if value else -1
        for candidate in shaped_candidates(text):
            is_secret = start >= 0 and _overlap(candidate, start, start + len(value)) > _ENOUGH
            if start >= 0 and not is_secret and candidate.start < start + len(value) and candidate.end > start:
                continue
            self._rows.append(_buckets(text, candidate))
            self._labels.append(float(is_secret))
            self._weights.append(weight)
            self.texts.append(number)
            self.places.append(candidate)

    def packed(self) -> tuple[NDArray[np.int32], NDArray[np.int64], Floats, Floats]:
        """Return the buckets of all rows, the start of each row, the labels, and the weights."""
        lengths = np.array([len(row) for row in self._rows], np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)])[:-1]
        return (
            np.concatenate(self._rows) if self._rows else np.zeros(0, np.int32),
            starts,
            np.array(self._labels, np.float32),
            np.array(self._weights, np.float32),
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write the weights, or report on authors left out."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.told_values", description="Train on told secrets.")
    parser.add_argument("--data", type=Path, required=True, help="folder with guard/ and conversations in it")
    parser.add_argument("--check", action="store_true", help="report on authors left out, write nothing")
    options = parser.parse_args(arguments)
    texts, benign = own_texts(), _benign(options.data)
    if options.check:
        for author in sorted({text.author for text in texts}):
            _report(author, texts, benign)
        return 0
    weights, bias = train(_training_examples(texts, benign))
    least = _least_score(weights, bias, benign)
    _write(weights, bias, least, _least_form(weights, texts))
    print(f"wrote {_WEIGHTS.name}: secrets score at least {least:.2f}")
    return 0


def own_texts() -> list[ToldText]:
    """Return the labelled texts of ``bench/secret_data`` in the spelling that the guard reads."""
    rows = [json.loads(line) for name in _FILES for line in (OWN / f"{name}.jsonl").read_text("utf-8").splitlines()]
    return [
        ToldText(
            text=_spelt(row["text"]), value=_spelt(row.get("value", row.get("secret", ""))) if row["label"] else "",
            author=row.get("author", "d"), kind=row["kind"], lang=row.get("lang", row["kind"]),
        )
        for row in rows
    ]  # fmt: skip


def _spelt(text: str) -> str:
    return text_variants(text)[0].text


# ----------------------------------------------------------------------------------------------------------- benign


def _benign(data: Path) -> _Benign:
    """Return benign lines by use: ``train``, and ``chat`` and ``developer`` for the choice of the least score."""
    chats = {name: list(_sentences(_turns(data / name))) for name in ("realmem", "lifebench", "locomo", "realtalk")}
    chats["beam100k"] = list(_sentences(_turns(data / "beam100k")))
    random.Random(5).shuffle(chats["lifebench"])  # noqa: S311
    with gzip.open(data / "guard/benign_md_lines.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [str(json.loads(line)["text"]) for line in file]
    docs = [line.strip() for path in sorted((ROOT / "docs").glob("*.md")) if path.stem not in _QUOTING
            for line in path.read_text("utf-8").splitlines() if line.strip()]  # fmt: skip
    code = [line.strip() for path in sorted((ROOT / "agent_home").rglob("*.py"))
            for line in path.read_text("utf-8").splitlines() if len(line.strip()) > 8]  # fmt: skip
    return {
        "train": [*chats["realmem"][:30_000], *chats["lifebench"][:15_000], *lines[::2], *docs[::2], *code[::4]],
        "chat": [*chats["locomo"][:6_000], *chats["realtalk"][:6_000], *chats["beam100k"][:2_000]],
        "developer": list(dict.fromkeys((*lines[1::2], *docs[1::2]))),
    }


_QUOTING = frozenset({"guard", "security"})
"""Documents that quote passwords."""


def _turns(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*transcript*")):
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            for line in file:
                yield str(json.loads(line)["content"])


def _sentences(texts: Iterable[str]) -> Iterator[str]:
    """Yield each sentence once."""
    parts = (part for text in texts for part in re.split(r"(?<=[.!?])\s+|\n|(?<=[。！？])", text))
    yield from dict.fromkeys(part.strip()[:500] for part in parts if part.strip())


# --------------------------------------------------------------------------------------------------------- examples


def _training_examples(texts: Sequence[ToldText], benign: _Benign) -> Examples:
    chance = random.Random(5)  # noqa: S311
    values = defaultdict(list)
    for text in texts:
        values[_value_kind(text.value)].append(text.value)
    words = [word.lower() for text in texts for word in re.findall(r"[A-Za-z]{4,9}", text.text)]
    values["mixed"] += [generated_password(chance, words) for _ in range(800)]
    for count in range(3, 8):
        values[f"number{count}"] += ["".join(chance.choices("0123456789", k=count)) for _ in range(40)]
    examples = Examples()
    for number, text in enumerate(texts):
        copies = [text.text, *_copies(chance, text, values)]
        for index, copy in enumerate(copies):
            value = _value_at(text, copy) if index and text.value else text.value
            examples.add(copy, value, number, (1 if value else _TALK_WEIGHT) / len(copies))
    for number, line in enumerate(benign["train"], len(texts)):
        examples.add(_spelt(line), "", number)
    return examples


def _copies(chance: random.Random, text: ToldText, values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield *text* with other values of the same kind, or with other digits."""
    if text.value:
        for value in chance.choices(values[_value_kind(text.value)], k=_OTHER_VALUES):
            yield text.text.replace(text.value, value, 1)
    elif text.kind != "ordinary":
        for _ in range(_OTHER_DIGITS):
            yield re.sub(r"\d", lambda _: chance.choice("123456789"), text.text)


def _value_at(text: ToldText, copy: str) -> str:
    """Return the value that stands in *copy* where the value of *text* stood."""
    before, _, after = text.text.partition(text.value)
    return copy[len(before) : len(copy) - len(after)]


def _value_kind(value: str) -> str:
    if re.fullmatch(r"[\d #*./-]+", value):
        return f"number{max(3, min(7, sum(map(str.isdigit, value))))}"
    if " " in value:
        return "phrase"
    return "word" if value.isalpha() else "mixed"


def _overlap(candidate: Candidate, start: int, end: int) -> float:
    shared = min(candidate.end, end) - max(candidate.start, start)
    return max(0, shared) / (max(candidate.end, end) - min(candidate.start, start))


def _buckets(text: str, candidate: Candidate) -> NDArray[np.int32]:
    window = window_of(text, candidate)
    form = (
        *form_buckets(text[candidate.start : candidate.end], candidate.kind),
        *place_buckets(text, candidate, window),
    )
    context = (FORM_BUCKETS + bucket for bucket in context_buckets(window, group_of(candidate.kind)))
    return np.array([*form, *context], np.int32)


# --------------------------------------------------------------------------------------------------------- training


def train(examples: Examples) -> tuple[Floats, float]:
    """Return the weight of each bucket and the bias, by logistic regression with Adam over all *examples*."""
    buckets, starts, labels, shares = examples.packed()
    steps = _bucket_scales()[buckets]
    lengths = np.diff(np.append(starts, len(buckets)))
    shares = shares * np.where(labels > 0, _TOLD_WEIGHT, 1)
    shares = (shares / shares.sum()).astype(np.float32)
    weights, bias = np.zeros(_BUCKETS + 1, np.float32), -3.0
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        score = np.add.reduceat(weights[buckets] * steps, starts) + bias
        error = (1 / (1 + np.exp(-score)) - labels) * shares
        slope = np.bincount(buckets, np.repeat(error, lengths) * steps, _BUCKETS + 1).astype(np.float32)
        slope += _DECAY * weights
        slope[-1] = error.sum()  # the bias
        mean = 0.9 * mean + 0.1 * slope
        square = 0.98 * square + 0.02 * slope * slope
        change = _RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.98**step)) + 1e-7)
        weights -= change
        bias -= float(change[-1])
        weights[-1] = 0
    return weights[:-1], bias


def _bucket_scales() -> Floats:
    return np.repeat(np.array(_SCALES, np.float32), (FORM_BUCKETS, CONTEXT_BUCKETS))


def _scores(weights: Floats, bias: float, examples: Examples) -> Floats:
    buckets, starts, _, _ = examples.packed()
    scaled = weights * _bucket_scales()
    return (
        (np.add.reduceat(scaled[buckets], starts) + bias).astype(np.float32) if len(starts) else np.zeros(0, np.float32)
    )


def _least_score(weights: Floats, bias: float, benign: _Benign) -> float:
    """Return the score that at most the allowed share of the chat sentences, and of the developer lines, reaches."""
    return max(_LEAST, *(_highest(weights, bias, benign[name]) for name in ("chat", "developer")))


def _highest(weights: Floats, bias: float, lines: Sequence[str]) -> float:
    examples = Examples()
    for number, line in enumerate(lines):
        examples.add(_spelt(line), "", number)
    best = np.full(len(lines), -np.inf)
    np.maximum.at(best, examples.texts, _scores(weights, bias, examples))
    return float(np.sort(best)[::-1][int(_FALSE_ALARMS * len(lines))])


def _least_form(weights: Floats, texts: Sequence[ToldText]) -> float:
    """Return the sum of the form alone that nearly all secrets reach. Below it no context is examined."""
    sums = []
    for text in texts:
        start = text.text.find(text.value) if text.value else -1
        sums += [
            _SCALES[0] * float(weights[form_buckets(text.value, place.kind)].sum())
            for place in (shaped_candidates(text.text) if start >= 0 else ())
            if _overlap(place, start, start + len(text.value)) > _ENOUGH
        ]
    return float(np.quantile(sums, 0.003)) if sums else -1e9


def _write(weights: Floats, bias: float, least: float, least_form: float) -> None:
    """Write one byte for each bucket, behind the head of ``guard.secrets.told_model``."""
    parts, scales = (weights[:FORM_BUCKETS], weights[FORM_BUCKETS:]), []
    stored = b""
    for part, step in zip(parts, _SCALES, strict=True):
        unit = max(float(np.quantile(np.abs(part), 0.9999)), 1e-6) / 127
        stored += np.clip(np.round(part / unit), -127, 127).astype(np.int8).tobytes()
        scales.append(unit * step)
    _WEIGHTS.write_bytes(HEAD.pack(*scales, bias, least, least_form) + stored)


# ----------------------------------------------------------------------------------------------------------- report


def _report(author: str, texts: Sequence[ToldText], benign: _Benign) -> None:
    """Print how a model without the texts of *author* does on them."""
    weights, bias = train(_training_examples([text for text in texts if text.author != author], benign))
    least = _least_score(weights, bias, benign)
    held = [text for text in texts if text.author == author]
    examples = Examples()
    for number, text in enumerate(held):
        examples.add(text.text, "", number)
    places = defaultdict(list)
    for number, place, score in zip(examples.texts, examples.places, _scores(weights, bias, examples), strict=True):
        if score >= least:
            places[number].append(place)
    found, alarms, count = Counter[str](), Counter[str](), Counter[str]()
    for number, text in enumerate(held):
        key = text.lang if text.value else text.kind
        count[key] += 1
        if text.value:
            found[key] += _is_covered(text, places[number])
        else:
            alarms[key] += bool(places[number])
    told = sum(bool(text.value) for text in held)
    share = f"found {found.total()} of {told}, alarms {alarms.total()} of {len(held) - told}"
    print(f"author {author}: {share}, at {least:.2f}")
    for name, hits in (("found", found), ("alarms", alarms)):
        print(f"  {name}: " + ", ".join(f"{key} {hits[key]} of {count[key]}" for key in sorted(hits)))


def _is_covered(text: ToldText, places: Iterable[Candidate]) -> bool:
    start = text.text.find(text.value)
    signs = [start + index for index, sign in enumerate(text.value) if sign.isalnum()]
    return all(any(place.start <= sign < place.end for place in places) for sign in signs)


if __name__ == "__main__":
    sys.exit(main())
