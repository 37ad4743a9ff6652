"""Train the classifier of injected instructions, and measure it on authors and sources that it has not seen.

    python -m bench.training.instructions --data DIR --corpora DIR [--leave-out FILE | --cyrillic]

The texts are those of our authors (``bench/guard_data/texts``, one file an author), well-known phrases of attacks,
the guard corpora of ``DIR``, and further corpora as ``NAME.jsonl.gz`` with ``text``, ``label``, ``kind`` and ``lang``
(``bench/guard_data/corpora.toml`` lists them). A text is a bag of passages: each sentence, and each run of two. In the
second round an attack counts by its most suspicious passage and a benign text by its least innocent ones.

``--leave-out`` trains once for each group of sources without that group, writes the scores of the left-out texts to
FILE, and leaves the weights alone. ``--cyrillic`` trains on Russian texts alone and writes the weights of the second
model. Without either, the weights for all languages are written.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import struct
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from guard import injection
from guard.injection.classifier import RUN, rise
from guard.injection.features import BUCKETS, TokenRun, WordKeys, context_buckets, sentences, word_buckets, word_length
from guard.text.canonical import text_variants

__all__ = [
    "MEASURED_ONLY",
    "Bag",
    "InstructionText",
    "LinearModel",
    "all_texts",
    "as_bags",
    "authors_texts",
    "eight_bits",
    "left_out_scores",
    "main",
    "train",
    "write_weights",
]

TEXTS = Path(__file__).parents[1] / "guard_data" / "texts"
PHRASES = TEXTS.with_name("phrases.txt")
WEIGHTS = Path(injection.__file__).parent / "weights" / "instructions.bin"
#: Scores from which a passage counts. See docs/guard.md for the shares of benign texts above them.
UNTRUSTED, TRUSTED = 1.8, 5.0
#: Groups of sources that are left out together: an author, and corpora that nobody of us wrote.
GROUPS: tuple[frozenset[str], ...] = tuple(
    frozenset({f"author {author}", *corpora.split()})
    for author, corpora in (
        ("a", "garak locomo scifact"),
        ("b", "tensortrust md_lines realmem"),
        ("c", "agentdojo injecagent owasp memory_hazards notinject cmrc"),
        ("d", "cse beam100k homeassistant"),
        ("e", "deepset deepset_hi hinglish realtalk tldr"),
        ("f", "yanis promptshield lifebench fastapi"),
        ("g", "qualifire raccoon promptmap wildguard clinc"),
        ("h", "promptguide owasp_llm10"),
        ("i", "bipia xquad"),
        ("j", "presidio unicode_benign"),
        ("k", ""),
        ("l", ""),
        ("u", "ud"),
        ("o", "phrases"),
        *((author, "") for author in "pqrsvwxyz"),
    )
)
#: Corpora that are only measured: by their licence, or because they are translations of another one, or because they
#: count role play and leading questions as attacks.
MEASURED_ONLY = frozenset({"deepset", "deepset_hi", "hinglish", "qualifire", "raccoon", "promptmap"})
_MAX_SENTENCES = 24
_STEP = 0.1
_PHRASES_PER_LANGUAGE = 120
_MOST = {0: 400, 1: 600}
#: Texts of an author that a whole corpus counts for.
_CORPUS_SHARE = {0: 75.0, 1: 45.0}

Vector = NDArray[np.float64]
Buckets = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionText:
    """A text with its source. The *label* is 1 for an instruction to somebody's assistant."""

    text: str
    label: int
    source: str
    kind: str = ""
    lang: str = "en"


class HashedPassage(NamedTuple):
    """The buckets of a passage, and its length in words and signs."""

    buckets: Buckets
    length: float


@dataclass(frozen=True, slots=True)
class Bag:
    """A text with its passages and the number of its sentences."""

    row: InstructionText
    passages: list[HashedPassage]
    sentences: int = 1


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Weights of the buckets and the bias."""

    weights: Vector
    bias: float

    def scores(self, bag: Bag) -> Vector:
        """Return the score of each passage."""
        return np.array([self.weights[part].sum() / np.sqrt(length) for part, length in bag.passages]) + self.bias


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write the weights, or the scores of sources left out."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.instructions", description="Train on attacks.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with guard/ in it")
    parser.add_argument("--corpora", type=Path, help="folder of further corpora, NAME.jsonl.gz")
    parser.add_argument("--leave-out", type=Path, metavar="FILE", help="measure each group of sources by the others")
    parser.add_argument("--cyrillic", action="store_true", help="train the model of Russian texts")
    options = parser.parse_args(arguments)
    texts = all_texts(options.data, options.corpora)
    bags = as_bags(text for text in texts if not options.cyrillic or text.lang == "ru")
    print(f"{len(bags)} texts of {len({bag.row.source for bag in bags})} sources", file=sys.stderr)
    if options.leave_out:
        with options.leave_out.open("w", encoding="utf-8") as file:
            for line in left_out_scores(bags):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return 0
    target = WEIGHTS.with_name("cyrillic.bin") if options.cyrillic else WEIGHTS
    write_weights(train([bag for bag in bags if bag.row.source not in MEASURED_ONLY]), target)
    print(f"wrote {target.name}")
    return 0


# ------------------------------------------------------------------------------------------------------------- texts


def all_texts(data: Path, corpora: Path | None) -> list[InstructionText]:
    """Return the texts of every source, at most so many of each: ours, those in ``data/guard`` and in *corpora*."""
    return _at_most([*authors_texts(), *phrases(), *_guard_texts(data / "guard"), *_corpus_texts(corpora)])


def authors_texts() -> Iterator[InstructionText]:
    """Yield the texts of our authors, in all their languages."""
    for path in sorted(TEXTS.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            yield InstructionText(
                text=row["text"], label=row["label"], source=f"author {row['author'].lower()}", kind=row["kind"],
                lang=row["lang"],
            )  # fmt: skip


def phrases() -> Iterator[InstructionText]:
    """Yield sentences composed of well-known phrases of attacks, which our authors avoided, in many languages."""
    languages: dict[str, dict[str, list[str]]] = {}
    for line in PHRASES.read_text("utf-8").splitlines():
        if line.startswith("["):
            slots = languages.setdefault(line.strip("[]"), {})
        elif line:
            name, values = line.split(": ", 1)
            slots[name] = [value.strip() for value in values.split(" | ")]
    for lang, slots in languages.items():
        for text in _composed(slots):
            yield InstructionText(text=text, label=1, source="phrases", lang=lang)


def _composed(slots: Mapping[str, Sequence[str]]) -> list[str]:
    """Return different sentences of random phrases, the same ones on each call."""
    chance = random.Random(4)  # noqa: S311
    found: dict[str, None] = {}
    for _ in range(_PHRASES_PER_LANGUAGE * 3):
        frame = chance.choice(slots["frames"])
        text = re.sub(r"\{(\w+)\}", lambda slot: chance.choice(slots[slot[1]]), frame)
        found[text[0].upper() + text[1:]] = None
    return list(found)[:_PHRASES_PER_LANGUAGE]


def _guard_texts(folder: Path) -> Iterator[InstructionText]:
    for path in sorted(folder.glob("*.jsonl.gz")):
        name = path.name.removesuffix(".jsonl.gz")
        source = re.sub(r"^(injection|benign)_|^poison_(?=owasp)|_amg$|_synth$", "", name).replace("pii_", "")
        if name.startswith("pii_presidio_synth"):
            source = "presidio"
        elif not name.startswith(("injection_", "benign_", "poison_")):
            continue
        for row in _lines(path):
            if source == "presidio" or not row["label"]:
                yield InstructionText(text=str(row["text"]), label=0, source=source)
            elif _is_explicit(source, str(row["kind"])):
                yield InstructionText(text=str(row["text"]), label=1, source=source, kind=str(row["kind"]))


def _is_explicit(source: str, kind: str) -> bool:
    """Return whether texts of this kind say openly that they instruct an assistant."""
    if source in {"injecagent", "agentdojo", "bipia"}:
        return kind.startswith(("important", "ignore", "tool_result_enhanced"))
    return source != "owasp" or kind in {"prompt_injection", "memory_persistence"}


def _corpus_texts(folder: Path | None) -> Iterator[InstructionText]:
    for path in sorted(folder.glob("*.jsonl.gz")) if folder else ():
        source = path.name.removesuffix(".jsonl.gz")
        for row in _lines(path):
            yield InstructionText(
                text=str(row["text"]), label=int(str(row["label"])), source=source, kind=str(row["kind"]),
                lang=str(row["lang"]),
            )  # fmt: skip


def _lines(path: Path) -> Iterator[dict[str, object]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _at_most(rows: Iterable[InstructionText]) -> list[InstructionText]:
    """Return at most so many texts of each source and label, without repetitions. Our authors' all stay."""
    groups: dict[tuple[str, int], dict[str, InstructionText]] = {}
    for row in rows:
        if row.text.strip():
            groups.setdefault((row.source, row.label), {}).setdefault(row.text.strip().lower(), row)
    chosen = []
    for (source, label), texts in sorted(groups.items()):
        group = list(texts.values())
        random.Random(5).shuffle(group)  # noqa: S311
        chosen += group if source.startswith(("author ", "phrases")) else group[: _MOST[label]]
    return chosen


# ---------------------------------------------------------------------------------------------------------- passages


def as_bags(rows: Iterable[InstructionText]) -> list[Bag]:
    """Return each text with the buckets of its passages. Texts without a word are left out."""
    bags = [Bag(row, *_passages(row.text)) for row in rows]
    return [bag for bag in bags if bag.passages]


def _passages(text: str) -> tuple[list[HashedPassage], int]:
    variants = text_variants(text)
    parts: list[HashedPassage] = []
    found: list[HashedPassage] = []
    count = 0
    for sentence in sentences(variants[min(1, len(variants) - 1)].lowered):
        count += 1
        if count <= _MAX_SENTENCES:
            parts = [*parts[-RUN + 1 :], _passage(sentence)]
            runs = [parts[first:] for first in range(len(parts))]
            found += [
                HashedPassage(np.concatenate([p.buckets for p in run]), sum(p.length for p in run)) for run in runs
            ]
    return found, count


def _passage(sentence: TokenRun) -> HashedPassage:
    words = [_word(token) for token in sentence.tokens]
    context = np.array(context_buckets([keys for _, keys in words]), np.int32)
    return HashedPassage(
        np.concatenate([*(buckets for buckets, _ in words), context]), sum(map(word_length, sentence.tokens))
    )


@cache
def _word(token: str) -> tuple[Buckets, WordKeys]:
    buckets, keys = word_buckets(token)
    return np.array(buckets, np.int32), keys


# ---------------------------------------------------------------------------------------------------------- training


def train(bags: Sequence[Bag], *, rounds: int = 2, epochs: int = 6) -> LinearModel:
    """Return the model of *bags*: a logistic regression on passages, which are chosen again by the model before."""
    chance = random.Random(1)  # noqa: S311
    texts = Counter((bag.row.source, bag.row.label) for bag in bags)
    rarity = _rarity(bags)
    model: LinearModel | None = None
    for _ in range(rounds):
        parts: list[HashedPassage] = []
        labels: list[int] = []
        shares: list[float] = []
        for bag in bags:
            row, chosen = bag.row, _chosen(bag, model, chance)
            share = 1.0
            if not row.source.startswith("author "):
                share = min(0.5, _CORPUS_SHARE[row.label] / texts[row.source, row.label])
            if row.source == "phrases":
                share = 0.3
            parts += chosen
            labels += [row.label] * len(chosen)
            shares += [share / len(chosen)] * len(chosen)
        model = _fit(parts, np.array(labels, np.float64), np.array(shares), rarity, epochs)
    assert model is not None
    return model


def _rarity(bags: Sequence[Bag]) -> Vector:
    """Return how much each bucket says: nothing if only one passage has it, and less the more passages have it."""
    passages = [part for bag in bags for part in bag.passages]
    count = np.zeros(BUCKETS)
    for part in passages:
        count[part.buckets] += 1
    return np.where(count > 1, np.log((len(passages) + 1) / (count + 1)) + 1, 0) / 8


def _chosen(bag: Bag, model: LinearModel | None, chance: random.Random) -> list[HashedPassage]:
    """Return the passages that stand for a text: random ones at first, then those with the highest scores."""
    if model is None:
        return chance.sample(bag.passages, min(6, len(bag.passages)))
    return [bag.passages[place] for place in np.argsort(-model.scores(bag))[: 1 if bag.row.label else 3]]


def _fit(
    parts: Sequence[HashedPassage], labels: Vector, shares: Vector, rarity: Vector, epochs: int, batch: int = 256
) -> LinearModel:
    """Return the averaged weights of the last two passes of Adagrad, in steps that shrink for common buckets."""
    slopes, squares, bias, bias_square = np.zeros(BUCKETS), np.full(BUCKETS, 1e-2), 0.0, 1e-2
    sizes = np.array([len(part.buckets) for part in parts])
    scale = 1 / np.sqrt([part.length for part in parts])
    mean, mean_bias, passes = np.zeros(BUCKETS), 0.0, 0
    order, chance = np.arange(len(parts)), np.random.default_rng(0)
    for epoch in range(epochs):
        chance.shuffle(order)
        for start in range(0, len(order), batch):
            own = order[start : start + batch]
            flat = np.concatenate([parts[place].buckets for place in own])
            line = np.repeat(np.arange(len(own)), sizes[own])
            value = rarity[flat] * scale[own][line]
            score = np.bincount(line, slopes[flat] * value, len(own)) + bias
            error = (1 / (1 + np.exp(-np.clip(score, -30, 30))) - labels[own]) * shares[own]
            slope = np.bincount(flat, error[line] * value, BUCKETS)
            hit = np.flatnonzero(slope)
            squares[hit] += slope[hit] ** 2
            slopes[hit] -= _STEP * slope[hit] / np.sqrt(squares[hit])
            bias_square += error.sum() ** 2
            bias -= _STEP * error.sum() / np.sqrt(bias_square)
        if epoch >= epochs - 2:
            mean, mean_bias, passes = mean + slopes, mean_bias + bias, passes + 1
    return LinearModel(mean / passes * rarity, float(mean_bias / passes))


def write_weights(model: LinearModel, path: Path) -> None:
    """Write the model as one byte a bucket, behind scale, bias and the two scores from which a passage counts."""
    scale, levels = eight_bits(model)
    path.write_bytes(struct.pack("<4f", scale, model.bias, UNTRUSTED, TRUSTED) + levels)


def eight_bits(model: LinearModel) -> tuple[float, bytes]:
    """Return the scale of the weights, and each of them as a signed byte."""
    scale = max(float(np.abs(model.weights).max()), 1e-6) / 127
    return scale, np.clip(np.round(model.weights / scale), -127, 127).astype(np.int8).tobytes()


def left_out_scores(bags: Sequence[Bag]) -> Iterator[dict[str, object]]:
    """Yield source, label, kind, language and score of each text, by a model without its group of sources."""
    for group in GROUPS:
        held = [bag for bag in bags if bag.row.source in group]
        if not held:
            continue
        others = [bag for bag in bags if bag.row.source not in group and bag.row.source not in MEASURED_ONLY]
        model = train(others)
        for bag in held:
            row, score = bag.row, float(model.scores(bag).max())
            yield {
                "source": row.source, "label": row.label, "kind": row.kind,
                "lang": row.lang, "score": round(score - rise(bag.sentences), 3), "text": row.text,
            }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
