"""Train the chances of a short reply from labelled replies, and write their weights.

    python -m bench.training.replies [--check]

The labels are our own (``bench/memory_data/replies.jsonl``): replies that accept or do not, proposals that are worth
keeping or offer help for the moment, and questions with answers that are worth keeping or are chatter. ``--check``
prints how well each topic is told by the others, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from distill import summary
from distill.reading.classifier import is_chinese
from distill.statements.sentences import is_question
from distill.summary.replies import BUCKETS, HEADS, Head, reply_row

from .leaning import train

__all__ = ["RIDGE", "LabelledReply", "feature_matrix", "labelled_replies", "main"]

_LABELS = Path(__file__).parents[1] / "memory_data" / "replies.jsonl"
_WEIGHTS = Path(summary.__file__).parent / "replies.npz"
#: Strength of the pull of every weight towards 0.
RIDGE = 0.3
_FOLDS = 5
#: Sentences of the reader that follow a turn, and the longest of them that are short answers.
_SENTENCES = ("turns", "aside", "moment")
_MAX_CHINESE_CHARS, _MAX_WORDS = 20, 10
#: One of so many sentences that are worth keeping is taken.
_KEPT_STEP = 3
#: Shares of the other replies at which the share of those told right is printed.
_PASSING = (0.02, 0.05, 0.1)

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledReply:
    """A reply to a turn, for one head. *topic* groups what is left out together in cross-validation."""

    head: Head
    previous: str
    reply: str
    holds: bool
    topic: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write, or report with ``--check``."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.replies", description="Train on labelled replies.")
    parser.add_argument("--check", action="store_true", help="report on each topic by the others, write nothing")
    options = parser.parse_args(arguments)
    stored: dict[str, NDArray[np.generic]] = {}
    for head in HEADS:
        rows = labelled_replies(head)
        features, wanted = feature_matrix(rows), np.array([float(row.holds) for row in rows])
        if options.check:
            _report(rows, features, wanted)
            continue
        weights = train(features, wanted, ridge=RIDGE)
        scale = float(np.abs(weights).max()) / 127
        stored |= {head: np.round(weights / scale).astype(np.int8), f"{head}_scale": np.asarray(scale, np.float32)}
        print(f"{head}: {len(rows)} labelled replies")
    if stored:
        with _WEIGHTS.open("wb") as file:
            np.savez_compressed(file, **stored)  # type: ignore[arg-type]
        print(f"wrote {_WEIGHTS.name}")
    return 0


def labelled_replies(head: Head) -> list[LabelledReply]:
    """Return the labelled replies of *head* in file order, then those that the reader's sentences yield."""
    rows = [LabelledReply(**json.loads(line)) for line in _LABELS.read_text("utf-8").splitlines()]
    return [row for row in (*rows, *_from_sentences(), *_kept_sentences()) if row.head == head]


def _from_sentences() -> Iterator[LabelledReply]:
    """Yield short answers of other writers, and statements of the assistant, which propose nothing.

    Most are stories, exercises and wishes of the moment, which look like facts.
    """
    for path in sorted(path for name in _SENTENCES for path in _LABELS.parent.glob(f"speech.{name}.??.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            turn, sentence, topic = row["previous"].strip(), row["text"], path.name.split(".")[1]
            if row["role"] != "user" or not turn:
                continue
            if not is_question(turn):
                yield LabelledReply(head="proposes", previous=turn, reply="", holds=False, topic=topic)
            elif len(sentence) <= _MAX_CHINESE_CHARS if is_chinese(sentence) else len(sentence.split()) <= _MAX_WORDS:
                yield LabelledReply(head="answers", previous=turn, reply=sentence, holds=row["keep"], topic=topic)


def _kept_sentences() -> Iterator[LabelledReply]:
    """Yield short sentences of the user that are worth keeping. They take no leave."""
    for path in sorted(_LABELS.parent.glob("speech.*.jsonl")):
        for row in map(json.loads, path.read_text("utf-8").splitlines()):
            words = row["text"]
            short = len(words) <= _MAX_CHINESE_CHARS if is_chinese(words) else len(words.split()) <= _MAX_WORDS
            if short and row["keep"] and row["role"] == "user" and zlib.crc32(words.encode()) % _KEPT_STEP == 0:
                yield LabelledReply(head="leaves", previous="", reply=words, holds=False, topic=path.name.split(".")[1])


def feature_matrix(rows: Sequence[LabelledReply]) -> Matrix:
    """Return a row of features for each reply."""
    found = [reply_row(row.head, row.previous, row.reply) for row in rows]
    parts, shape = HEADS[rows[0].head]("", "")
    features = np.zeros((len(rows), len(shape) + len(parts) * BUCKETS))
    for number, (columns, values) in enumerate(found):
        np.add.at(features[number], columns, values)
    return features


def _report(rows: Sequence[LabelledReply], features: Matrix, wanted: Matrix) -> None:
    """Print for each language how well the replies of some topics are told by those of the others."""
    topics = {topic: number % _FOLDS for number, topic in enumerate(sorted({row.topic for row in rows}))}
    folds = np.array([topics[row.topic] for row in rows])
    scores = np.zeros(len(rows))
    for fold in range(_FOLDS):
        held = folds == fold
        scores[held] = features[held] @ train(features[~held], wanted[~held], ridge=RIDGE)
    chinese = np.array([is_chinese(row.previous + row.reply) for row in rows])
    chances = 1 / (1 + np.exp(-scores))
    for language, own in (("en", ~chinese), ("zh", chinese)):
        holding, other = chances[own & (wanted > 0.5)], np.sort(chances[own & (wanted < 0.5)])[::-1]
        area = float((holding[:, None] > other[None, :]).mean())
        limits = [float(other[int(len(other) * share)]) for share in _PASSING]
        told = ", ".join(f"{(holding > limit).mean():.2f} at {limit:.2f}" for limit in limits)
        print(f"{rows[0].head} {language}: {int(own.sum())} replies, area {area:.3f}")
        print(f"  told where 2/5/10 % of the others pass, at the chance: {told}")


if __name__ == "__main__":
    sys.exit(main())
