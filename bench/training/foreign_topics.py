"""Train the chance that a statement is about something that only the owner says, and write its weights.

    python -m bench.training.foreign_topics [--check]

The sentences and terms of eleven languages are our own (``bench/memory_data/foreign_topics.txt``): the language, a sign
(``+`` for a topic of the owner) and texts between bars. Sentences of the reader's training data that state something
else are counted as ordinary ones. ``--check`` prints what each chance finds and costs on sentences of folds that were
left out, and of whole languages of whose sentences none was seen, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from distill import reading
from distill.reading.foreign_topics import BUCKETS, topic_features

from .leaning import train

__all__ = ["TopicText", "feature_matrix", "labelled_texts", "main"]

_DATA = Path(__file__).parents[1] / "memory_data"
_WEIGHTS = Path(reading.__file__).parent / "foreign_topics.npz"
_RIDGE = 0.3
_FOLDS = 5
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
#: Ordinary sentences of each language of the reader's data.
_MOST = 350

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicText:
    """A text in a language. *kind* is sentence, framed, term, or reader for the reader's training data."""

    text: str
    lang: str
    owners: bool
    kind: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write, or report with ``--check``."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.training.foreign_topics", description="Train on labelled texts."
    )
    parser.add_argument("--check", action="store_true", help="report on texts left out, write nothing")
    rows = labelled_texts()
    features, wanted = feature_matrix(rows), np.array([float(row.owners) for row in rows])
    if parser.parse_args(arguments).check:
        _report(rows, features, wanted)
        return 0
    weights = train(features, wanted, ridge=_RIDGE)
    scale = float(np.abs(weights).max()) / 127
    np.savez_compressed(_WEIGHTS, weights=np.round(weights / scale).astype(np.int8), scale=np.float32(scale))
    print(f"{len(rows)} labelled texts; wrote {_WEIGHTS.name}")
    return 0


def labelled_texts() -> list[TopicText]:
    """Return the labelled texts in file order, and then those of the reader's data."""
    rows = []
    for line in (_DATA / "foreign_topics.txt").read_text("utf-8").splitlines():
        lang, sign, texts = line.split(" ", 2)
        kind = "term" if "|" in texts else "sentence"
        rows += [TopicText(text=text, lang=lang, owners=sign == "+", kind=kind) for text in texts.split("|")]
    return [*rows, *_framed(rows), *_of_reader()]


def _framed(rows: Sequence[TopicText]) -> Iterator[TopicText]:
    """Yield the sentences of *rows* behind frames of an agent."""
    for number, row in enumerate(row for row in rows if row.kind == "sentence"):
        for step in range(_FRAMES_EACH):
            frame = _FRAMES[(number * 5 + step * 7) % len(_FRAMES)]
            yield replace(row, text=frame.format(row.text), kind="framed")


def feature_matrix(rows: Sequence[TopicText]) -> Matrix:
    """Return a row of features for each text. The first one is the bias."""
    features = np.zeros((len(rows), BUCKETS + 1))
    features[:, 0] = 1
    for number, row in enumerate(rows):
        for bucket, value in topic_features(row.text).items():
            features[number, bucket + 1] = value
    return features


def _of_reader() -> Iterator[TopicText]:
    for lang in ("en", "zh"):
        lines = (_DATA / f"speech.train.{lang}.jsonl").read_text("utf-8").splitlines()
        lines += (_DATA / f"speech.more.{lang}.jsonl").read_text("utf-8").splitlines()
        texts = [row["text"] for row in map(json.loads, lines) if row["act"] in _ORDINARY]
        for text in [text for text in texts if not _UNSURE.search(text)][:_MOST]:
            yield TopicText(text=text, lang=lang, owners=False, kind="reader")


def _report(rows: Sequence[TopicText], features: Matrix, wanted: Matrix) -> None:
    kinds, langs = np.array([row.kind for row in rows]), np.array([row.lang for row in rows])
    fold = np.random.default_rng(0).permutation(np.arange(len(rows)) % _FOLDS)
    own, reader = kinds == "sentence", kinds == "reader"
    fold[kinds == "framed"] = np.repeat(fold[own], _FRAMES_EACH)
    scores = np.zeros(len(rows))
    for number in range(_FOLDS):
        unseen = (fold == number) & (kinds != "term")
        held = unseen & (own | reader)
        scores[held] = features[held] @ train(features[~unseen], wanted[~unseen], ridge=_RIDGE)
    print("sentences left out by fold: chance, found, false of ours, false of the reader's")
    _print_chances(1 / (1 + np.exp(-scores)), wanted, own, reader)
    for lang in sorted(set(langs)):
        unseen = (own | (kinds == "framed")) & (langs == lang)
        held = own & unseen
        scores[held] = features[held] @ train(features[~unseen], wanted[~unseen], ridge=_RIDGE)
    print("sentences of a language of which only terms were seen")
    _print_chances(1 / (1 + np.exp(-scores)), wanted, own, reader)


def _print_chances(chances: Matrix, wanted: Matrix, own: NDArray[np.bool_], reader: NDArray[np.bool_]) -> None:
    for least in _CHANCES:
        found = (chances[own & (wanted > 0)] >= least).mean()
        false = (chances[own & (wanted == 0)] >= least).mean()
        print(f"{least:.2f}  {found:.3f}  {false:.3f}  {(chances[reader] >= least).mean():.3f}")


if __name__ == "__main__":
    sys.exit(main())
