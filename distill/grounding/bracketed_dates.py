"""Check dates in brackets: each is what the words before it mean on the day that they were said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from guard.lazy_regex import lazy_regex

from ..statements.cited_values import Value, value_mentions
from ..statements.dated_words import named_dates
from .alignment import is_content
from .tokens import CLASSES
from .view import AlignmentView

__all__ = ["Gloss", "glosses", "is_known_date"]

_GLOSS = lazy_regex(
    r"\s?[（(]\s*(?P<date>(?:about |约 )?(?:19|20)\d{2}(?:-\d{2}){0,2}(?: (?:to|至) \d{4}-\d{2}-\d{2})?|"
    r"\d{4}\s?年(?:\s?\d+\s?月(?:\s?\d+\s?日)?)?)\s*[)）]"
)
_ONE_DATE = lazy_regex(r"[\d年月日\s-]+")
_WEEK = lazy_regex(
    r"\b(?P<en>next|last|this|coming) (?:week|weekend)\b|(?P<zh>下下|下|上上|上|这|本)个?(?:周末|周|星期|礼拜)|"
    r"周末|weekend|next(?= (?:mon|tues|wednes|thurs|fri|satur|sun)day)",
    re.IGNORECASE,
)
_WEEKS = {"next": 1, "coming": 1, "last": -1, "this": 0, "下下": 2, "下": 1, "上": -1, "上上": -2, "这": 0, "本": 0}
_ORDINAL = lazy_regex(r"\b(?P<number>first|second|third) (?:of )?[a-z]+\s*$", re.IGNORECASE)
_NUMBERS = {"first": 1, "second": 2, "third": 3}
#: A feast whose date no rule here knows.
_FEAST = lazy_regex(r"(?:[节節]|\b(?:easter|good|palm|shrove|ash|black|cyber) \w+day)\s*$", re.IGNORECASE)
#: Stands for a character of a date in brackets. A space would divide a clause of Chinese.
_BLANK = "\u200b"
#: Most days between a day and a turn that names only its number.
_COMING_DAYS = 62
#: Most characters before a date in brackets that name a holiday.
_HOLIDAY_CHARS = 24
#: Most words between a date and what it dates.
_MOST_APART = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Gloss:
    """A date in brackets behind relative words of an entry, at *start*."""

    text: str
    start: int


def glosses(text: str) -> tuple[str, list[Gloss]]:
    """Return *text* with dates in brackets blanked, and these dates."""
    found = [Gloss(text=match["date"], start=match.start()) for match in _GLOSS.finditer(text)]
    return _GLOSS.sub(lambda match: _BLANK * len(match.group()), text), found


def is_known_date(gloss: Gloss, view: AlignmentView, days: Sequence[date | None]) -> bool:
    """Return whether a date in brackets is what the words before it mean on the day that they were said."""
    if any(said and _is_computed(gloss, view.text, said) for said in days):
        return True
    mention = next(iter(value_mentions(gloss.text, None)), None)
    if mention is None or not _ONE_DATE.fullmatch(gloss.text):
        return False
    name = view.text[max(0, gloss.start - _HOLIDAY_CHARS) : gloss.start]
    if _FEAST.search(name) and not _holiday(name):
        return any(token.values & mention.values for token in view.said if re.search(r"\d", token.key))
    return _is_day_of(gloss, mention.values, view, days)


def _is_computed(gloss: Gloss, text: str, said: date) -> bool:
    """Return whether the memory itself writes this date behind these words."""
    start = gloss.start - text.count(_BLANK, 0, gloss.start)
    return (start, gloss.text) in named_dates(text.replace(_BLANK, ""), said)


def _is_day_of(gloss: Gloss, values: frozenset[Value], view: AlignmentView, days: Sequence[date | None]) -> bool:
    """Return whether the *values* of a gloss are what the words before it mean."""
    before = [at for at, token in enumerate(view.entry) if token.start < gloss.start]
    named = next((at for at in reversed(before[-4:]) if view.entry[at].kind == "value"), None)
    if named is not None and named in view.places:
        theirs = view.said[view.places[named]].values
        own = {key for kind, key in view.entry[named].values if kind == "day"}
        told = {key for kind, key in values if kind == "day"}
        if _WEEK.match(view.text[view.entry[named].start :]) and own and told:
            return told <= own and _names_week(view, named)
        ordinal = _ORDINAL.search(view.text[: gloss.start])
        if ordinal and own <= told and _NUMBERS[ordinal["number"].casefold()] == int(next(iter(told), "0")[-2:]):
            return any(kind == "month" and (kind, key) in theirs for kind, key in _months(told))
        return bool(values & theirs) or _is_coming_day(values, theirs, days)
    day = next((key for kind, key in values if kind == "day"), "")
    for match in _WEEK.finditer(view.text[max(0, gloss.start - 24) : gloss.start]):
        weeks = _WEEKS.get((match["en"] or match["zh"] or "this").casefold(), 0)
        for said in days:
            monday = said - timedelta(said.weekday()) + timedelta(7 * weeks) if said else None
            if monday and day and monday <= date.fromisoformat(day) < monday + timedelta(7):
                return True
    if _is_dated(gloss, view, values):
        return True
    holiday = _holiday(view.text[max(0, gloss.start - _HOLIDAY_CHARS) : gloss.start])
    if holiday and day:
        return day[5:] == holiday and any(said and abs((date.fromisoformat(day) - said).days) < 366 for said in days)
    turns = {view.said[place].turn for place in view.places.values()}
    known = {value for token in view.said if token.turn in turns for value in token.values}
    return bool(values & known) or any(said and day == said.isoformat() for said in days)


def _months(days: Iterable[str]) -> set[Value]:
    return {("month", str(int(day[5:7]))) for day in days}


def _names_week(view: AlignmentView, at: int) -> bool:
    """Return whether the turns say the week of a value of the entry: "下礼拜" of "下礼拜三"."""
    text = view.text[view.entry[at].start : view.entry[at].end].casefold()
    week = _WEEK.match(text)
    head = week.group() if week else text
    return any(head in content.casefold() for content in view.contents)


def _holiday(before: str) -> str:
    """Return month and day of the holiday with a fixed date that *before* ends with, or nothing."""
    words = re.sub(r"(?<=\w)['’](?=s\b)|['’]?s? (?:day|eve)$", "", before.casefold().rstrip())
    eve = before.casefold().rstrip().endswith("eve")
    found = next((pair.split("=")[1] for pair in CLASSES["holiday"] if words.endswith(pair.split("=")[0])), "")
    return (date.fromisoformat(f"2001-{found}") - timedelta(eve)).isoformat()[5:] if found else ""


def _is_dated(gloss: Gloss, view: AlignmentView, values: frozenset[Value]) -> bool:
    """Return whether a sentence dates the last words before a gloss: "King's Day is the 27th of April"."""
    words = [token.key for token in view.entry if token.end <= gloss.start and is_content(token)][-2:]
    for place, token in enumerate(view.said):
        if len(words) == 2 and token.values & values:
            same = [other.key for other in view.said[max(0, place - _MOST_APART) : place + _MOST_APART]
                    if (other.turn, other.sentence) == (token.turn, token.sentence)]  # fmt: skip
            if set(words) <= set(same):
                return True
    return False


def _is_coming_day(gloss: frozenset[Value], said: frozenset[Value], days: Sequence[date | None]) -> bool:
    """Return whether *gloss* is a day of the next weeks whose number was *said* without a month."""
    numbers = {key for kind, key in said if kind == "day_of_month"}
    found = [date.fromisoformat(key) for kind, key in gloss if kind == "day"]
    return any(
        str(day.day) in numbers and any(at and abs((day - at).days) <= _COMING_DAYS for at in days) for day in found
    )
