"""Classification of sentences as instructions to the reader's assistant, learned from attacks in many languages.

A linear model over hashed features (``guard.injection.features``) judges each sentence and each run of two, so that one
instruction inside a long page counts. ``bench/training/instructions.py`` trains the weights. The evidence of a passage
is the sum of its weights over the square root of the number of its words and signs, so time is linear.

In text of strangers, a small transformer (``guard.inference.passage_network``) reads again what the linear model does
not find harmless, and the sum of both scores decides. Where it cannot be loaded, the linear model decides alone.

The transformer knows Cyrillic least. Text in it has a second linear model, which was trained on Russian texts alone.

Text from a tool or the web is suspected from a low score on, which rises with the number of sentences, because each
is another chance to be wrong. Text of the owner and the agent needs a much higher one, because people give orders and
write about attacks.
"""

import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from guard.inference.passage_network import network_numbers, open_network
from guard.injection.features import TokenRun, WordKeys, context_buckets, sentences, word_buckets, word_length
from guard.lazy_regex import lazy_regex
from guard.match import Match, Strength
from guard.text.canonical import TextVariant
from guard.text.quotation import Quotations
from guard.weight_table import WeightTable

__all__ = [
    "RUN",
    "LinearSuspicion",
    "SuspectSpan",
    "best_score",
    "cyrillic_model",
    "find_suspects",
    "linear_model",
    "rise",
    "windows",
]

_WEIGHTS = Path(__file__).with_name("weights") / "instructions.bin"
_CYRILLIC_WEIGHTS = _WEIGHTS.with_name("cyrillic.bin")
_HEAD = struct.Struct("<4f")
"""Scale of the weights, bias, and the scores from which text of strangers and of the owner is suspected."""

RUN = 2
"""Sentences of one passage."""

_RISE, _MOST_RISE = 0.15, 0.75
"""Rise of the score from which text of strangers is suspected, for each doubling of its sentences, and its limit."""

_HOPELESS = -2.0
"""Score of a sentence's words alone below which its neighbouring words are not looked up. Hardly an attack is below."""

_CYRILLIC_SHARE, _CYRILLIC_LEAST, _CYRILLIC_GATE = 2.0, 2.7, -0.5
"""Part of the Cyrillic model's score that is added, the sum that is suspected, and the score that is read again."""

_CYRILLIC = lazy_regex("[\u0400-\u04ff]{3}")

_MAX_MATCHES = 16
"""Matches reported per text. One is enough to act."""

_KNOWN_WORDS = 20_000
"""Words remembered with the sum of their weights."""

_MAX_READ_AGAIN = 200
"""Passages of a text that the transformer reads, the most suspicious first. One takes about 2 ms."""


_KnownWord = tuple[int, float, WordKeys]
"""Sum of the weights of a word, its length and its keys."""


class SuspectSpan(NamedTuple):
    """A passage: its score, and its half-open place in the variant."""

    score: float
    start: int
    end: int


def find_suspects(variant: TextVariant, quotations: Quotations, *, trusted: bool) -> Iterator[Match]:
    """Yield the passages of *variant* that read like an instruction to an assistant, with offsets into its source."""
    model = linear_model()
    parts = list(sentences(variant.lowered))
    if not parts:
        return
    suspects = model.suspects(parts, model.trusted) if trusted else _suspects_of_strangers(variant, parts)
    for passage in islice(suspects, _MAX_MATCHES):
        start, end = variant.span(passage.start, passage.end)
        yield Match(
            layer="injection",
            rule="classifier",
            kind="suspected-instruction",
            start=start,
            end=end,
            strength=Strength.HARD if trusted else Strength.SOFT,
            quoted=trusted and quotations.overlaps(start, end),
        )


def _suspects_of_strangers(variant: TextVariant, parts: list[TokenRun]) -> Iterator[SuspectSpan]:
    """Yield the suspected passages of a text from a tool or the web, in order, without overlaps."""
    model, numbers, more = linear_model(), network_numbers(), rise(len(parts))
    spans, cyrillic = list(windows(model.passages(parts))), _cyrillic_scores(variant, parts)
    read_again = [
        span for span in spans if span.score >= numbers.gate or cyrillic.get(span.start, -math.inf) >= _CYRILLIC_GATE
    ]
    network = open_network() if read_again else None
    if network is None:
        yield from model.suspects(parts, model.untrusted + more)
        return
    if len(read_again) > _MAX_READ_AGAIN:
        read_again = sorted(nlargest(_MAX_READ_AGAIN, read_again), key=lambda span: span.start)
    end = -1
    for span in read_again:
        if span.start < end:
            continue
        score, least = (
            network.score(variant.text[span.start : span.end]) + numbers.share * span.score,
            numbers.threshold,
        )
        if span.start in cyrillic:
            score, least = score + _CYRILLIC_SHARE * cyrillic[span.start], _CYRILLIC_LEAST
        if score >= least + numbers.rise * more:
            yield span
            end = span.end


def _cyrillic_scores(variant: TextVariant, parts: list[TokenRun]) -> dict[int, float]:
    """Return the score of each window that has Cyrillic words, by its start, as the Cyrillic model sees it."""
    if _CYRILLIC.search(variant.text) is None:
        return {}
    spans = windows(cyrillic_model().passages(parts))
    return {span.start: span.score for span in spans if _CYRILLIC.search(variant.text, span.start, span.end)}


def windows(passages: Iterable[SuspectSpan]) -> Iterator[SuspectSpan]:
    """Yield each run of two sentences, or the only sentence, with the highest score of the run and its sentences."""
    before: SuspectSpan | None = None
    sentence: SuspectSpan | None = None
    for span in passages:
        if sentence is None or span.end != sentence.end:
            before, sentence = sentence, span
        elif before is not None:
            yield span._replace(score=max(span.score, sentence.score, before.score))
    if before is None and sentence is not None:
        yield sentence


def best_score(text: str) -> float:
    """Return the highest score of a passage of *text*, which is in lower case. Minus infinity without a word."""
    return max((passage.score for passage in linear_model().passages(sentences(text))), default=-math.inf)


def rise(count: int) -> float:
    """Return how much more score a passage needs in a text of *count* sentences than in one sentence alone."""
    return min(_RISE * math.log2(max(count, 1)), _MOST_RISE)


class LinearSuspicion:
    """Weights of the buckets, and the scores from which a passage counts."""

    def __init__(self, weights: bytes, scale: float, bias: float, *, untrusted: float, trusted: float) -> None:
        self._total = WeightTable(weights).total
        self._scale, self._bias = scale, bias
        self.untrusted, self.trusted = untrusted, trusted
        self._known: dict[str, _KnownWord] = {}

    def suspects(self, parts: Iterable[TokenRun], least: float) -> Iterator[SuspectSpan]:
        """Yield the shortest passages whose score is at least *least*, without overlaps."""
        end = -1
        for passage in self.passages(parts):
            if passage.score >= least and passage.start >= end:
                yield passage
                end = passage.end

    def passages(self, parts: Iterable[TokenRun]) -> Iterator[SuspectSpan]:
        """Yield each sentence of *parts*, and behind it the run of two that ends with it."""
        recent: list[tuple[int, float, int]] = []
        for sentence in parts:
            total, count = self._evidence(sentence)
            recent = [*recent[-RUN + 1 :], (total, count, sentence.start)]
            total, count = 0, 0.0
            for part_total, part_count, start in reversed(recent):
                total += part_total
                count += part_count
                yield SuspectSpan(total * self._scale / math.sqrt(count) + self._bias, start, sentence.end)

    def _evidence(self, sentence: TokenRun) -> tuple[int, float]:
        """Return the sum of the weights of *sentence*, and its length in words and signs."""
        try:
            words = [self._known[word] for word in sentence.tokens]
        except KeyError:
            words = self._learned(sentence.tokens)
        totals, lengths, all_keys = zip(*words, strict=True)
        total, count = sum(totals), sum(lengths)
        if total * self._scale / math.sqrt(count) + self._bias < _HOPELESS:
            return total, count
        return total + self._total(context_buckets(all_keys)), count

    def _learned(self, tokens: Sequence[str]) -> list[_KnownWord]:
        """Return what is known of each of *tokens*, after the unknown ones were looked up."""
        if len(self._known) >= _KNOWN_WORDS:
            self._known.clear()
        for word in tokens:
            if word not in self._known:
                buckets, keys = word_buckets(word)
                self._known[word] = (self._total(buckets), word_length(word), keys)
        return [self._known[word] for word in tokens]


@cache
def linear_model() -> LinearSuspicion:
    """Return the model of all languages. The first call reads its weights."""
    return _stored_model(_WEIGHTS)


@cache
def cyrillic_model() -> LinearSuspicion:
    """Return the model of Russian texts. The first call reads its weights."""
    return _stored_model(_CYRILLIC_WEIGHTS)


def _stored_model(path: Path) -> LinearSuspicion:
    data = path.read_bytes()
    scale, bias, untrusted, trusted = _HEAD.unpack_from(data)
    return LinearSuspicion(data[_HEAD.size :], scale, bias, untrusted=untrusted, trusted=trusted)
