"""Days that an answer names by another day: "the Friday before 15 July 2023" is 2023-07-14.

A line of memory holds such a day as a date, so its words and those of the answer differ although both say the same.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

__all__ = ["named_days", "written_days"]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_ANSWER = re.compile(
    r"\b(?P<unit>day|weekend|week|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*) (?P<side>before|after) (?:the )?"
    rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? ?{_MONTH}|{_MONTH.replace('month', 'month_first')} "
    r"(?P<day_behind>\d{1,2})(?:st|nd|rd|th)?),? ?(?P<year>\d{4})",
    re.IGNORECASE,
)
_WRITTEN = re.compile(r"\b(\d{4}-\d\d-\d\d)(?: to (\d{4}-\d\d-\d\d))?")


def named_days(answer: str) -> tuple[date, date] | None:
    """Return the first and the last day that *answer* names by another day, or ``None`` where it names none.

    >>> named_days("The Friday before 15 July 2023")
    (datetime.date(2023, 7, 14), datetime.date(2023, 7, 14))
    """
    match = _ANSWER.search(answer)
    if match is None:
        return None
    month = _MONTHS.index((match["month"] or match["month_first"])[:3].casefold()) + 1
    try:
        known = date(int(match["year"]), month, int(match["day"] or match["day_behind"]))
    except ValueError:
        return None
    step = -1 if match["side"].casefold() == "before" else 1
    unit = match["unit"].casefold()
    if unit == "day":
        return known + timedelta(step), known + timedelta(step)
    monday = known + timedelta(7 * step - known.weekday())
    if unit == "week":
        return (min(monday, known - timedelta(7)), known - timedelta(1)) if step < 0 else (
            known + timedelta(1), max(monday + timedelta(6), known + timedelta(7)),
        )  # fmt: skip
    wanted = 5 if unit == "weekend" else _WEEKDAYS.index(unit[:3])
    ahead = (step * (wanted - known.weekday())) % 7 or 7
    first = known + timedelta(step * ahead)
    return first, first + timedelta(int(unit == "weekend"))


def written_days(text: str) -> list[tuple[date, date]]:
    """Return the days and spans of days that *text* writes as dates."""
    found = []
    for match in _WRITTEN.finditer(text):
        try:
            found.append((date.fromisoformat(match[1]), date.fromisoformat(match[2] or match[1])))
        except ValueError:
            continue
    return found
