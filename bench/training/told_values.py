"""Train the models of secrets told in sentences, and measure them on authors that they have not read.

    python -m bench.training.told_values --data DIR [--check]

Reads ``bench/secret_data``: texts that tell a secret and texts that do not, each with the letter of its author. Benign
lines come from the conversations and the guard corpora of ``DIR``, from the documents and from the code here. Half of
their sources train, the other half chooses the score from which a candidate counts. A text that tells a secret is used
again with other values of the same kind, and identifiers with other digits, so that the words around them count. Two
models are trained: one of numbers, of words with other characters and of quotations, one of plain words and phrases.

``--check`` trains once for each author without the texts of that author, prints how many of their secrets the rules and
both models find, and how many of their other texts raise a false alarm, and writes nothing.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.training.secret_values import generated_password
from guard.secrets import told
from guard.secrets.credentials import find_secrets
from guard.secrets.told.candidates import Candidate
from guard.secrets.told.features import (
    CONTEXT_BUCKETS,
    FORM_BUCKETS,
    TextWords,
    context_buckets,
    form_buckets,
    group_of,
    place_buckets,
    window_of,
)
from guard.secrets.told.model import HEAD
from guard.secrets.told.names import name_buckets, told_candidates
from guard.secrets.told.passages import BUCKETS as PASSAGE_BUCKETS
from guard.secrets.told.passages import HEAD as PASSAGE_HEAD
from guard.secrets.told.passages import WEIGHTS as PASSAGE_WEIGHTS
from guard.secrets.told.passages import PassageModel, passage_buckets
from guard.secrets.told.words import PlainCandidate, PlainRegion, bag_buckets, plain_candidates, plain_regions
from guard.text.canonical import TextVariant, text_variants

__all__ = ["ToldText", "benign_lines", "main", "own_texts", "spans_of", "spelt", "train", "trained_passages"]

OWN = Path(__file__).parents[1] / "secret_data"
ROOT = Path(__file__).parents[2]
_TEMPLATE = ROOT / "agent_home" / "template"
_WEIGHTS = Path(told.__file__).parent / "values.bin"
_PLAIN_WEIGHTS = _WEIGHTS.with_name("plain_values.bin")
_FILES = ("told", "prose", "prose_more", "developer", "developer_more", "parts", "parts_more")
_BUCKETS = FORM_BUCKETS + CONTEXT_BUCKETS
_SCALES = (0.25, 0.08)
"""Steps of the buckets of form and context. A form has few buckets, so each counts for more."""

_STEPS, _RATE, _DECAY, _TOLD_WEIGHT = 100, 0.1, 2e-6, 10.0
_DROPPED = 0.4
"""Share of the buckets that are left out in a step, so that many of them learn to say the same."""

_TALK_WEIGHT = 6.0
"""Weight of the candidates of our own texts without a secret, beside one for a benign line."""

_OTHER_VALUES, _OTHER_DIGITS = 4, 2
"""Further copies of a text with another value, and of an identifier with other digits."""

_FALSE_ALARMS = 0.0025
"""Share of benign lines of either kind that may raise an alarm."""

_LEAST, _LEAST_PLAIN = 0.9, 0.6
"""Log odds below which nothing is a secret, and no plain word."""

_NEAR_WEIGHT = 3.0
"""Weight of our own passages without a secret, beside one for a benign line."""

_LOOKED_AT, _WIDER, _PASSAGE_CHARS = 0.01, 1.5, 300
"""Share of benign lines whose plain words are judged, score below it from which they train, and their length."""

_NO_FORM = -1e9
"""Least score of a form that all reach."""

_PARTLY = 0.3
"""Weight of words that are a part of a secret or hold a part of it, and are not the secret."""

_MODELS = frozenset({"told-value", "told-word"})
"""Rules of the models that are trained here."""

_ENOUGH = 0.79
"""Overlap of a candidate with the secret, from which it is the secret."""

Floats = NDArray[np.float32]
Spans = Sequence[tuple[int, int]]
_Benign = dict[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldText:
    """A text. ``values`` are the secret that it tells, or its parts in order, or empty."""

    text: str
    values: tuple[str, ...] = ()
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
        self.places: list[tuple[int, int]] = []

    def add(self, text: str, secrets: Spans, number: int, weight: float = 1.0) -> None:
        """Add the candidates of *text*. Those that are a part of one of the *secrets*, or hold one, are left out."""
        for candidate in told_candidates(text):
            is_secret = any(_overlap(candidate, *span) > _ENOUGH for span in secrets)
            if is_secret or all(candidate.start >= end or candidate.end <= start for start, end in secrets):
                self._add(_buckets(text, candidate), candidate, number, float(is_secret), weight)

    def add_plain(
        self, text: str, secrets: Spans, number: int, weight: float = 1.0, passages: PassageModel | None = None
    ) -> None:
        """Add the plain words and phrases in the *passages* of *text*.

        Those that are nearly one of the *secrets* are left out.
        """
        for region in plain_regions(TextVariant(text, text), passages):
            for candidate in plain_candidates(region):
                share = max((_overlap(candidate, *span) for span in secrets), default=0.0)
                if 0.5 < share <= _ENOUGH:
                    continue
                partly = 0 < share <= _ENOUGH
                row = _plain_buckets(region, candidate)
                self._add(row, candidate, number, float(share > _ENOUGH), weight * (_PARTLY if partly else 1))

    def add_passage(self, text: str, number: int, label: float, weight: float) -> None:
        """Add the words of *text*."""
        row = np.array([FORM_BUCKETS + bucket for bucket in passage_buckets(text)], np.int32)
        if len(row):
            self._add(row, Candidate(0, len(text), ""), number, label, weight)

    def _add(
        self, row: NDArray[np.int32], place: Candidate | PlainCandidate, number: int, label: float, weight: float
    ) -> None:
        self._rows.append(row)
        self._labels.append(label)
        self._weights.append(weight)
        self.texts.append(number)
        self.places.append((place.start, place.end))

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
    texts, benign = own_texts(), benign_lines(options.data)
    if options.check:
        _check(texts, benign)
        return 0
    weights, bias = train(_training_examples(texts, benign))
    least = _least_score(weights, bias, benign, Examples.add, _LEAST)
    _write(_WEIGHTS, weights, bias, least, _least_form(weights, texts))
    stored = trained_passages(texts, benign)
    PASSAGE_WEIGHTS.write_bytes(stored)
    passages = PassageModel(stored)
    plain, plain_bias = train(_plain_examples(texts, benign, passages))
    add = partial(Examples.add_plain, passages=passages)
    least_plain = _least_score(plain, plain_bias, benign, add, _LEAST_PLAIN)
    _write(_PLAIN_WEIGHTS, plain, plain_bias, least_plain, _NO_FORM)
    names = ", ".join(path.name for path in (_WEIGHTS, PASSAGE_WEIGHTS, _PLAIN_WEIGHTS))
    print(f"wrote {names}: values score at least {least:.2f}, plain ones {least_plain:.2f}")
    return 0


def own_texts() -> list[ToldText]:
    """Return the labelled texts of ``bench/secret_data`` in the spelling that the guard reads."""
    rows = [json.loads(line) for name in _FILES for line in (OWN / f"{name}.jsonl").read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["kind"] != "encoded"]  # they are decoded before the models read them
    return [
        ToldText(
            text=spelt(row["text"]), values=_values(row) if row["label"] else (),
            author=row.get("author", "d"), kind=row["kind"], lang=row.get("lang", row["kind"]),
        )
        for row in rows
    ]  # fmt: skip


def _values(row: Mapping[str, Any]) -> tuple[str, ...]:
    value = row.get("value", row.get("secret", ""))
    return tuple(spelt(part) for part in (value if isinstance(value, list) else [value]))


def spans_of(text: str, values: Iterable[str]) -> Spans:
    """Return the spans of *values* in *text*, which stand there in their order."""
    spans, position = [], 0
    for value in values:
        start = text.find(value, position)
        start = text.find(value) if start < 0 else start
        if value and start >= 0:
            spans.append((start, start + len(value)))
            position = start + len(value)
    return spans


def spelt(text: str) -> str:
    """Return *text* in the spelling that the guard reads."""
    return text_variants(text)[0].text


# ----------------------------------------------------------------------------------------------------------- benign


def benign_lines(data: Path) -> _Benign:
    """Return benign lines by use: ``train``, and ``chat`` and ``developer`` for the choice of the least score."""
    chats = {name: list(_sentences(_turns(data / name))) for name in ("realmem", "lifebench", "locomo", "realtalk")}
    chats["beam100k"] = list(_sentences(_turns(data / "beam100k")))
    random.Random(5).shuffle(chats["lifebench"])  # noqa: S311
    with gzip.open(data / "guard/benign_md_lines.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [str(json.loads(line)["text"]) for line in file]
    docs = [line.strip() for path in sorted((ROOT / "docs").glob("*.md")) if path.stem not in _QUOTING
            for line in path.read_text("utf-8").splitlines() if line.strip()]  # fmt: skip
    own = [line.strip() for path in (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(_TEMPLATE.iterdir()))
           if path.is_file() and path.suffix != ".py"
           for line in path.read_text("utf-8").splitlines() if line.strip()]  # fmt: skip
    code = [line.strip() for path in sorted((ROOT / "agent_home").rglob("*.py"))
            for line in path.read_text("utf-8").splitlines() if len(line.strip()) > 8]  # fmt: skip
    return {
        "train": [*chats["realmem"][:30_000], *chats["lifebench"][:15_000], *lines[::2], *docs[::2], *code[::4], *own],
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
        for value in text.values:
            values[_value_kind(value)].append(value)
    words = [word.lower() for text in texts for word in re.findall(r"[A-Za-z]{4,9}", text.text)]
    values["mixed"] += [generated_password(chance, words) for _ in range(800)]
    for count in range(1, 8):
        values[f"number{count}"] += ["".join(chance.choices("0123456789", k=count)) for _ in range(40)]
    examples = Examples()
    for number, text in enumerate(texts):
        copies = [(text.text, spans_of(text.text, text.values)), *_copies(chance, text, values)]
        for changed, spans in copies:
            examples.add(changed, spans, number, (1 if spans else _TALK_WEIGHT) / len(copies))
    for number, line in enumerate(benign["train"], len(texts)):
        examples.add(spelt(line), (), number)
    return examples


_PLAIN_KINDS = frozenset({"word", "phrase"})


def _plain_examples(texts: Sequence[ToldText], benign: _Benign, passages: PassageModel) -> Examples:
    """Return the plain candidates of all *texts*, and those of benign lines in passages that are nearly looked at."""
    everything, wider = passages.with_least(-np.inf), passages.with_least(passages.least - _WIDER)
    chance = random.Random(5)  # noqa: S311
    values = defaultdict(list)
    for text in texts:
        for value in text.values:
            values[_plain_kind(value)].append(value)
    examples = Examples()
    for number, text in enumerate(texts):
        spans = spans_of(text.text, text.values)
        copies = [(text.text, spans)]
        if any(_plain_kind(value)[:-1] in _PLAIN_KINDS for value in text.values):
            copies += [_with_others(chance, text.text, spans, values, _plain_kind) for _ in range(_OTHER_VALUES)]
        for changed, places in copies:
            weight = (1 if places else _TALK_WEIGHT) / len(copies)
            examples.add_plain(changed, places, number, weight, everything)
    for number, line in enumerate(benign["train"], len(texts)):
        examples.add_plain(spelt(line), (), number, 1.0, wider)
    return examples


def trained_passages(texts: Sequence[ToldText], benign: _Benign) -> bytes:
    """Return the weights of ``guard.secrets.told.passages``, learned from *texts* and half of the benign lines."""
    examples = Examples()
    for number, text in enumerate(texts):
        plain = any(_plain_kind(value)[:-1] in _PLAIN_KINDS for value in text.values)
        if plain or not text.values:
            examples.add_passage(text.text, number, float(plain), 1 if plain else _NEAR_WEIGHT)
    for line in benign["train"][::2]:
        examples.add_passage(spelt(line)[:_PASSAGE_CHARS], -1, 0.0, 1.0)
    weights, bias = train(examples)
    part = weights[FORM_BUCKETS : FORM_BUCKETS + PASSAGE_BUCKETS]
    unit = max(float(np.quantile(np.abs(part), 0.9999)), 1e-6) / 127
    stored, scale = np.clip(np.round(part / unit), -127, 127).astype(np.int8).tobytes(), unit * _SCALES[1]
    model = PassageModel(PASSAGE_HEAD.pack(scale, bias, 0) + stored)
    least = max(
        float(np.quantile([model.score(spelt(line)) for line in benign[name]], 1 - _LOOKED_AT))
        for name in ("chat", "developer")
    )
    return PASSAGE_HEAD.pack(scale, bias, least) + stored


def _plain_kind(value: str) -> str:
    """Return the kind of *value*, and a letter for scripts without small letters."""
    hyphens = value.replace("-", "").replace("'", "").isalpha()
    kind = "word" if hyphens and " " not in value else _value_kind(value)
    return kind + ("e" if value[:1] > "\u0e00" else "a")


def _copies(chance: random.Random, text: ToldText, values: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Spans]]:
    """Yield *text* with other values of the same kind and their spans, or with other digits."""
    if text.values:
        for _ in range(_OTHER_VALUES):
            yield _with_others(chance, text.text, spans_of(text.text, text.values), values, _value_kind)
    elif text.kind != "ordinary":
        for _ in range(_OTHER_DIGITS):
            yield re.sub(r"\d", lambda _: chance.choice("123456789"), text.text), ()


def _with_others(
    chance: random.Random, text: str, spans: Spans, values: Mapping[str, Sequence[str]], kind: Callable[[str], str]
) -> tuple[str, Spans]:
    """Return *text* with other values of the same kind in its *spans*, and their new spans."""
    pieces, others, length, done = [], [], 0, 0
    for start, end in sorted(spans):
        if start < done:
            continue
        known = text[start:end]
        other = known if kind(known) == "groups" else chance.choice(values[kind(known)] or [known])
        pieces += [text[done:start], other]
        length += start - done
        others.append((length, length + len(other)))
        length += len(other)
        done = end
    return "".join([*pieces, text[done:]]), others


def _value_kind(value: str) -> str:
    if re.fullmatch(r"[\d #*./-]+", value):
        return f"number{max(1, min(7, sum(map(str.isdigit, value))))}"
    if re.fullmatch(r"(?=.*\d)[A-Za-z0-9]{2,10}(?:[ -][A-Za-z0-9]{2,10})+", value):
        return "groups"
    if " " in value:
        return "phrase"
    return "word" if value.isalpha() else "mixed"


def _overlap(candidate: Candidate | PlainCandidate, start: int, end: int) -> float:
    shared = min(candidate.end, end) - max(candidate.start, start)
    return max(0, shared) / (max(candidate.end, end) - min(candidate.start, start))


def _buckets(text: str, candidate: Candidate) -> NDArray[np.int32]:
    window = window_of(TextWords(text, [candidate]), candidate)
    form = (
        *form_buckets(text[candidate.start : candidate.end], candidate.kind),
        *place_buckets(text, candidate, window),
        *name_buckets(text, candidate),
    )
    context = (FORM_BUCKETS + bucket for bucket in context_buckets(window, group_of(candidate.kind)))
    return np.array([*form, *context], np.int32)


def _plain_buckets(region: PlainRegion, candidate: PlainCandidate) -> NDArray[np.int32]:
    context = (FORM_BUCKETS + bucket for bucket in (*candidate.context, *bag_buckets(region.words, candidate)))
    return np.array([*candidate.form, *context], np.int32)


# --------------------------------------------------------------------------------------------------------- training


def train(examples: Examples) -> tuple[Floats, float]:
    """Return the weight of each bucket and the bias, by logistic regression with Adam over all *examples*."""
    buckets, starts, labels, shares = examples.packed()
    steps = _bucket_scales()[buckets]
    lengths = np.diff(np.append(starts, len(buckets)))
    shares = shares * np.where(labels > 0, _TOLD_WEIGHT, 1)
    shares = (shares / shares.sum()).astype(np.float32)
    weights, bias, chance = np.zeros(_BUCKETS + 1, np.float32), -3.0, np.random.default_rng(5)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        kept = (chance.random(_BUCKETS + 1) >= _DROPPED).astype(np.float32) / (1 - _DROPPED)
        kept_steps = steps * kept[buckets]
        score = np.add.reduceat(weights[buckets] * kept_steps, starts) + bias
        error = (1 / (1 + np.exp(-score)) - labels) * shares
        slope = np.bincount(buckets, np.repeat(error, lengths) * kept_steps, _BUCKETS + 1).astype(np.float32)
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


_Adder = Callable[[Examples, str, Spans, int], None]


def _least_score(weights: Floats, bias: float, benign: _Benign, add: _Adder, least: float) -> float:
    """Return the score that at most the allowed share of the chat sentences, and of the developer lines, reaches."""
    return max(least, *(_highest(weights, bias, benign[name], add) for name in ("chat", "developer")))


def _highest(weights: Floats, bias: float, lines: Sequence[str], add: _Adder) -> float:
    examples = Examples()
    for number, line in enumerate(lines):
        add(examples, spelt(line), (), number)
    best = np.full(len(lines), -np.inf)
    np.maximum.at(best, examples.texts, _scores(weights, bias, examples))
    return float(np.sort(best)[::-1][int(_FALSE_ALARMS * len(lines))])


def _least_form(weights: Floats, texts: Sequence[ToldText]) -> float:
    """Return the sum of the form alone that nearly all secrets reach. Below it no context is examined."""
    sums = []
    for text in texts:
        spans = spans_of(text.text, text.values)
        sums += [
            _SCALES[0] * float(weights[form_buckets(text.text[place.start : place.end], place.kind)].sum())
            for place in (told_candidates(text.text) if spans else ())
            if any(_overlap(place, *span) > _ENOUGH for span in spans)
        ]
    return float(np.quantile(sums, 0.003)) if sums else -1e9


def _write(path: Path, weights: Floats, bias: float, least: float, least_form: float) -> None:
    """Write to *path* one byte for each bucket, behind the head of ``guard.secrets.told.model``."""
    parts, scales = (weights[:FORM_BUCKETS], weights[FORM_BUCKETS:]), []
    stored = b""
    for part, step in zip(parts, _SCALES, strict=True):
        unit = max(float(np.quantile(np.abs(part), 0.9999)), 1e-6) / 127
        stored += np.clip(np.round(part / unit), -127, 127).astype(np.int8).tobytes()
        scales.append(unit * step)
    path.write_bytes(HEAD.pack(*scales, bias, least, least_form) + stored)


# ----------------------------------------------------------------------------------------------------------- report


def _check(texts: Sequence[ToldText], benign: _Benign) -> None:
    """Print how models without the texts of an author do on them, with the rules, for each author and all together."""
    found, count = Counter[str](), Counter[str]()
    for author in sorted({text.author for text in texts}):
        rest = [text for text in texts if text.author != author]
        held = [text for text in texts if text.author == author]
        places = [list(_by_rules(text.text)) for text in held]
        passages = PassageModel(trained_passages(rest, benign))
        for make, add, lowest in (
            (_training_examples, Examples.add, _LEAST),
            (partial(_plain_examples, passages=passages), partial(Examples.add_plain, passages=passages), _LEAST_PLAIN),
        ):
            weights, bias = train(make(rest, benign))
            least = _least_score(weights, bias, benign, add, lowest)
            examples = Examples()
            for number, text in enumerate(held):
                add(examples, text.text, (), number)
            scores = _scores(weights, bias, examples)
            for number, place, score in zip(examples.texts, examples.places, scores, strict=True):
                if score >= least:
                    places[number].append(place)
        for text, spans in zip(held, places, strict=True):
            for key in _report_keys(text):
                count[key] += 1
                found[key] += _is_covered(text, spans) if text.values else bool(spans)
    for key in sorted(count):
        print(f"{key}: {found[key]} of {count[key]}, {found[key] / count[key]:.3f}")


def _report_keys(text: ToldText) -> Iterator[str]:
    if text.values:
        form = _value_kind(text.values[0]) if len(text.values) == 1 else text.kind
        yield from (
            f"found {name}" for name in ("all", f"author {text.author}", f"language {text.lang}", f"form {form}")
        )
    else:
        name = "developer" if text.kind in {"identifiers", "developer"} or text.lang == "code" else "talk"
        yield from (f"alarms {name}", f"alarms {name} author {text.author}")


def _by_rules(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans that the guard finds without the models."""
    for variant in text_variants(text):
        for match in find_secrets(variant):
            if match.rule not in _MODELS:
                yield match.start, match.end


def _is_covered(text: ToldText, places: Iterable[tuple[int, int]]) -> bool:
    found = list(places)
    signs = [
        sign
        for start, end in spans_of(text.text, text.values)
        for sign in range(start, end)
        if text.text[sign].isalnum()
    ]
    return all(any(first <= sign < last for first, last in found) for sign in signs)


if __name__ == "__main__":
    sys.exit(main())
