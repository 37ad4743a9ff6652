"""Find persons and things of an entry that take the place of others: who is "I", which day, which of two, what year."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise

from guard.lazy_regex import lazy_regex

from .alignment import is_content
from .tokens import TextToken
from .view import AlignmentView

__all__ = ["added_owners", "added_year", "corrected_values", "corrected_words", "exchanged_persons", "joined_things"]

#: What stands between words that are taken back and the right ones.
_CORRECTS = lazy_regex(
    r"(?:\.{2,}|…|[-–—,;.!])\s*(?:oh |er+ |uh )?(?:no,? wait|wait,? no|scratch that|actually make it|make that|"
    r"i mean|no sorry|sorry,? no|"
    r"correction)\b"
    r"|(?:不对|不是|错了|说错了|哦不)[,，。.\s]",
    re.IGNORECASE,
)
#: Words of a turn that corrects an earlier one.
_RIGHTS = lazy_regex(
    r"\b(?:actually|no,|nope|not|correction|sorry|wrong|rather|switched|instead|make (?:it|that))\b"
    r"|不对|不是|应该是|更正|错了|改成|改到",
    re.IGNORECASE,
)
#: Most words of a phrase that is taken back.
_MOST_CORRECTED = 6
_HAVE = frozenset({"has", "have", "had", "is", "are", "was", "were"})
_JOINS = frozenset({"and", "和", "跟", "与"})


def exchanged_persons(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield a pronoun that follows the name of another speaker, and a name that takes the place of another's "I"."""
    names = view.alignment.said.names
    named = {token.family for token in view.entry if token.person == "name"}
    for at, place in view.places.items():
        token, other = view.entry[at], view.said[place]
        if token.family not in {"he", "she"} or other.family != "i":
            continue
        before = [own for own in view.entry[:at] if own.person == "name" and own.family in names]
        if before and names[other.turn] not in named:
            yield "person", repr(token.key)


def added_owners(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield owners of the entry that the turns name as a subject: "my brother has" becomes "his brother's"."""
    order = sorted(view.places)
    for at, behind in pairwise(order):
        token, place = view.entry[at], view.places[at]
        if "owner" not in token.cases or token.person or "owner" in view.said[place].cases:
            continue
        between = view.said[place + 1 : view.places[behind]]
        if view.said[place].clause == view.said[view.places[behind]].clause and any(
            word.key in _HAVE for word in between
        ):
            yield "owner", repr(token.key)


def joined_things(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield words behind an "and" of the entry that begin another clause of the turns, whose rest is left out."""
    taken = set(view.places.values())
    for runs, others in pairwise(view.runs):
        last = runs[-1].anchors[-1]
        joined = last + 1 < len(view.entry) and view.entry[last + 1].key in _JOINS
        rest = [place for place in view.clauses[runs[0].clause] if place not in taken]
        if (
            joined and len(runs) == 1 and len(runs[0].anchors) <= 2 and runs[0].role == "home"
            and runs[0].clause != others[0].clause and any(is_content(view.said[place]) for place in rest)
        ):  # fmt: skip
            yield "joined things", repr(view.entry[last].key)
    for runs in view.runs:
        if len(runs) != 1 or len(runs[0].anchors) > 2:
            continue
        first, last = runs[0].anchors[0], runs[0].anchors[-1]
        before = view.entry[first - 1] if first else None
        behind = view.entry[last + 1] if last + 1 < len(view.entry) else None
        listed = before is not None and view.text[before.end : view.entry[first].start].strip() == "、"
        joined = before is not None and before.key in _JOINS and (behind is None or behind.clause != before.clause)
        if not (listed or joined):
            continue
        places = view.clauses[runs[0].clause]
        own = next((view.places[at] for at in range(first - 1, -1, -1) if at in view.places), None)
        rest = [place for place in places if place > view.places[last] and place not in taken]
        if own is None or view.said[own].clause == runs[0].clause or not any(is_content(view.said[at]) for at in rest):
            continue
        yield "joined things", repr(view.entry[first].key)


def corrected_words(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield words of a phrase that its speaker took back: "before Monday, no wait, before Friday"."""
    taken = set(view.places.values())
    for turn, content in enumerate(view.contents):
        for match in _CORRECTS.finditer(content):
            said = [place for place, token in enumerate(view.said) if token.turn == turn]
            before = [place for place in said if view.said[place].end <= match.start()][-_MOST_CORRECTED:]
            behind = [place for place in said if view.said[place].start >= match.end()]
            wrong_value = next((place for place in reversed(before) if view.said[place].kind == "value"), -1)
            right_value = next((place for place in behind[:_MOST_CORRECTED] if view.said[place].kind == "value"), -1)
            if min(wrong_value, right_value) >= 0 and wrong_value in taken and right_value not in taken:
                yield "corrected", repr(view.said[wrong_value].key)
                return
            keys = [view.said[place].key for place in behind]
            for number, place in enumerate(before):
                if view.said[place].kind not in {"guard", "light"} or view.said[place].key not in keys[:12]:
                    continue
                wrong = [at for at in before[number + 1 :] if is_content(view.said[at])]
                again = {view.said[at].key for at in behind}
                if wrong and any(at in taken and view.said[at].key not in again for at in wrong):
                    yield "corrected", repr(view.said[wrong[0]].key)
                    return


def corrected_values(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield values that a later turn corrects by another value of the same label: "terminal 3 actually"."""
    taken = {view.places[at] for at in view.places}
    for place in sorted(taken):
        token = view.said[place]
        label = _label(view, place)
        if token.kind != "value" or not label:
            continue
        newer = [
            other for other in range(place + 1, len(view.said))
            if view.said[other].kind == "value" and view.said[other].turn > token.turn and _label(view, other) == label
            and _RIGHTS.search(view.contents[view.said[other].turn])
        ]  # fmt: skip
        if newer and not taken & set(newer):
            yield "corrected", repr(token.key)


def _label(view: AlignmentView, place: int) -> str:
    """Return the word before a value."""
    before = view.said[place - 1] if place else None
    near = before is not None and before.kind == "word" and before.clause == view.said[place].clause
    return before.key if before is not None and near else ""


def added_year(view: AlignmentView, days: Sequence[date | None]) -> Iterator[tuple[str, str]]:
    """Yield a month whose year the entry adds, if another year is nearer to the day on which it was said."""
    for at, place in view.places.items():
        mine, theirs = view.entry[at], view.said[place]
        day = days[theirs.turn]
        if day is None or not _names_year(mine) or _names_year(theirs):
            continue
        said = _months(theirs)
        for month in _months(mine):
            away = abs(_number(month) - day.year * 12 - day.month)
            if any(abs(_number(other) - day.year * 12 - day.month) < away for other in said):
                yield "year of", repr(mine.key)


def _names_year(token: TextToken) -> bool:
    return re.search(r"\d{4}", token.key) is not None


def _months(token: TextToken) -> list[str]:
    return sorted(key[:7] for kind, key in token.values if kind in {"month_of", "day"})


def _number(month: str) -> int:
    return int(month[:4]) * 12 + int(month[5:7])
