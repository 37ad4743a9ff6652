"""Kinds of names beside a candidate for a told secret: of a secret, of what it opens, of another number.

The names stand in ``credential_names.toml``, table *beside*, in many languages. They let the model of told values use
what it learned in one language in the others. No name decides anything.
"""

from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from zlib import crc32

from guard.secrets.pattern import Re2Pattern, compile_pattern
from guard.secrets.told.candidates import Candidate, shaped_candidates, short_numbers
from guard.secrets.told.features import FORM_BUCKETS
from guard.secrets.told.rules import vocabulary
from guard.text.canonical import TextVariant

__all__ = ["name_buckets", "name_features", "told_candidates"]

_MASK = FORM_BUCKETS - 1
_LEFT, _RIGHT = 120, 90
"""Characters around a candidate in which names count."""

_STEPS = (4, 14, 35)
"""Characters between a name and a candidate, up to which the distance is the same."""


_OPENING = frozenset({"secret", "pin", "code", "opened", "access"})
"""Kinds of names beside which a number of one or two digits may be a part of a code."""

_SHORT_BESIDE = 100
"""Characters around such a name in which short numbers are looked at."""


def told_candidates(text: str) -> list[Candidate]:
    """Return all candidates for a told secret in *text* but plain words, in order."""
    found = shaped_candidates(text)
    if next(short_numbers(text, 0, len(text)), None) is None:
        return found
    spans: list[list[int]] = []
    for start, end in _opening_names(text):
        first, last = max(0, start - _SHORT_BESIDE), min(len(text), end + _SHORT_BESIDE)
        if spans and first <= spans[-1][1]:
            spans[-1][1] = last
        else:
            spans.append([first, last])
    if not spans:
        return found
    short = [candidate for first, last in spans for candidate in short_numbers(text, first, last)]
    return sorted([*found, *short])


def _opening_names(text: str) -> Iterator[tuple[int, int]]:
    kinds = list(vocabulary()["beside"])
    for span, *groups in _pattern().matches(TextVariant(text, text)):
        if kinds[next(index for index, group in enumerate(groups) if group[0] >= 0)] in _OPENING:
            yield span


def name_buckets(text: str, candidate: Candidate) -> list[int]:
    """Return the buckets of the names beside *candidate*, in the space of its form."""
    return [crc32(feature.encode()) & _MASK for feature in name_features(text, candidate)]


def name_features(text: str, candidate: Candidate) -> Iterator[str]:
    """Yield how near each kind of name stands on either side of *candidate*, and which kind is the nearest."""
    near = _nearest(text, candidate)
    kind = candidate.kind
    kinds = "".join(sorted({place[1] for place in near}))
    yield f"name kinds {kinds}"
    yield f"name kinds {kind}{kinds}"
    for side in "LR":
        place = min((place for place in near if place[0] == side), key=near.__getitem__, default=side)
        yield f"name nearest {kind}{place}"
        yield f"name nearest {kind}{place}{_step(near.get(place, -1))}"
    for place, distance in near.items():
        yield f"name {place}{_step(distance)}"
        yield f"name {kind}{place}{_step(distance)}"


def _step(distance: int) -> int:
    return bisect_left(_STEPS, distance)


def _nearest(text: str, candidate: Candidate) -> dict[str, int]:
    """Return the distance in characters of the nearest name of each kind, by side and kind."""
    begin = max(0, candidate.start - _LEFT)
    window = text[begin : candidate.end + _RIGHT]
    start, end = candidate.start - begin, candidate.end - begin
    near: dict[str, int] = {}
    for (first, last), *groups in _pattern().matches(TextVariant(window, window)):
        number = next(index for index, group in enumerate(groups) if group[0] >= 0)
        if last <= start:
            near[f"L{number}"] = start - last
        elif first >= end:
            near.setdefault(f"R{number}", first - end)
    return near


@cache
def _pattern() -> Re2Pattern:
    groups = (f"({'|'.join(names)})" for names in vocabulary()["beside"].values())
    return compile_pattern("told-value", f"(?i){'|'.join(groups)}")
