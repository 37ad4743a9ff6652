"""Judge whether two statements of one shape are about the same object.

"Write comments in English" and "Write tests in English" share their shape and are two wishes. "Write comments in
English" and "Write comments in German" are one wish with two values. One small model reads where the statements differ:
in how many places, which function words stand beside each place, and what kind of value stands in it. It knows no
nouns, so objects and values that it never saw count alike. ``python -m bench.training.pairs.same_object`` writes its
weights.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from importlib.resources import files

from guard.lazy_regex import lazy_regex
from recall.text.normalise import normalise

from ..statement_parser import parse_statement

__all__ = [
    "WEIGHTS_FILE",
    "chance_of_same_object",
    "gives_another_value",
    "have_one_shape",
    "is_of_other_object",
    "shape_features",
]

WEIGHTS_FILE = "data/same_object_weights.json"
#: Longer statements have no single shape.
_MAX_WORDS = 40
#: Longest statement of the same shape as a shorter one, as a factor and in words more.
_MOST_LONGER, _MOST_ADDED = 2, 2
#: Least words that both have in the same order, and their least share of the shorter statement.
_LEAST_SHARED, _LEAST_SHARE = 1, 0.3
#: Least chance of one object at which a changed value may replace the older one, and at which it does so alone.
_MAY_BE_SAME, _IS_SAME = 0.3, 0.9
#: Longer words beside a difference are nouns and verbs rather than function words.
_MAX_NEIGHBOUR_CHARS = 6
_WORD = lazy_regex(r"[\u3400-\u9fff]|\d+(?:[.,:]\d+)*|[^\W\d_\u3400-\u9fff]+(?:['’-][^\W\d_]+)*")
_HAN = lazy_regex(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Word:
    """A word as it is compared. *kind* is that of the token of the statement, or ``light`` without one."""

    key: str
    kind: str
    capital: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """Words of the older statement in *was* where the newer one has those in *now*, and the words beside them."""

    was: tuple[_Word, ...]
    now: tuple[_Word, ...]
    before: str
    behind: str

    @property
    def replaces(self) -> bool:
        """True if both statements say something here."""
        return all(any(word.kind != "light" for word in side) for side in (self.was, self.now))


def is_of_other_object(older: str, newer: str) -> bool:
    """Return whether both statements have one shape and are likely about two objects.

    >>> is_of_other_object("Write comments in English.", "Write tests in English.")
    True
    >>> is_of_other_object("Write comments in English.", "Write comments in German.")
    False
    """
    return have_one_shape(older, newer) and chance_of_same_object(older, newer) < _MAY_BE_SAME


def gives_another_value(older: str, newer: str) -> bool:
    """Return whether both statements differ in one place alone, and surely give one object two values.

    >>> gives_another_value("We use Jira for tickets.", "We use Linear for tickets now.")
    True
    >>> gives_another_value("We use Jira for tickets.", "We use Jira for incidents.")
    False
    """
    if not have_one_shape(older, newer):
        return False
    places = _places(_words(older), _words(newer))
    said = [place for place in places if any(word.kind != "light" for word in (*place.was, *place.now))]
    alone = len(said) == 1 and said[0].replaces
    return alone and chance_of_same_object(older, newer) >= _IS_SAME


def have_one_shape(older: str, newer: str) -> bool:
    """Return whether both statements have so many words in the same order that one was made from the other's shape.

    >>> have_one_shape("Write comments in English.", "Write tests in German.")
    True
    >>> have_one_shape("We ship with DHL.", "DHL lost two parcels.")
    False
    """
    was, now = _words(older), _words(newer)
    shorter, longer = sorted((len(was), len(now)))
    if not shorter or longer > min(_MAX_WORDS, _MOST_LONGER * shorter + _MOST_ADDED):
        return False
    shared = sum(block.size for block in _matcher(was, now).get_matching_blocks())
    return shared > _LEAST_SHARED and shared >= _LEAST_SHARE * shorter


def chance_of_same_object(older: str, newer: str) -> float:
    """Return the chance that *newer* gives the object of *older* another value, if both have one shape."""
    weights = _weights()
    total = weights["constant"] + sum(weights.get(name, 0.0) for name in shape_features(older, newer))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def shape_features(older: str, newer: str) -> frozenset[str]:
    """Return the names of the features of two statements. Each is there or not."""
    was, now = _words(older), _words(newer)
    places = _places(was, now)
    filled = [place for place in places if place.replaces]
    script = "han" if _HAN.search(older) and _HAN.search(newer) else "latin"
    return frozenset(_features(was, now, places, filled, script))


def _features(
    was: Sequence[_Word],
    now: Sequence[_Word],
    places: Sequence[_Difference],
    filled: Sequence[_Difference],
    script: str,
) -> Iterator[str]:
    yield f"{script}: places {min(3, len(filled))}"
    shared = {word.key for word in was} & {word.key for word in now}
    content = {word.key for word in was if word.kind != "light"} & shared
    yield f"{script}: shared {min(4, len(content))}"
    kept = sorted({word.kind for word in was if word.key in shared and word.kind not in {"light", "word", "han"}})
    yield from (f"kept {kind}" for kind in kept)
    verb = next((word.key for word in was if word.kind == "word" and word.key in shared), "")
    for place in places:
        if place.replaces:
            yield from _place_features(place, len(filled), script)
            yield f"{verb}: behind {place.before} before {place.behind}"
        else:
            yield from (f"only one: {word.key}" for word in (*place.was, *place.now) if word.kind == "light")
            if any(word.kind != "light" for word in (*place.was, *place.now)):
                yield f"{script}: one says more"
                yield f"{script}: one says more behind {place.before}"


def _place_features(place: _Difference, count: int, script: str) -> Iterator[str]:
    """Yield what stands in and beside a place where both statements say something."""
    kinds = [_kind(side) for side in (place.was, place.now)]
    kind = kinds[0] if kinds[0] == kinds[1] else "mixed"
    head = "only" if count == 1 else "each"
    position = "end" if place.behind == "END" else "start" if place.before == "START" else "middle"
    yield f"{script} {head}: {kind}"
    yield f"{script} {head}: {position}"
    yield f"{script} {head}: {kind} at {position}"
    yield f"{head}: behind {place.before}"
    yield f"{head}: before {place.behind}"
    yield f"{head}: {position} behind {place.before}"
    if position == "middle":
        yield f"{head}: between {place.before} and {place.behind}"
    if all(side[0].capital for side in (place.was, place.now)):
        yield f"{script} {head}: capital at {position}"
    if all(side[-1].key.endswith("s") for side in (place.was, place.now)):
        yield f"{script} {head}: plural at {position}"
    if any(len([word for word in side if word.kind != "light"]) > 1 for side in (place.was, place.now)):
        yield f"{script} {head}: long at {position}"


def _kind(side: Sequence[_Word]) -> str:
    """Return the kind of the value of a side: that of its most particular word."""
    kinds = {word.kind for word in side if word.kind != "light"}
    return next((kind for kind in ("number", "time", "day", "date", "period", "name") if kind in kinds), "word")


def _places(was: Sequence[_Word], now: Sequence[_Word]) -> list[_Difference]:
    """Return the places where the statements differ, in order."""
    found = []
    for name, start, end, new_start, new_end in _matcher(was, now).get_opcodes():
        if name != "equal":
            found.append(_Difference(
                was=tuple(was[start:end]), now=tuple(now[new_start:new_end]),
                before=_neighbour(was[start - 1]) if start else "START",
                behind=_neighbour(was[end]) if end < len(was) else "END",
            ))  # fmt: skip
    return found


def _neighbour(word: _Word) -> str:
    """Return a function word as it is, and any other word by its kind."""
    plain = word.kind == "light" or (word.kind in {"word", "han"} and len(word.key) <= _MAX_NEIGHBOUR_CHARS)
    return word.key if plain else word.kind.upper()


def _matcher(was: Sequence[_Word], now: Sequence[_Word]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, [word.key for word in was], [word.key for word in now], autojunk=False)


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[_Word, ...]:
    """Return the words of a statement in order, those without a token of the statement as ``light``."""
    said = parse_statement(normalise(text))
    kinds = {place: token.kind for token in said.tokens for place in range(token.start, token.end)}
    found = []
    for match in _WORD.finditer(said.text):
        raw = match.group()
        kind = kinds.get(match.start(), "light")
        key = re.sub(r"['’]s$", "", raw.casefold())
        found.append(_Word(key=key, kind="word" if kind == "han" else kind, capital=raw[0].isupper()))
    return tuple(found)


@cache
def _weights() -> Mapping[str, float]:
    stored: dict[str, float] = json.loads(files(__package__).joinpath(WEIGHTS_FILE).read_text("utf-8"))
    return stored
