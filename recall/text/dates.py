"""Days that a query names, and how near to them something was said.

"In June", "on 7 May 2023", 昨天 and "two weeks ago" each name a period. A passage from that period, or from the days
after it, is likelier to be the answer, because people tell what happened a few days later. A date is evidence beside
the words, never a filter.

Relative words need the present day. Without it they name nothing. A period without a year is that period of every year.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt

from guard.lazy_regex import lazy_regex

__all__ = ["Period", "day_number", "nearness", "periods"]

Days = npt.NDArray[np.int64]
#: A day before a period counts as so many days after it, because it only tells of a plan.
_BEFORE = 2.0
#: Most periods read from a query. A pasted log names hundreds.
_MOST = 16

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    "(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d{2})"
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "couple of": 2}
_CJK_COUNTS = {c: n for n, c in enumerate("一二三四五六七八九十", 1)} | {"两": 2}
_UNITS = {"day": 1, "week": 7, "month": 30, "year": 365, "天": 1, "日": 1, "周": 7, "星期": 7, "个月": 30, "年": 365}

#: Ways to write a date, the most specific first. "may" and "march" are months only beside a number or a preposition.
_NAMED = tuple(
    lazy_regex(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?P<year>\d{4})[-/.](?P<number>\d{1,2})[-/.](?P<day>\d{1,2})\b",
        r"\b(?P<day>\d{1,2})\.(?P<number>\d{1,2})\.(?P<year>\d{4})\b",
        rf"\b{_DAY}(?: of)? {_MONTH},?(?: {_YEAR}\b)?",
        rf"\b{_MONTH} {_DAY}\b,?(?: {_YEAR}\b)?",
        rf"\b{_MONTH},? {_YEAR}\b",
        rf"\b(?:in|during|of|since|by|until|before|after|late|early|mid|last|this)[ -]{_MONTH}",
        r"(?:(?P<year>\d{4})年)?(?P<number>\d{1,2})月(?:(?P<day>\d{1,2})[日号])?",
    )
)
_WEEK = r"(?:week|周|星期|礼拜)"


@dataclass(frozen=True, slots=True)
class Period:
    """Days from *first* to *last*, both included. A *yearly* period is that of every year."""

    first: date
    last: date
    yearly: bool = False


def periods(text: str, now: date | None = None) -> tuple[Period, ...]:
    """Return the periods that *text* names, seen from *now*.

    >>> [(str(p.first), str(p.last), p.yearly) for p in periods("what did we see in May 2023 and on 24 December?")]
    [('2000-12-24', '2000-12-24', True), ('2023-05-01', '2023-05-31', False)]
    >>> [str(p.first) for p in periods("what did I say yesterday?", date(2026, 11, 21))]
    ['2026-11-20']
    """
    found: dict[Period, None] = {}
    rest = text
    for pattern in _NAMED:
        for match in pattern.finditer(rest):
            period = _named(match)
            if period is not None:
                found[period] = None
        rest = pattern.sub(" ; ", rest)  # so that a shorter pattern does not read the same place again
    if now is not None:
        found |= dict.fromkeys(_relative(rest, now))
    return tuple(found)[:_MOST]


def day_number(ts: str) -> int:
    """Return the day of an ISO 8601 time, counted from year 1, or 0 if *ts* has no day.

    >>> day_number("2023-05-08T13:56:00") - day_number("2023-05-01"), day_number("soon")
    (7, 0)
    """
    try:
        return date.fromisoformat(ts[:10]).toordinal()
    except ValueError:
        return 0


def nearness(days: Days, named: tuple[Period, ...], decay: float) -> npt.NDArray[np.float64]:
    """Return how near each of *days* is to the nearest of the *named* periods, from 0 to 1.

    A day within a period has 1. The value falls by e for every *decay* days after the period or half as many before it.
    Day 0, which is no day, has 0.
    """
    near = np.zeros(len(days))
    known = days > 0
    if not named or not known.any():
        return near
    years = range(date.fromordinal(int(days[known].min())).year, date.fromordinal(int(days.max())).year + 1)
    for period in named:
        for first, last in _spans(period, years):
            away = np.where(days < first, (first - days) * _BEFORE, np.maximum(days - last, 0))
            near = np.maximum(near, np.exp(-away / decay))
    return near * known


def _spans(period: Period, years: range) -> Iterator[tuple[int, int]]:
    if not period.yearly:
        yield period.first.toordinal(), period.last.toordinal()
        return
    for year in years:
        last = min(period.last.day, monthrange(year, period.last.month)[1])
        first = min(period.first.day, last)
        yield date(year, period.first.month, first).toordinal(), date(year, period.last.month, last).toordinal()


def _named(match: re.Match[str]) -> Period | None:
    parts = match.groupdict()
    name = parts.get("month")
    month = _MONTHS.index(name[:3].lower()) + 1 if name else int(parts["number"])
    year, day = parts.get("year"), parts.get("day")
    try:
        first = date(int(year or 2000), month, int(day or 1))  # 2000 is a leap year and has a 29 February
    except ValueError:
        return None
    last = first if day else first.replace(day=monthrange(first.year, month)[1])
    return Period(first, last, yearly=not year)


def _relative(text: str, now: date) -> Iterator[Period]:
    lower = text.lower()
    for pattern, read in _RELATIVE:
        for match in pattern.finditer(lower):
            try:
                first, last = read(match, now)
            except (OverflowError, ValueError):  # a day before the year 1
                continue
            yield Period(first, last)


_Read = Callable[[re.Match[str], date], tuple[date, date]]


def _days_back(count: int) -> _Read:
    return lambda _match, now: (now - timedelta(count), now - timedelta(count))


def _ago(match: re.Match[str], now: date) -> tuple[date, date]:
    """Return the period "N units ago". The coarser the unit, the wider the period."""
    number = match["count"]
    count = int(number) if number.isdigit() else (_COUNTS | _CJK_COUNTS)[number]
    unit = _UNITS[match["unit"]]
    middle, slack = now - timedelta(count * unit), timedelta(unit // 2)
    return middle - slack, middle + slack


def _weeks_back(count: int) -> _Read:
    def read(_match: re.Match[str], now: date) -> tuple[date, date]:
        monday = now - timedelta(now.weekday() + 7 * count)
        return monday, monday + timedelta(6)

    return read


def _months_back(count: int) -> _Read:
    def read(_match: re.Match[str], now: date) -> tuple[date, date]:
        months = now.year * 12 + now.month - 1 - count
        first = date(months // 12, months % 12 + 1, 1)
        return first, first.replace(day=monthrange(first.year, first.month)[1])

    return read


def _years_back(count: int) -> _Read:
    return lambda _match, now: (date(now.year - count, 1, 1), date(now.year - count, 12, 31))


def _weekday(match: re.Match[str], now: date) -> tuple[date, date]:
    back = (now.weekday() - _WEEKDAYS.index(match["weekday"])) % 7 or 7
    return now - timedelta(back), now - timedelta(back)


_RELATIVE: tuple[tuple[re.Pattern[str], _Read], ...] = tuple(
    (lazy_regex(pattern), read)
    for pattern, read in (
        (r"\b(?:today|tonight|this morning)\b|今天|今日|今早", _days_back(0)),
        (r"(?<!before )\byesterday\b|\blast night\b|昨天|昨日|昨晚", _days_back(1)),
        (r"\bday before yesterday\b|(?<!大)前天", _days_back(2)),
        (
            r"\b(?P<count>\d{1,3}|a|an|one|two|three|four|five|six|couple of) (?P<unit>day|week|month|year)s? ago\b",
            _ago,
        ),
        (r"(?P<count>\d{1,3}|[一两二三四五六七八九十])(?P<unit>天|日|周|星期|个月|年)(?:以)?前", _ago),
        (rf"\bthis {_WEEK}\b|[本这]个?{_WEEK}", _weeks_back(0)),
        (rf"\b(?:last|past|previous) {_WEEK}(?:end)?\b|上个?{_WEEK}", _weeks_back(1)),
        (r"\bthis month\b|[本这]个?月", _months_back(0)),
        (r"\b(?:last|past|previous) month\b|上个?月", _months_back(1)),
        (r"\bthis year\b|今年", _years_back(0)),
        (r"\b(?:last|past|previous) year\b|去年", _years_back(1)),
        (rf"\b(?:last|on|this) (?P<weekday>{'|'.join(_WEEKDAYS)})\b", _weekday),
    )
)
