"""Secrets told in sentences, in any language: a small trained model judges each candidate with the words around it.

The score of a candidate is a sum of weights: of its form (``form_buckets``), of its place, and of the words around it.
The sums of a word are remembered, so time is linear. ``bench/training/told_values.py`` trains the weights on texts that
tell a secret and on texts that do not. No rule and no list of words says how a language tells one.
"""

import math
import struct
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from guard.match import Match
from guard.redaction import replaced_match
from guard.secrets.public_values import is_public, is_row_field
from guard.secrets.told.candidates import Candidate, Kind
from guard.secrets.told.dates import is_date_part
from guard.secrets.told.features import (
    FARTHEST,
    FORM_BUCKETS,
    OTHER_SENTENCE,
    TextWords,
    ToldContext,
    WordKeys,
    form_buckets,
    group_of,
    neighbour_buckets,
    other_mask,
    place_buckets,
    window_of,
    word_keys,
    zone_masks,
)
from guard.secrets.told.names import name_buckets, told_candidates
from guard.secrets.told.reader import told_reader
from guard.secrets.told.words import PlainCandidate, PlainRegion, plain_candidates, plain_regions, word_bag
from guard.text.canonical import TextVariant
from guard.text.ids import IdSpan, id_at, id_spans
from guard.weight_table import WeightTable

__all__ = ["HEAD", "PlainModel", "ToldModel", "find_told_values", "plain_model", "told_model"]

_WEIGHTS = Path(__file__).with_name("values.bin")
_PLAIN_WEIGHTS = Path(__file__).with_name("plain_values.bin")

HEAD = struct.Struct("<5f")
"""Scales of the weights of form and context, bias, least score of a secret, and least score of the form of a value.

A value with a form below it is not looked at any further. Plain words have no such number.
"""

_KNOWN_WORDS = 20_000
"""Words remembered with their hashes and sums."""

_LEAST_WORDS = 2
"""Words of the same sentence without which letters and digits are never a secret."""

_MOST_JUDGED = 400
"""Candidates of one text that are judged with their context. A text with more is data."""


_MOST_REGIONS = 40
"""Parts of one text whose plain words are judged. A text with more is documentation."""

_NAMES_WEIGH = 4.0
"""Log odds that names beside a candidate add at most. A candidate that lacks more is not looked at again."""


_CODES = frozenset({Kind.NUMBER, Kind.SHORT, Kind.GROUPS})

_POSSIBLE, _POSSIBLE_IN_LONG, _LONG, _MOST_READ = -4.0, -2.0, 320, 48
"""Log odds above the least score from which candidates are read again, the same in texts of more than 320 characters,
and how many of a text, the most likely. A long text has many candidates, and reading a window of it takes 2 ms."""

_POSSIBLE_SHORT = -0.5
"""The same for numbers of one or two digits, which stand beside many things."""


def find_told_values(variant: TextVariant) -> Iterator[Match]:
    """Yield the secrets that *variant* tells, with offsets into its source."""
    ids = id_spans(variant.text)
    for found in _read_again(variant.text, [*_judged_values(variant, ids), *_judged_words(variant, ids)]):
        yield replaced_match("secret", found.rule, found.kind, variant.span(found.start, found.end))


def _read_again(text: str, judged: Sequence["_Judged"]) -> list["_Judged"]:
    """Return candidates with the sum of both scores, the most likely of those that overlap."""
    reader = told_reader() if judged else None
    if reader is not None:
        ordered = sorted(judged, key=lambda found: -found.score)
        read = sorted(ordered[:_MOST_READ], key=lambda found: found.start)
        scores = reader.scores(text, [found[:2] for found in read])
        judged = [
            found._replace(score=_joint(found, reader.share * (score or 0.0) - reader.least))
            for found, score in zip(read, scores, strict=True)
        ]
        # Values behind the most likely ones keep their first score: a list of passwords is found whole.
        judged += [found for found in ordered[_MOST_READ:] if found.rule == "told-value"]
    kept: list[_Judged] = []
    for found in sorted(judged, key=lambda found: (-found.score, found.start)):
        if found.score >= 0 and all(found.end <= one.start or one.end <= found.start for one in kept):
            kept.append(found)
    return sorted(kept, key=lambda found: found.start)


def _joint(found: "_Judged", read: float) -> float:
    """Return the score of *found* with what the second reading adds to it.

    A value with digits or signs is only taken back by it: names of projects and machines look like such values.
    """
    return found.score + (min(read, 0.0) if found.rule == "told-value" else read)


class _Judged(NamedTuple):
    """A candidate with its log odds above the least score of a secret, and the rule that found it."""

    start: int
    end: int
    score: float
    rule: str
    kind: str


def _judged_values(variant: TextVariant, ids: Sequence[IdSpan]) -> Iterator[_Judged]:
    """Yield the numbers, quotations and words with other characters that are at least likely to be a secret."""
    model = told_model()
    possible = (
        candidate
        for candidate in told_candidates(variant.text)
        if model.is_possible(variant.text, candidate) and not _is_id(variant.text, candidate, ids)
    )
    candidates = list(islice(possible, _MOST_JUDGED))
    least = _least_possible(variant.text)
    words = TextWords(variant.text, candidates)
    for candidate in candidates:
        score = model.score(words, candidate) - model.least
        lowest = _POSSIBLE_SHORT if candidate.kind == Kind.SHORT else least
        if score >= lowest and not _is_open(variant.text, candidate):
            kind = "code" if candidate.kind in _CODES else "password"
            yield _Judged(candidate.start, candidate.end, score, "told-value", kind)


def _is_open(text: str, candidate: Candidate) -> bool:
    """Return whether *candidate* is published on purpose, or tells a day or a time."""
    return is_public(text, candidate.start, candidate.end) or is_date_part(text, candidate.start, candidate.end)


def _least_possible(text: str) -> float:
    return _POSSIBLE if len(text) <= _LONG else _POSSIBLE_IN_LONG


def _is_id(text: str, candidate: Candidate, ids: Sequence[IdSpan]) -> bool:
    """Return whether *candidate* is an id, or stands in a field of an entry or of a JSON row."""
    if id_at(text, ids, candidate.start, candidate.end) is not None:
        return True
    return is_row_field(text, candidate.start)


def _judged_words(variant: TextVariant, ids: Sequence[IdSpan]) -> Iterator[_Judged]:
    """Yield the plain words and phrases that are at least likely to be told as secrets."""
    model = plain_model()
    for region in islice(plain_regions(variant), _MOST_REGIONS):
        for score, start, end in model.told(region, _least_possible(variant.text)):
            if not is_public(variant.text, start, end) and id_at(variant.text, ids, start, end) is None:
                yield _Judged(start, end, score, "told-word", "password")


@cache
def told_model() -> "ToldModel":
    """Return the bundled model. The first call reads its weights."""
    return ToldModel(_WEIGHTS.read_bytes())


@cache
def plain_model() -> "PlainModel":
    """Return the bundled model of plain words. The first call reads its weights."""
    return PlainModel(_PLAIN_WEIGHTS.read_bytes())


class _Zone(NamedTuple):
    """A place beside a candidate: the words of a side from ``first`` up to ``last``. ``sums`` are of known words."""

    same_sentence: bool
    masks: tuple[int, ...]
    first: int
    last: int
    sums: dict[str, int]


class ToldModel:
    """Weights of the buckets, the score from which a candidate counts, and sums of known words."""

    def __init__(self, data: bytes) -> None:
        head: tuple[float, ...] = HEAD.unpack_from(data)
        self._form_scale, self._context_scale, self._bias, self.least, self._least_form = head
        self._form = WeightTable(data[HEAD.size : HEAD.size + FORM_BUCKETS]).total
        self._context = WeightTable(data[HEAD.size + FORM_BUCKETS :]).total
        self._forms: dict[tuple[str, str], int] = {}
        self._keys: dict[str, WordKeys] = {}
        self._pieces: dict[str, int] = {}
        self._zones: dict[tuple[str, str], tuple[list[_Zone], _Zone]] = {}

    def is_possible(self, text: str, candidate: Candidate) -> bool:
        """Return whether the form of *candidate* is that of some secret, whatever stands around it."""
        return (
            self._form_sum(text[candidate.start : candidate.end], candidate.kind) * self._form_scale >= self._least_form
        )

    def score(self, words: TextWords, candidate: Candidate) -> float:
        """Return the log odds that the text of *words* tells *candidate* as a secret.

        Letters and digits need two words beside them in their sentence.
        """
        value = words.text[candidate.start : candidate.end]
        window = window_of(words, candidate)
        beside = window.same_left + window.same_right
        if not (window.left or window.right) or (beside < _LEAST_WORDS and value.isalnum()):
            return -math.inf  # nothing says what it is
        form = self._form_sum(value, candidate.kind)
        form += self._form(list(place_buckets(words.text, candidate, window)))
        score = self._bias + form * self._form_scale + self._context_sum(window, candidate.kind) * self._context_scale
        if score + _NAMES_WEIGH < self.least:
            return score
        return score + self._form(name_buckets(words.text, candidate)) * self._form_scale

    def _form_sum(self, value: str, kind: str) -> int:
        known = self._forms.get((value, kind))
        if known is None:
            if len(self._forms) >= _KNOWN_WORDS:
                self._forms.clear()
            known = self._forms[value, kind] = self._form(form_buckets(value, kind))
        return known

    def _context_sum(self, window: ToldContext, kind: str) -> int:
        if len(self._keys) >= _KNOWN_WORDS:
            self._keys.clear()
            self._pieces.clear()
            self._zones.clear()
        total = 0
        for side, words, same in (("L", window.left, window.same_left), ("R", window.right, window.same_right)):
            near, other = self._zones.get((side, kind)) or self._new_zones(side, kind)
            for zone in near:
                total += self._zone_sum(words[zone.first : min(zone.last, same)], zone) if zone.first < same else 0
            total += self._zone_sum(words[same : other.last], other)
        whole = {word: self._word_keys(word).whole for word in (*window.left[:2], *window.right[:2])}
        return total + self._context(list(neighbour_buckets(window, whole)))

    def _new_zones(self, side: str, kind: str) -> tuple[list[_Zone], _Zone]:
        """Return the zones of a *side* in the same sentence, the nearest first, and the zone of other sentences."""
        near: list[_Zone] = []
        for distance in range(1, FARTHEST + 1):
            masks = zone_masks(side, distance, group_of(kind))
            last = distance if distance < FARTHEST else sys.maxsize
            if near and near[-1].masks == masks:
                near[-1] = near[-1]._replace(last=last)
            else:
                near.append(_Zone(True, masks, distance - 1, last, {}))
        self._zones[side, kind] = near, _Zone(False, (other_mask(side),), 0, OTHER_SENTENCE, {})
        return self._zones[side, kind]

    def _zone_sum(self, words: Sequence[str], zone: _Zone) -> int:
        try:
            return sum(map(zone.sums.__getitem__, words))
        except KeyError:
            for word in words:
                if word not in zone.sums:
                    zone.sums[word] = self._word_sum(word, zone)
        return sum(map(zone.sums.__getitem__, words))

    def _word_sum(self, word: str, zone: _Zone) -> int:
        """Return the sum of the weights of *word* in a *zone*."""
        keys = self._word_keys(word)
        total = self._context([stem ^ mask for mask in zone.masks for stem in keys.stems])
        if not zone.same_sentence:
            return total
        pieces = self._pieces.get(word)
        if pieces is None:
            pieces = self._pieces[word] = self._context(keys.pieces)
        return total + pieces

    def _word_keys(self, word: str) -> WordKeys:
        keys = self._keys.get(word)
        if keys is None:
            keys = self._keys[word] = word_keys(word)
        return keys


class PlainModel:
    """Weights of the buckets of plain words, and the score from which one counts."""

    def __init__(self, data: bytes) -> None:
        head: tuple[float, ...] = HEAD.unpack_from(data)
        self._form_scale, self._context_scale, self._bias, self.least, _ = head
        self._form = WeightTable(data[HEAD.size : HEAD.size + FORM_BUCKETS]).total
        self._context = WeightTable(data[HEAD.size + FORM_BUCKETS :]).total
        self._sums: dict[tuple[str, bool], int] = {}

    def told(self, region: PlainRegion, least: float = 0.0) -> Iterator[tuple[float, int, int]]:
        """Yield score, start and end of the words that may be told as secrets. They may overlap.

        The score is what exceeds the least score of a secret, and is *least* or more.
        """
        if len(self._sums) >= _KNOWN_WORDS:
            self._sums.clear()
        for score, candidate in self._scored(region):
            if score - self.least >= least:
                yield score - self.least, candidate.start, candidate.end

    def _scored(self, region: PlainRegion) -> Iterator[tuple[float, PlainCandidate]]:
        words = region.words
        same = [self._bag_sum(word.name, same=True) for word in words]
        bags = {
            number: sum(
                one if word.sentence == number else self._bag_sum(word.name, same=False)
                for word, one in zip(words, same, strict=True)
            )
            for number in {word.sentence for word in words}
        }
        for candidate in plain_candidates(region):
            bag = bags[words[candidate.first].sentence] - sum(same[candidate.first : candidate.upto])
            context = bag + self._context(candidate.context)
            form = self._form(candidate.form)
            yield self._bias + form * self._form_scale + context * self._context_scale, candidate

    def _bag_sum(self, name: str, *, same: bool) -> int:
        known = self._sums.get((name, same))
        if known is None:
            known = self._sums[name, same] = self._context(word_bag(name, same=same))
        return known
