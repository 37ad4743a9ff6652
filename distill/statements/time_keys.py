"""Keys of days, dates and times, equal for all spellings of one: "Oct 3rd", "3 October" and 10月3日."""

from __future__ import annotations

import re

from guard.lazy_regex import lazy_regex

__all__ = ["han_number", "time_key"]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HAN_DIGITS = "〇一二三四五六七八九"
_HAN_NUMBER = lazy_regex(r"[一二三四五六七八九十]+")
#: Minutes of a part of an hour.
_PARTS = {"": "00", "半": "30", "1刻": "15", "3刻": "45"}
_LATER = lazy_regex(r"(?:下午|晚上?|傍晚)\s*$")
_HAN_DATE = lazy_regex(r"(?:(?P<year>\d{4})年)?(?:(?P<month>\d{1,2})月)?(?:(?P<day>\d{1,2})[日号])?")
_ISO_DATE = lazy_regex(r"(?P<year>\d{4})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?")
_CLOCK = lazy_regex(r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)|点(?P<part>半|[13]刻)?)?\s*(?P<noon>[ap]m)?", re.IGNORECASE)


def time_key(kind: str, raw: str, before: str = "") -> str:
    """Return the key of a date, a day of the week or a time, empty where *raw* is none.

    Args:
        kind: ``date``, ``day`` or ``time``.
        raw: the words.
        before: the text before them, which may say that a time is after noon.

    >>> [time_key("date", raw) for raw in ("Oct 3rd", "3 October", "10月3日", "十月三日", "30th", "2026-10-03")]
    ['-10-3', '-10-3', '-10-3', '-10-3', '--30', '2026-10-3']
    >>> time_key("day", "Mondays"), time_key("day", "星期一"), time_key("time", "4:30 pm")
    ('1', '1', '16:30')
    """
    plain = _HAN_NUMBER.sub(lambda found: str(han_number(found.group())), raw) if kind != "day" else raw
    if kind == "date":
        return _date(plain)
    if kind == "day":
        return _weekday(raw)
    if kind == "time":
        return _clock(plain, before)
    return ""


def _date(raw: str) -> str:
    found = _ISO_DATE.fullmatch(raw) or _HAN_DATE.fullmatch(raw)
    if found:
        parts = (found["year"], found["month"], found["day"])
    else:
        lowered = raw.casefold()
        month = next((str(at) for at, name in enumerate(_MONTHS, 1) if name in lowered), "")
        numbers = re.findall(r"\d+", raw)
        parts = (
            next((number for number in numbers if len(number) == 4), ""), month,
            next((number for number in numbers if len(number) < 3), ""),
        )  # fmt: skip
    year, *others = (str(int(part)) if part else "" for part in parts)
    return "-".join([year, *others]) if year or any(others) else ""


def _weekday(raw: str) -> str:
    lowered = raw.casefold()
    if lowered[:3] in _DAYS:
        return str(_DAYS.index(lowered[:3]) + 1)
    return {"日": "7", "天": "7"}.get(raw[-1], str("一二三四五六".find(raw[-1]) + 1))


def _clock(raw: str, before: str) -> str:
    found = _CLOCK.fullmatch(raw.strip())
    if not found:
        return ""
    hour, noon = int(found["hour"]), (found["noon"] or "").casefold()
    if hour < 12 and (noon == "pm" or _LATER.search(before)):
        hour += 12
    elif hour == 12 and noon == "am":
        hour = 0
    return f"{hour}:{found['minute'] or _PARTS[found['part'] or '']}"


def han_number(text: str) -> int:
    """Return the number below 100 that *text* spells."""
    tens, ten, ones = text.partition("十")
    if not ten:
        return int("".join(str(_HAN_DIGITS.index(digit)) for digit in text))
    return 10 * (_HAN_DIGITS.index(tens[-1]) if tens else 1) + (_HAN_DIGITS.index(ones[0]) if ones else 0)
