"""Decide whether a statement is about something that only the owner says.

Such topics are payments, accounts, approvals, policies, vendors, access, the owner's wishes, and what the agent shall
do. A statement of a participant, a tool or a page about them waits for a person, however it is worded. A linear model
over words, their parts, and the topic vector of the guard's network decides. Without the network, one over words alone
does. Their weights are a file beside this module, which ``python -m bench.training.foreign_topics`` writes from
sentences and terms of eleven languages. Values that pay or reach somebody, and requests to remember, always count.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from guard.inference.passage_network import open_network
from guard.lazy_regex import lazy_regex

from .labels import parse_label, parse_request

__all__ = ["BUCKETS", "LEAST_CHANCE", "is_owners_topic", "topic_chance", "topic_features"]

#: Hash buckets of the words and their parts. A power of two.
BUCKETS = 1 << 16
#: Chance above which a statement waits. The training script prints what each chance costs.
LEAST_CHANCE = 0.3
_WEIGHTS = "foreign_topics.npz"
_MAX_CHARS, _MAX_WORDS = 600, 120
_MAX_WORD_CHARS = 20
_TOKEN = lazy_regex(r"[\u3400-\u9fff\u3040-\u30ff]+|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|\d+")
_CJK = lazy_regex(r"[\u3400-\u9fff\u3040-\u30ff]")
_CJK_RUN = lazy_regex(r"[\u3400-\u9fff\u3040-\u30ff]+")
_LEAST_RUN = 6
#: Words of a piece of a long clause. The next piece begins in its middle.
_PIECE_WORDS = 6
#: Words of a clause that says something alone.
_LEAST_WORDS = 3
#: Evidence from which a part of a statement makes it wait, whatever the rest says.
_LEAST_OF_PIECE = 2.0
#: Weights of one, two and three characters of a text without blanks.
_CJK_WEIGHTS = (0.15, 0.5, 0.5)
#: A clause may hide behind a harmless one.
_CLAUSE_END = lazy_regex(
    r"[.;,:!?()<>\n\u3002\uff0c\uff1b\uff1a\uff01\u3001]+(?=\s|[^\x00-\x7f]|$)|<!--|\s[-\u2013\u2014]\s"
)
#: E-mail addresses, account numbers with a country, and numbers of six digits or more but dates.
_VALUE = lazy_regex(
    r"[\w.+-]{1,64}@[\w-]{1,64}\.\w|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3}"
    r"|(?<![A-Za-z0-9.])(?!\d{4}-\d\d-\d\d)\d(?:[ -]?\d){5,40}|\b0x[0-9a-fA-F]{16}"
    r"|\b(?:bc1|[13])[a-km-zA-HJ-NP-Z1-9]{25}"
)


def is_owners_topic(text: str, least: float = LEAST_CHANCE) -> bool:
    """Return whether *text* is about something that only the owner says. *least* is the chance above which it is."""
    text = text[:_MAX_CHARS]
    label = parse_label(text)
    if label is not None and (label.asked or label.kind == "preference"):
        return True
    if _VALUE.search(text) or parse_request(text) or topic_chance(text) >= least:
        return True
    return any(_evidence(part) >= _LEAST_OF_PIECE for part in _parts(text))


def _parts(text: str) -> Iterator[str]:
    """Yield the clauses of *text*, pieces of long clauses, and what stands in characters without blanks."""
    for clause in _CLAUSE_END.split(text):
        words = clause.split()
        if len(words) >= _LEAST_WORDS:
            yield clause
        step = _PIECE_WORDS // 2
        for at in range(0, len(words) - step, step) if len(words) > _PIECE_WORDS else ():
            yield " ".join(words[at : at + _PIECE_WORDS])
    if not text.isascii():
        yield from (run[0] for run in _CJK_RUN.finditer(text) if len(run[0]) >= _LEAST_RUN)


@lru_cache(maxsize=4096)
def topic_chance(text: str) -> float:
    """Return the chance that *text* is about something that only the owner says. Reads the first 600 characters."""
    weights, network, text = _load_weights(), open_network(), text[:_MAX_CHARS]
    if network is None:
        return _chance(weights.alone_bias + _sum(weights.alone, text))
    return _chance(weights.bias + _sum(weights.words, text) + float(weights.vector @ network.topic(text)))


def _chance(score: float) -> float:
    return float(1 / (1 + np.exp(-score)))


def _evidence(text: str) -> float:
    """Return what the words of *text* alone add to the score. Words that nobody knows add nothing."""
    return _sum(_load_weights().alone, text)


def _sum(weights: NDArray[np.float32], text: str) -> float:
    return float(sum(weights[bucket] * value for bucket, value in topic_features(text).items()))


def topic_features(text: str) -> Mapping[int, float]:
    """Return the features of *text*: its words, their parts and pairs of them, by bucket."""
    found: dict[int, float] = {}
    for name, value in _features(text[:_MAX_CHARS]):
        bucket = zlib.crc32(name.encode("utf-8", "surrogatepass")) & (BUCKETS - 1)
        found[bucket] = found.get(bucket, 0.0) + value
    return found


def _features(text: str) -> Iterator[tuple[str, float]]:
    before = ""
    for match in islice(_TOKEN.finditer(text), _MAX_WORDS):
        token = match[0].casefold()
        if _CJK.match(token):
            for size, value in enumerate(_CJK_WEIGHTS, 1):
                yield from ((f"z{token[at : at + size]}", value) for at in range(len(token) - size + 1))
            before = ""
        elif token[0].isdecimal():
            yield f"#{min(len(token), 6)}", 0.3
            before = "#"
        else:
            bounded = f"<{token[:_MAX_WORD_CHARS]}>"
            parts = [f"w{token}", f"p{token[:5]}"]
            parts += [f"c{bounded[at : at + size]}" for size in (4, 5) for at in range(len(bounded) - size + 1)]
            yield from ((part, len(parts) ** -0.5) for part in parts)
            if before:
                yield f"b{before[:6]} {token[:6]}", 0.5
            before = token


class _TopicWeights(NamedTuple):
    """Weights of the buckets beside a topic vector, of the 384 numbers of that vector, and of the buckets alone."""

    words: NDArray[np.float32]
    vector: NDArray[np.float32]
    bias: float
    alone: NDArray[np.float32]
    alone_bias: float


@cache
def _load_weights() -> _TopicWeights:
    with (files(__package__) / _WEIGHTS).open("rb") as file, np.load(file) as stored:
        return _TopicWeights(
            words=np.asarray(stored["words"], np.float32) * float(stored["words_scale"]),
            vector=np.asarray(stored["vector"], np.float32),
            bias=float(stored["bias"]),
            alone=np.asarray(stored["alone"], np.float32) * float(stored["alone_scale"]),
            alone_bias=float(stored["alone_bias"]),
        )
