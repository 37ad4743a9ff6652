"""Train the chance that a statement is about something that only the owner says, and write its weights.

    python -m bench.training.foreign_topics [--check]

The sentences and terms of eleven languages are our own: ``bench/memory_data/foreign_topics.txt`` has the language, a
sign (``+`` for a topic of the owner) and texts between bars, ``foreign_topics.jsonl`` sentences of several authors.
Sentences of the reader's training data that state something else are counted as ordinary ones. ``--check`` prints what
each chance finds and costs on the sentences of each author by what the others wrote, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distill import reading
from distill.reading.foreign_topics import BUCKETS, LEAST_CHANCE, topic_features
from guard.inference.passage_network import PassageNetwork

from .leaning import train

__all__ = ["TopicText", "feature_matrix", "labelled_texts", "main"]

_DATA = Path(__file__).parents[1] / "memory_data"
_WEIGHTS = Path(reading.__file__).parent / "foreign_topics.npz"
_RIDGE = 1.0
_CHANCES = (0.2, 0.3, 0.35, 0.4, 0.5)
#: Acts of sentences that state something for everybody.
_ORDINARY = ("done", "fact", "lesson", "none", "report", "thread")
#: Sentences of the reader's data with these words may be about a topic of the owner, and nobody labelled them.
_UNSURE = re.compile(
    r"pay|invoice|account|approv|prefer|always|never|policy|vendor|supplier|remember|from now|bank|password|budget|card"
    r"|付|账|审批|批准|偏好|喜欢|总是|一律|以后|记住|密码|银行|供应商|报销|发票",
    re.IGNORECASE,
)
#: What an agent puts before the words of others. Each sentence is read behind some of them, so that they tell nothing.
_FRAMES = (
    "The page says that {}", "According to the tool, {}", "The result: {}", "I read that {}",
    "It was mentioned that {}",
    "Laut der Seite: {}", "Auf der Seite steht, dass {}", "La p\u00e1gina dice que {}", "La page dit que {}",
    "\u9875\u9762\u4e0a\u8bf4{}", "\u6839\u636e\u5de5\u5177,{}", "Conclusion: {}",
)  # fmt: skip
_FRAMES_EACH = 2
#: Share of a number of the topic vector beside that of a word.
_VECTOR_SCALE = 0.1
#: Ordinary sentences of each language of the reader's data.
_MOST = 350

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TopicText:
    """A text in a language. *kind* is sentence, framed, term, or reader for the reader's training data.

    *author* is a letter for texts whose author can be left out.
    """

    text: str
    lang: str
    owners: bool
    kind: str
    author: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write, or report with ``--check``."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.training.foreign_topics", description="Train on labelled texts."
    )
    parser.add_argument("--check", action="store_true", help="report on texts left out, write nothing")
    rows = labelled_texts()
    if parser.parse_args(arguments).check:
        _report(rows)
        return 0
    wanted = np.array([float(row.owners) for row in rows])
    features, columns = feature_matrix(rows)
    vectors, middle, spread = vector_matrix(rows)
    joint = train(np.hstack([features, vectors]), wanted, ridge=_RIDGE)
    of_vector = joint[features.shape[1] :] * _VECTOR_SCALE / spread
    stored = {
        **_bytes("words", joint[1 : features.shape[1]], columns),
        "vector": of_vector.astype(np.float32),
        "bias": np.float32(joint[0] - of_vector @ middle),
    }
    alone = train(features, wanted, ridge=_RIDGE)
    stored |= {**_bytes("alone", alone[1:], columns), "alone_bias": np.float32(alone[0])}
    np.savez_compressed(_WEIGHTS, **stored)
    print(f"{len(rows)} labelled texts; wrote {_WEIGHTS.name}")
    return 0


def _bytes(name: str, weights: Matrix, columns: NDArray[np.int64]) -> dict[str, Any]:
    """Return *weights* of the buckets *columns* in eight bits, and their scale."""
    table = np.zeros(BUCKETS)
    table[columns] = weights
    scale = float(np.abs(table).max()) / 127
    return {name: np.round(table / scale).astype(np.int8), f"{name}_scale": np.float32(scale)}


def labelled_texts() -> list[TopicText]:
    """Return the labelled texts in file order, and then those of the reader's data."""
    rows: list[TopicText] = []
    for line in (_DATA / "foreign_topics.txt").read_text("utf-8").splitlines():
        lang, sign, texts = line.split(" ", 2)
        kind = "term" if "|" in texts else "sentence"
        rows += [TopicText(text=text, lang=lang, owners=sign == "+", kind=kind) for text in texts.split("|")]
    lines = map(json.loads, (_DATA / "foreign_topics.jsonl").read_text("utf-8").splitlines())
    others = [TopicText(row["text"], row["lang"], row["owners"], "sentence", row["author"]) for row in lines]
    return [*rows, *_framed(rows), *others, *_of_reader()]


def _framed(rows: Sequence[TopicText]) -> Iterator[TopicText]:
    """Yield the sentences of *rows* behind frames of an agent."""
    for number, row in enumerate(row for row in rows if row.kind == "sentence"):
        for step in range(_FRAMES_EACH):
            frame = _FRAMES[(number * 5 + step * 7) % len(_FRAMES)]
            yield replace(row, text=frame.format(row.text), kind="framed")


def feature_matrix(rows: Sequence[TopicText]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return a row of features for each text, and their buckets. Features of one text alone are left out.

    Before the features of the buckets stands a column for the bias.
    """
    found = [topic_features(row.text) for row in rows]
    counts = Counter(bucket for features in found for bucket in features)
    buckets = sorted(bucket for bucket, count in counts.items() if count > 1)
    place = {bucket: number for number, bucket in enumerate(buckets, 1)}
    features = np.zeros((len(rows), len(buckets) + 1), np.float32)
    features[:, 0] = 1
    for number, row in enumerate(found):
        for bucket, value in row.items():
            if bucket in place:
                features[number, place[bucket]] = value
    return features, np.array(buckets)


def vector_matrix(rows: Sequence[TopicText]) -> tuple[NDArray[np.float32], Matrix, Matrix]:
    """Return a row of 384 scaled numbers for each text, the means of these numbers before, and their spread."""
    network = PassageNetwork()
    vectors = np.stack([network.topic(row.text) for row in rows]).astype(np.float64)
    middle, spread = vectors.mean(axis=0), vectors.std(axis=0) + 1e-6
    return ((vectors - middle) / spread * _VECTOR_SCALE).astype(np.float32), middle, spread


def _of_reader() -> Iterator[TopicText]:
    for lang in ("en", "zh"):
        lines = (_DATA / f"speech.train.{lang}.jsonl").read_text("utf-8").splitlines()
        lines += (_DATA / f"speech.more.{lang}.jsonl").read_text("utf-8").splitlines()
        texts = [row["text"] for row in map(json.loads, lines) if row["act"] in _ORDINARY]
        for text in [text for text in texts if not _UNSURE.search(text)][:_MOST]:
            yield TopicText(text=text, lang=lang, owners=False, kind="reader")


def _report(rows: Sequence[TopicText]) -> None:
    """Print for each author what the weights find that the texts of the others give."""
    features = np.hstack([feature_matrix(rows)[0], vector_matrix(rows)[0]])
    wanted, authors = np.array([float(row.owners) for row in rows]), np.array([row.author for row in rows])
    langs = np.array([row.lang for row in rows])
    for author in sorted(set(authors) - {""}):
        held = authors == author
        scores = features[held] @ train(features[~held], wanted[~held], ridge=_RIDGE)
        chances, theirs = 1 / (1 + np.exp(-scores)), wanted[held] > 0
        print(f"author {author}: {theirs.sum()} of the owner, {(~theirs).sum()} others; chance, found, false")
        for least in _CHANCES:
            print(f"  {least:.2f}  {(chances[theirs] >= least).mean():.3f}  {(chances[~theirs] >= least).mean():.3f}")
        found = {lang: (chances[theirs & (langs[held] == lang)] >= LEAST_CHANCE).mean() for lang in set(langs[held])}
        print("  found by language:", ", ".join(f"{lang} {share:.2f}" for lang, share in sorted(found.items())))


if __name__ == "__main__":
    sys.exit(main())
