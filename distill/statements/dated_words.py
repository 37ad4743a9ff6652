"""Computation of the dates that relative words name: "next Wednesday (2026-11-25)".

A date is added only where the words and the day on which they were said leave one reading. "Friday" alone may be the
last or the next one, so it gets a date only where ``distill.statements.weekday_direction`` reads one from the sentence.
A habit ("every Friday") has none.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta

from guard.lazy_regex import lazy_regex

from .weekday_direction import direction_of, direction_scores

__all__ = ["add_dates", "named_dates", "without_dates"]

_Read = Callable[[re.Match[str], date, str], str]

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = rf"(?P<weekday>{'|'.join(_WEEKDAYS)})(?!s\b)\b(?! (?:of|to|through|and|or|week)\b)"
_DAY_NAME = rf"(?P<weekday>{'|'.join(_WEEKDAYS)})\b"
_SHORT_DAY = r"(?P<weekday>mon|tues?|weds?|thurs?|thu|fri|sat|sun)(?![\w’'])(?! (?:of|to|through|and|or)\b)"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
#: Distance of a month whose "next" and "last" are open.
_NEAR_MONTHS = (1, 2)
_MONTH = (
    "(?P<month>january|february|march|april|may|june|july|august|september|october|november|december)"
    r"(?! ?\d|,? (?:19|20)\d\d)\b"
)
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "twelve": 12, "eighteen": 18,
}  # fmt: skip
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})"
_CJK_DIGITS = {c: n for n, c in enumerate("一二三四五六七八九十", 1)} | {"两": 2, "半": 0}
_CJK_COUNT = "(?P<count>\\d{1,3}|[一两二三四五六七八九十]{1,2})"
_CJK_WEEK = "(?:周|星期|礼拜)"
_CJK_PLAIN = "(?<![每上下这本个隔周老小逢单双那])"
#: A date that the speaker named already, right behind the words.
_MONTH_NAMES = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_NAMED_BEHIND = lazy_regex(
    rf"(?:['’]s)?,? ?[(\uff08]?(?:about |约 |the )?(?:\d{{1,4}}(?:[-/.]\d|st|nd|rd|th|月|年| {_MONTH_NAMES})"
    rf"|{_MONTH_NAMES}[a-z]*\.? \d|(?<=[(\uff08])\d{{4}}[)\uff09]|(?<=[(\uff08]about )\d{{4}}[)])",
    re.IGNORECASE,
)
_ADDED = lazy_regex(r" ?[(\uff08](?:about |约 )?\d{4}(?:-\d\d){0,2}(?: (?:to|至) \d{4}-\d\d-\d\d)?[)\uff09]")
_HABIT = (
    "(?<!every )(?<!each )(?<!other )(?<!a )(?<!first )(?<!second )(?<!third )(?<!most )(?<!any )(?<!black )(?<!good )"
    "(?<!one )(?<!that )(?<!following )"
)
_STEPPED = r"(?<!next )(?<!last )(?<!this )(?<!by )(?<!until )(?<!before )"
_NOT_FELT = "(?<!day before )(?<!like )(?<!like just )"
#: Characters on either side of a weekday that may say its direction, with dates among them.
_NEAR_CHARS = 240
#: Least chance that a day of the month is one of every month ("the rent must be there by the 1st").
_RECURS = 0.6
_PART_OF_DAY = "(?: morning| afternoon| evening| night)?"
_CJK_MONTH = r"(?P<month>\d{1,2}|[一二三四五六七八九]|十[一二]?)"
#: A past verb.
_BACK = lazy_regex(
    r"\b(?:was|were|did|had|went|got|came|saw|met|took|made|said|told|bought|left|ran|won|gave|found|felt|paid|sent|"
    r"wrote|spoke|began|lost|ate|drove|flew|held|kept|read|sold|taught|thought|woke|been|yesterday|\w{3,}ed)\b",
    re.IGNORECASE,
)
#: Words of a habit, which holds on each such day.
_HABITUAL = lazy_regex(
    r"\b(?:always|usually|(?:now|only) (?:also |open )?(?:on|until|till)|also (?:now )?on|free day|day off)\b",
    re.IGNORECASE,
)
#: Words that turn a limit ("only until Thursday") into an appointment.
_ONCE = lazy_regex(r"\b(?:will|'ll|need|must|have to|has to|due|deadline|this time|instead|week)\b", re.IGNORECASE)
_CJK_BACK = lazy_regex("[了过没]|昨|刚才")


def add_dates(text: str, said: date) -> str:
    """Return *text*, said on the day *said*, with a date behind each relative expression that names one.

    >>> add_dates("I see Dr. Okafor next Wednesday at 3.", date(2026, 11, 20))
    'I see Dr. Okafor next Wednesday (2026-11-25) at 3.'
    >>> add_dates("每周三打球,下周三不去", date(2026, 11, 20))
    '每周三打球,下周三\uff082026-11-25\uff09不去'
    """
    for pattern, read in _EXPRESSIONS:
        text = pattern.sub(lambda match, read=read: _with_date(match, read, said), text)  # type: ignore[misc]
    return text


def named_dates(text: str, said: date) -> list[tuple[int, str]]:
    """Return the dates that :func:`add_dates` adds to *text*, each with the end of its words in *text*.

    >>> named_dates("I see Dr. Okafor next Wednesday at 3.", date(2026, 11, 20))
    [(31, '2026-11-25')]
    """
    found, added = [], 0
    for match in _ADDED.finditer(add_dates(without_dates(text), said)):
        found.append((match.start() - added, match.group().strip(" ()\uff08\uff09")))
        added += len(match.group())
    return found


def without_dates(text: str) -> str:
    """Return *text* without the dates that :func:`add_dates` adds.

    >>> without_dates("I see Dr. Okafor next Wednesday (2026-11-25) at 3.")
    'I see Dr. Okafor next Wednesday at 3.'
    """
    return _ADDED.sub("", text)


def _with_date(match: re.Match[str], read: _Read, said: date) -> str:
    try:
        named = read(match, said, match.string)
    except (OverflowError, ValueError):  # a day before the year 1, or a month without that day
        named = ""
    words = match.group()
    if not named or _NAMED_BEHIND.match(match.string, match.end()):
        return words
    if ord(words[-1]) > 0x2E80:
        return f"{words}\uff08{named.replace('about ', '约 ').replace(' to ', ' 至 ')}\uff09"
    return f"{words} ({named})"


def _days(count: int) -> _Read:
    return lambda _match, said, _text: f"{said + timedelta(count)}"


def _count(match: re.Match[str]) -> int:
    number = match["count"].casefold()
    if number.isdigit():
        return int(number)
    if number in _COUNTS:
        return _COUNTS[number]
    first, *rest = (_CJK_DIGITS[digit] for digit in number)
    return first + rest[0] if rest and first == 10 else first * 10 if rest and rest[0] == 10 else first


def _distance(match: re.Match[str], said: date, text: str) -> str:
    """Return the day, month or year that is some units before or after *said*. Coarse units give coarse dates."""
    unit, count = match["unit"].casefold(), _count(match)
    back = match.re.pattern in _BACK_PATTERNS
    if not back and _BACK.search(text):
        return ""  # "he painted it in two weeks" is a duration
    count = -count if back else count
    if unit in {"day", "天"}:
        return f"{said + timedelta(count)}"
    if unit == "weekend":
        return _span(_monday(said, count) + timedelta(5), 2) if said.weekday() < 5 else ""
    if unit in {"week", "fortnight", "周", "星期", "礼拜"}:
        return f"about {said + timedelta((14 if unit == 'fortnight' else 7) * count)}"
    if unit in {"month", "个月"}:
        return f"about {_month(said, count)}"
    return f"about {said.year + count}"


def _month(said: date, count: int) -> str:
    months = said.year * 12 + said.month - 1 + count
    return f"{date(months // 12, months % 12 + 1, 1):%Y-%m}"


def _month_end(said: date, count: int) -> str:
    months = said.year * 12 + said.month - 1 + count
    year, month = months // 12, months % 12 + 1
    return f"{date(year, month, monthrange(year, month)[1])}"


def _monday(said: date, weeks: int) -> date:
    return said + timedelta(7 * weeks - said.weekday())


def _span(first: date, days: int) -> str:
    return f"{first} to {first + timedelta(days - 1)}"


_STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1}
_CJK_STEPS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}


#: What makes "the last weekend" one of another time: "in June", "of the month".
_OF_ANOTHER = lazy_regex(
    r"\s+(?:in|of)\s+(?:(?:the|each|every|a|next|last|this)\s+)?"
    r"(?:month|year|term|quarter|summer|winter|spring|autumn|holidays?|\d{4}|"
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*)\b",
    re.IGNORECASE,
)


def _period(match: re.Match[str], said: date, text: str) -> str:
    if _OF_ANOTHER.match(text, match.end()):
        return ""
    step, unit = _STEPS[match["step"].casefold()], match["unit"].casefold()
    if unit == "week":
        return _span(_monday(said, step), 7)
    if unit == "weekend":
        back = step < 0 and said.weekday() >= 5  # on a Sunday, the last weekend is a week ago
        return _span(_monday(said, step) + timedelta(5), 2) if not back else ""
    return _month(said, step) if unit == "month" else f"{said.year + step}"


def _stepped_weekday(match: re.Match[str], said: date, text: str) -> str:
    if _OF_ANOTHER.match(text, match.end()):
        return ""
    number = [day[:3] for day in _WEEKDAYS].index(match["weekday"].casefold()[:3])
    step = match["step"].casefold()
    if step == "next":
        return f"{_monday(said, 1) + timedelta(number)}"
    if step == "this":
        return f"{_monday(said, 0) + timedelta(number)}" if number > said.weekday() else ""
    return f"{said - timedelta((said.weekday() - number) % 7 or 7)}"


def _limit(match: re.Match[str], said: date, text: str) -> str:
    """Return the next such weekday, the limit of something that ends. The hours of a week end each week."""
    return "" if _is_habit(text) else _coming(match, said, text)


def _is_habit(text: str) -> bool:
    return _HABITUAL.search(text) is not None and _ONCE.search(text) is None


def _coming(match: re.Match[str], said: date, _text: str) -> str:
    ahead = (_WEEKDAYS.index(match["weekday"].casefold()) - said.weekday()) % 7
    return f"{said + timedelta(ahead)}" if ahead else ""


def _bare_weekday(match: re.Match[str], said: date, text: str) -> str:
    """Return the weekday before or after *said* that the sentence around it means, or nothing."""
    return _directed(match, said, text, _WEEKDAYS.index(match["weekday"].casefold()), match.end("weekday"))


def _directed(match: re.Match[str], said: date, text: str, number: int, end: int) -> str:
    """Return the weekday *number* on the side of *said* that the words around it look to, or nothing."""
    direction = _direction(text, match.start(), end)
    ahead = (number - said.weekday()) % 7
    if direction == "none" or (direction == "forward" and not ahead):
        return ""
    return f"{said + timedelta(ahead if direction == 'forward' else ahead - 7)}"


def _direction(text: str, start: int, end: int) -> str:
    """Return the direction of the words from *start* to *end*, read without the dates around them."""
    before, after = text[max(0, start - _NEAR_CHARS) : start], text[end : end + _NEAR_CHARS]
    return direction_of(without_dates(before), without_dates(after))


def _week_later(match: re.Match[str], said: date, _text: str) -> str:
    """Return the day a week after the coming weekday: "Friday week", "a week from Friday"."""
    number = _WEEKDAYS.index((match["weekday"] or match["from"]).casefold())
    return f"{said + timedelta((number - said.weekday()) % 7 + 7)}"


def _second_period(match: re.Match[str], said: date, _text: str) -> str:
    """Return the week, month or year after the next, or before the last."""
    step, unit = 2 if match["side"].casefold() == "after next" else -2, match["unit"].casefold()
    if unit == "week":
        return _span(_monday(said, step), 7)
    return _month(said, step) if unit == "month" else f"{said.year + step}"


def _directed_day(match: re.Match[str], said: date, text: str) -> str:
    """Return the day of a month that "on the 28th" or 28号 means in its sentence, or nothing."""
    day = int(match["day"])
    direction = _direction(text, match.start(), match.end())
    if direction == "none" or day == said.day:
        return ""
    month = day < said.day if direction == "forward" else -(day > said.day)
    return f"{date.fromisoformat(_month(said, int(month)) + '-01').replace(day=day)}"


def _day_of_month(match: re.Match[str], said: date, text: str) -> str:
    before, after = text[max(0, match.start() - _NEAR_CHARS) : match.start()], text[match.end() :][:_NEAR_CHARS]
    if direction_scores(without_dates(before), without_dates(after))[2] >= _RECURS:
        return ""  # "the rent has to be there by the 1st" holds each month
    day = int(match["day"])
    month = 0 if day >= said.day else 1
    return f"{date.fromisoformat(_month(said, month) + '-01').replace(day=day)}"


def _named_month(match: re.Match[str], said: date, _text: str) -> str:
    month = _MONTHS.index(match["month"][:3].casefold()) + 1
    if (said.month - month if match["step"].casefold() == "last" else month - said.month) in _NEAR_MONTHS:
        return ""  # "next December", said in November, may be the one of either year
    if match["step"].casefold() == "last":
        return f"{said.year - (month >= said.month)}-{month:02}"
    return f"{said.year + (month <= said.month)}-{month:02}"


def _cjk_week(match: re.Match[str], said: date, _text: str) -> str:
    monday, day = _monday(said, _CJK_STEPS[match["step"]]), match["weekday"]
    if day is None:
        return _span(monday, 7)
    if day == "末":
        return _span(monday + timedelta(5), 2)
    return f"{monday + timedelta('一二三四五六日天'.index(day) - (day == '天'))}"


def _cjk_deadline(match: re.Match[str], said: date, text: str) -> str:
    if _CJK_BACK.search(text):
        return ""
    ahead = ("一二三四五六日天".index(match["weekday"]) - (match["weekday"] == "天") - said.weekday()) % 7
    return f"{said + timedelta(ahead)}" if ahead else ""


def _cjk_bare_weekday(match: re.Match[str], said: date, text: str) -> str:
    """Return the weekday before or after *said* that the sentence around it means, or nothing."""
    number = "一二三四五六日天".index(match["weekday"]) - (match["weekday"] == "天")
    return _directed(match, said, text, number, match.end())


def _cjk_month(match: re.Match[str], said: date, _text: str) -> str:
    step, day = _CJK_STEPS[match["step"]], match["day"]
    if day is None:
        return _month(said, step)
    if day == "底":
        return _month_end(said, step)
    return f"{date.fromisoformat(_month(said, step) + '-01').replace(day=int(day.rstrip('号日')))}"


def _cjk_year(match: re.Match[str], said: date, _text: str) -> str:
    year = said.year + {"前": -2, "去": -1, "今": 0, "明": 1, "后": 2}[match["year"]]
    if match["month"] is None:
        return f"{year}"
    digits = match["month"]
    month = int(digits) if digits.isdigit() else sum(_CJK_DIGITS[digit] for digit in digits)
    return f"{date(year, month, 1):%Y-%m}"


def _month_end_named(match: re.Match[str], said: date, _text: str) -> str:
    unit, step = match["unit"].casefold(), _STEPS.get((match["step"] or "this").casefold(), 0)
    return _month_end(said, step) if unit == "month" else f"{said.year + step}-12-31"


_AGO = lazy_regex(rf"\b(?:{_COUNT} (?P<unit>day|week(?:end)?|fortnight|month|year)s? ago)\b", re.IGNORECASE)
_CJK_AGO = lazy_regex(rf"{_CJK_COUNT}(?P<unit>天|周|星期|礼拜|个月|年)(?:以|之)?前(?!的)")
_BACK_PATTERNS = (_AGO.pattern, _CJK_AGO.pattern)


def _compiled(pattern: str) -> re.Pattern[str]:
    return lazy_regex(f"(?:{pattern})(?:['’]s\\b)?", re.IGNORECASE)


#: Expressions and how to compute their date. One that holds another stands before it.
_EXPRESSIONS: tuple[tuple[re.Pattern[str], _Read], ...] = (
    (_compiled(r"\bthe day before yesterday\b|(?<![以之大])前天(?!天)"), _days(-2)),
    (_compiled(r"\bthe day after tomorrow\b|(?<![以之然今往大])后天(?!天)"), _days(2)),
    (_compiled("大前天"), _days(-3)),
    (_compiled("大后天"), _days(3)),
    (_compiled(rf"{_NOT_FELT}\byesterday{_PART_OF_DAY}\b|\blast night\b|昨[天日晚]"), _days(-1)),
    (_compiled(rf"(?<!day after )(?<!no )\btomorrow{_PART_OF_DAY}\b|(?<![聪说])明[天早晚](?!天)"), _days(1)),
    (_compiled(r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b|今[天晚早](?!天)"), _days(0)),
    (_AGO, _distance),
    (_CJK_AGO, _distance),
    (_compiled(rf"\bin {_COUNT} (?P<unit>day|week|fortnight|month|year)s?\b(?! of\b)"), _distance),
    (_compiled(rf"\b{_COUNT} (?P<unit>day|week|month|year)s? from now\b"), _distance),
    (_compiled(r"\bthe (?P<unit>week|month|year) (?P<side>after next|before last)\b"), _second_period),
    (_compiled(rf"\b(?:{_DAY_NAME} week\b|a week (?:from|on) {_DAY_NAME.replace('weekday', 'from')})"), _week_later),
    (lazy_regex(rf"{_CJK_COUNT}(?P<unit>天|周|星期|礼拜|个月|年)(?:以|之)?后(?!的)"), _distance),
    (_compiled(r"\bthe end of (?:the|(?P<step>this|next|last)) (?P<unit>month|year)\b"), _month_end_named),
    (_compiled(rf"\b(?P<step>last|this|next) {_DAY}"), _stepped_weekday),
    (_compiled(rf"\b(?P<step>last|this|next) {_SHORT_DAY}"), _stepped_weekday),
    (_compiled(r"(?<!the (?=next))\b(?P<step>last|past|previous|this|next) (?P<unit>week(?:end)?|month|year)\b"),
     _period),
    (_compiled(rf"\b(?P<step>last|next) {_MONTH}"), _named_month),
    (_compiled(rf"(?<=\bby ){_DAY}"), _limit),
    (_compiled(rf"(?<=\buntil ){_DAY}"), _limit),
    (_compiled(rf"(?<=\bbefore ){_DAY}"), _limit),
    (_compiled(rf"{_HABIT}{_STEPPED}\b{_DAY}(?! \()"), _bare_weekday),
    (_compiled(r"(?:(?<=\buntil the )|(?<=\bby the ))(?P<day>\d{1,2})(?:st|nd|rd|th)\b(?! of\b)"), _day_of_month),
    (_compiled(r"(?<=\bon the )(?P<day>\d{1,2})(?:st|nd|rd|th)\b(?! (?:of|floor)\b)"), _directed_day),
    (_compiled(rf"(?<!每)(?P<step>上上|下下|[上下这本])个?{_CJK_WEEK}(?P<weekday>[一二三四五六日天末])?"), _cjk_week),
    (_compiled(rf"{_CJK_PLAIN}{_CJK_WEEK}(?P<weekday>[一二三四五六日天])(?=之?前|截止|交)"), _cjk_deadline),
    (_compiled(rf"{_CJK_PLAIN}{_CJK_WEEK}(?P<weekday>[一二三四五六日天])(?![到至和、一]|\uff08)"), _cjk_bare_weekday),
    (_compiled(r"(?<!每)(?P<step>[上下这本])个?月(?P<day>底|\d{1,2}[号日])?(?!\d)"), _cjk_month),
    (_compiled(rf"(?<![以之])(?P<year>[前去今明后])年(?:{_CJK_MONTH}月份?)?"), _cjk_year),
)  # fmt: skip
