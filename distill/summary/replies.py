"""Chances of a short reply: that it accepts, proposes something to keep, answers for months, or takes leave.

Four linear models read hashed n-grams of the words. Those of a proposal and of an answer also read what the trained
reader says of them. Their weights are one file beside this module, written by ``python -m bench.training.replies`` from
labelled replies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from guard.lazy_regex import lazy_regex

from ..reading.classifier import ACTS, SECTIONS, is_chinese, load_weights, read_sentence
from ..reading.features import FeatureVector, sentence_features, turn_features

__all__ = [
    "BUCKETS",
    "HEADS",
    "Head",
    "acceptance_chance",
    "answer_worth",
    "asks_leave",
    "leaving_chance",
    "proposal_worth",
    "reply_row",
]

Head = Literal["accepts", "proposes", "answers", "leaves"]
Row = tuple[NDArray[np.int64], NDArray[np.float32]]

#: Hash buckets of each text of a head.
BUCKETS = 1 << 12
_MAX_CHARS = 300
#: Weight of what the reader says beside the words, so that these models do not lean on its weights.
_READ_WEIGHT = 0.25
_CORRECTION = ACTS.index("correction")
_WEIGHTS = "replies.npz"
_PIECE = lazy_regex(r"[\u3400-\u9fff]|\w+")
#: A question of the assistant for leave to do something itself, in the languages that it may ask in.
_ASKS_LEAVE = lazy_regex(
    r"^(?:\W*\w+,\s)?(?:(?:shall|should|may|can|could|do) i\b|(?:(?:do|would) you (?:want|like)|want) me to\b|"
    r"would you (?:rather|prefer) (?:that )?i\b|(?:ok(?:ay)?|fine|all right) (?:to|if i)\b|(?:soll|darf|kann) ich\b|"
    r"(?:dois|puis)-je\b|(?:veux-tu|voulez-vous) que j|¿?(?:quieres? que|debo|puedo)\b|(?:devo|posso|vuoi che)\b|"
    r"quer que eu\b|(?:zal|moet|mag) ik\b)|"
    r"^(?:那|好的)?,?(?:需?要不?要?|(?:现在)?可以)?(?:让|由)?我(?!们)(?!建议|提议)",
    re.IGNORECASE,
)


def acceptance_chance(reply: str) -> float:
    """Return the chance that a short *reply* accepts what it replies to, without a condition."""
    return _chance("accepts", "", reply)


def proposal_worth(sentence: str) -> float:
    """Return the chance that *sentence* proposes something worth keeping for months once it is accepted."""
    return _chance("proposes", sentence, "")


def answer_worth(question: str, answer: str) -> float:
    """Return the chance that a short *answer* and its *question* together are worth keeping for months."""
    return _chance("answers", question, answer)


def leaving_chance(reply: str) -> float:
    """Return the chance that a short *reply* only takes leave, thanks, or wants nothing more ("No, that's it.")."""
    return _chance("leaves", "", reply)


def reply_row(head: Head, previous: str, reply: str) -> Row:
    """Return the columns of the weights of *head* that a reply touches, with its values there. A column may repeat."""
    parts, shape = HEADS[head](previous[-_MAX_CHARS:], reply[:_MAX_CHARS])
    hashed = (len(shape) + at * BUCKETS + part.buckets % BUCKETS for at, part in enumerate(parts))
    columns: list[NDArray[np.integer]] = [np.arange(len(shape)), *hashed]
    values = [np.asarray(shape, np.float32), *(part.values for part in parts)]
    return np.concatenate(columns).astype(np.int64), np.concatenate(values).astype(np.float32)


def asks_leave(sentence: str) -> bool:
    """Return whether *sentence* asks for leave of the assistant to do something itself, once or from now on.

    >>> asks_leave("Shall I drop the table?"), asks_leave("Shall we drop the second phase?"), asks_leave("要我删掉吗?")
    (True, False, True)
    """
    return _ASKS_LEAVE.match(sentence.strip()) is not None


def _accepting(_previous: str, reply: str) -> tuple[list[FeatureVector], list[float]]:
    # How a reply is typed says nothing about consent.
    return [sentence_features(_bare(reply).casefold())], [1.0, _length(reply)]


def _proposing(previous: str, _reply: str) -> tuple[list[FeatureVector], list[float]]:
    # Without its mark, because the reader takes no question for a statement.
    alone = load_weights().alone(_bare(previous))
    read = [
        _evidence(float(alone[:SECTIONS].sum())), _evidence(read_sentence(_bare(previous)).keep),
        _READ_WEIGHT * float(alone[0] + alone[1] + alone[4]), _READ_WEIGHT * float(alone[5]),
    ]  # fmt: skip
    leave = float(asks_leave(previous))
    return [sentence_features(previous)], [1.0, _length(previous), *read, leave]


def _answering(previous: str, reply: str) -> tuple[list[FeatureVector], list[float]]:
    reading, both = read_sentence(reply, previous), load_weights().alone(f"{previous} {reply}")
    read = [
        _evidence(reading.keep), _evidence(float(both[:SECTIONS].sum())), _evidence(float(both[5])),
        _evidence(float(load_weights().alone(reply)[:SECTIONS].sum())), _READ_WEIGHT * float(reading.enters),
        _evidence(read_sentence(previous).keep),
    ]  # fmt: skip
    parts = [sentence_features(reply), sentence_features(previous, "assistant"), turn_features(reply, previous)]
    return parts, [1.0, _length(reply), float(is_chinese(previous + reply)), *read]


def _leaving(_previous: str, reply: str) -> tuple[list[FeatureVector], list[float]]:
    alone = load_weights().alone(reply)
    read = [_evidence(float(alone[:SECTIONS].sum())), _evidence(float(alone[_CORRECTION]))]
    numbers = float(any(char.isdigit() for char in reply))
    return [sentence_features(_bare(reply).casefold())], [1.0, _length(reply), numbers, *read]


#: For each head what it reads of a turn and the reply to it: texts as n-grams, and numbers.
HEADS: Mapping[Head, Callable[[str, str], tuple[list[FeatureVector], list[float]]]] = {
    "accepts": _accepting, "proposes": _proposing, "answers": _answering, "leaves": _leaving,
}  # fmt: skip


@lru_cache(maxsize=4096)
def _chance(head: Head, previous: str, reply: str) -> float:
    weights = _load_weights()[head]
    columns, values = reply_row(head, previous, reply)
    return float(1 / (1 + np.exp(-(weights[columns] @ values))))


def _length(text: str) -> float:
    return float(np.log1p(len(_PIECE.findall(text)))) / 2.5


def _evidence(chance: float) -> float:
    """Return the log odds of a chance of the reader, small beside the words."""
    return _READ_WEIGHT * float(np.log((chance + 0.01) / (1.01 - chance))) / 3


def _bare(text: str) -> str:
    """Return *text* without the mark at its end."""
    return text.rstrip(".。!?~ \uff01\uff1f")


@cache
def _load_weights() -> Mapping[str, NDArray[np.float32]]:
    with (files(__package__) / _WEIGHTS).open("rb") as file, np.load(file) as stored:
        return {head: np.asarray(stored[head], np.float32) * float(stored[f"{head}_scale"]) for head in HEADS}
