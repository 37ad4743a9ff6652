"""Numbers, times and dates of a text in one form each, and what a date in words means on the day that it was said.

"Yesterday", "next Wednesday", 下周三 and "the 28th" name days only together with the day on which somebody said them.
This module repeats that computation, so that a date in an entry can be compared with the words of its turns. A
weekday without "next" or "last" may be the one before or after that day.
"""

# ruff: noqa: E501, ISC004 - a pattern is read as a whole
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from guard.lazy_regex import lazy_regex

__all__ = ["Value", "ValueMention", "day_of", "known_values", "value_mentions"]

#: A value: its kind and what identifies it, such as ``("day", "2026-11-25")`` or ``("number", "1450")``.
Value = tuple[str, str]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = (
    r"(?P<weekday>mon|tue|tues|wed|weds|thu|thur|thurs|fri|sat|sun|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b"
)
_HAN_DIGITS = {char: number for number, char in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0, "俩": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}
_HAN = "[零〇一二两三四五六七八九十百千万亿]"
_SPELLED = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
} | {
    word: 20 + 10 * number
    for number, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"])
}
_ORDINALS = {
    word: number
    for number, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
        ],
        1,
    )
}
_TIMES = {"twice": "2", "double": "2", "doubled": "2", "doubles": "2", "couple": "2", "thrice": "3",
          "triple": "3", "dozen": "12", "hundred": "100", "thousand": "1000",
          "twins": "2"}  # fmt: skip
_SCALES = {"k": 1e3, "m": 1e6, "b": 1e9, "bn": 1e9, "thousand": 1e3, "grand": 1e3, "million": 1e6, "billion": 1e9, "hundred": 1e2,
           "十": 10, "百": 1e2, "千": 1e3, "万": 1e4, "亿": 1e8, "mn": 1e6}  # fmt: skip
_DAY_WORDS = {
    "day before yesterday": -2, "day after tomorrow": 2, "yesterday": -1, "last night": -1, "tomorrow": 1, "tmrw": 1,
    "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "right now": 0, "just now": 0,
    "大前天": -3, "前天": -2, "昨天": -1, "昨晚": -1, "昨日": -1, "大后天": 3, "后天": 2, "明天": 1, "明晚": 1, "明早": 1, "明日": 1,
    "今天": 0, "今晚": 0, "今早": 0, "今日": 0, "刚才": 0, "刚刚": 0,
}  # fmt: skip
_YEAR_WORDS = {
    "last yr": -1,
    "next yr": 1,
    "last year": -1,
    "this year": 0,
    "next year": 1,
    "前年": -2,
    "去年": -1,
    "今年": 0,
    "明年": 1,
    "后年": 2,
}
_MONTH_WORDS = {"last month": -1, "this month": 0, "next month": 1, "上个月": -1, "上月": -1, "这个月": 0, "本月": 0,
                "下个月": 1, "下月": 1}  # fmt: skip
_COUNT = r"(?P<count>\d{1,3}|a|an|one|two|three|four|five|six|seven|eight|nine|ten|couple of)"
_ONE_PERIOD = lazy_regex(
    r"\ban? (?:\w+ )?(?:second|minute|hour|day|week|month|year)\b|[一每]个?[天周月年]", re.IGNORECASE
)
_PERIOD_DAYS = {
    "day": 1,
    "week": 7,
    "wk": 7,
    "fortnight": 14,
    "天": 1,
    "日": 1,
    "周": 7,
    "星期": 7,
    "个星期": 7,
    "礼拜": 7,
    "个礼拜": 7,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueMention:
    """A value at a place of a text. *values* are its readings: the statement that tells it again names one of them."""

    values: frozenset[Value]
    start: int
    end: int
    text: str


_Read = Callable[["re.Match[str]", "date | None"], "set[Value]"]


def day_of(ts: str) -> date | None:
    """Return the day of an ISO 8601 time, or ``None``."""
    try:
        return date.fromisoformat(ts[:10])
    except ValueError:
        return None


def value_mentions(text: str, said: date | None) -> list[ValueMention]:
    """Return the values of *text* in order, seen from the day on which it was *said*.

    >>> [sorted(m.values)[0] for m in value_mentions("dentist tomorrow at 3pm, 1,450 euros", date(2026, 11, 20))]
    [('day', '2026-11-21'), ('clock', '15:00'), ('number', '1450')]
    """
    found: list[ValueMention] = []
    rest = text.casefold() if len(text.casefold()) == len(text) else text
    for pattern, read in _PATTERNS:
        taken = []
        for match in pattern.finditer(rest):
            values = _read_safely(read, match, said)
            if values:
                start, end = match.span()
                found.append(ValueMention(values=frozenset(values), start=start, end=end, text=text[start:end]))
                taken.append((start, end))
        if taken:
            rest = _blanked(rest, taken)
    found.sort(key=lambda mention: mention.start)
    return [_in_the_week_of(found[at - 1], mention) if at else mention for at, mention in enumerate(found)]


def _in_the_week_of(before: ValueMention, mention: ValueMention) -> ValueMention:
    """Add to a weekday without "next" the one that follows the day named before it: "next Wednesday ... until Friday"."""
    days = [key for kind, key in before.values if kind == "day"]
    weekday = next((int(key) for kind, key in mention.values if kind == "weekday"), None)
    if weekday is None or len(days) != 1:
        return mention
    day = date.fromisoformat(days[0])
    later = day + timedelta((weekday - day.weekday()) % 7)
    return ValueMention(
        values=mention.values | {("day", later.isoformat())}, start=mention.start, end=mention.end, text=mention.text
    )


def known_values(text: str, said: date | None) -> set[Value]:
    """Return all values that a statement may name after *text*, said on day *said*: of a day also month and weekday."""
    mentions = value_mentions(text, said)
    known = {value for mention in mentions for value in mention.values}
    if _ONE_PERIOD.search(text):
        known.add(("number", "1"))
    for kind, key in tuple(known):
        if kind == "day":
            known |= _parts(date.fromisoformat(key))
        elif kind == "clock":
            known |= {("number", key.split(":")[0].lstrip("0") or "0"), ("clock", _half_day(key))}
        elif kind == "month_of":
            known |= {("month", str(int(key[5:]))), ("year", key[:4])}
    if said is not None and not any(_is_relative(mention, said) for mention in mentions):
        known.add(("day", said.isoformat()))
    return known


def _is_relative(mention: ValueMention, said: date) -> bool:
    """Return whether a mention names another day than the one on which it was said."""
    days = {key for kind, key in mention.values if kind == "day"}
    return bool(days) and said.isoformat() not in days


def _parts(day: date) -> set[Value]:
    return {
        ("month_day", f"{day.month}-{day.day}"), ("month_of", f"{day:%Y-%m}"), ("month", str(day.month)),
        ("year", str(day.year)), ("weekday", str(day.weekday())), ("day_of_month", str(day.day)),
    }  # fmt: skip


def _half_day(clock: str) -> str:
    hour, minute = clock.split(":")
    return f"{(int(hour) + 12) % 24:02d}:{minute}" if int(hour) <= 12 else f"{int(hour) - 12:02d}:{minute}"


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], "\x01" * (end - start)]
        at = end
    return "".join([*parts, text[at:]])


def _read_safely(read: _Read, match: re.Match[str], said: date | None) -> set[Value]:
    try:
        return read(match, said)
    except (ValueError, OverflowError, KeyError):
        return set()


def _full_date(match: re.Match[str], _said: date | None) -> set[Value]:
    return {("day", date(int(match["year"]), int(match["number"]), int(match["day"])).isoformat())}


def _named_date(match: re.Match[str], said: date | None) -> set[Value]:
    """Read a month with a day, a year or neither. Without a year it is the one before or after the day it was said."""
    parts = match.groupdict()
    month = _MONTHS.index(parts["month"][:3]) + 1 if parts.get("month") else _integer(parts["number"])
    day, year = parts.get("day"), parts.get("year")
    if year and day:
        return {("day", date(int(year), month, _integer(day)).isoformat())}
    if year:
        return {("month_of", f"{int(year)}-{month:02d}")}
    years = (said.year - 1, said.year, said.year + 1) if said else ()
    if day:
        date(2000, month, _integer(day))
        return {("month_day", f"{month}-{_integer(day)}")} | {
            ("day", at.isoformat())
            for at in (_safe_date(number, month, _integer(day)) for number in years)
            if said and at and abs((at - said).days) <= 366
        }
    date(2000, month, 1)
    return {("month", str(month))} | {("month_of", f"{number}-{month:02d}") for number in years}


def _safe_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _year_month(match: re.Match[str], _said: date | None) -> set[Value]:
    date(int(match["year"]), int(match["number"]), 1)
    return {("month_of", f"{match['year']}-{int(match['number']):02d}")}


def _day_word(match: re.Match[str], said: date | None) -> set[Value]:
    return {("day", (said + timedelta(_DAY_WORDS[match.group()])).isoformat())} if said else set()


def _year_word(match: re.Match[str], said: date | None) -> set[Value]:
    return {("year", str(said.year + _YEAR_WORDS[match.group()]))} if said else set()


def _month_word(match: re.Match[str], said: date | None) -> set[Value]:
    if said is None:
        return set()
    months = said.year * 12 + said.month - 1 + _MONTH_WORDS[match.group()]
    return {("month_of", f"{months // 12}-{months % 12 + 1:02d}")}


def _away(match: re.Match[str], said: date | None) -> set[Value]:
    """Read "in two weeks", "3 days ago", 两天后."""
    parts = match.groupdict()
    unit = _PERIOD_DAYS[parts["unit"].rstrip("s") if parts["unit"].isascii() else parts["unit"]]
    count = 2 if parts["count"] == "couple of" else 1 if parts["count"] in {"a", "an"} else _integer(parts["count"])
    values: set[Value] = {("number", str(count))}
    if said is not None:
        sign = -1 if parts.get("ago") else 1
        values.add(("day", (said + timedelta(sign * count * unit)).isoformat()))
    return values


def _weekday(match: re.Match[str], said: date | None) -> set[Value]:
    name = match["weekday"]
    number = next(at for at, day in enumerate(_WEEKDAYS) if day.startswith(name[:3]))
    return _weekday_values(number, (match["which"] or "").strip(), said)


def _han_weekday(match: re.Match[str], said: date | None) -> set[Value]:
    which = {"下": "next", "上": "last", "这": "this", "本": "this"}.get((match["which"] or " ")[0], "")
    return _weekday_values(
        "一二三四五六日天".index(match["weekday"]) % 7 if match["weekday"] != "天" else 6, which, said
    )


def _weekday_values(number: int, which: str, said: date | None) -> set[Value]:
    values: set[Value] = {("weekday", str(number))}
    if said is None:
        return values
    ahead, monday = (number - said.weekday()) % 7, said - timedelta(said.weekday())
    days = {
        "next": {monday + timedelta(7 + number)},
        "last": {said - timedelta(7 - ahead), monday - timedelta(7 - number)},
        "this": {monday + timedelta(number), said + timedelta(ahead)},
    }.get(which, {said + timedelta(ahead), said - timedelta(7 - ahead), said + timedelta(ahead or 7)})
    return values | {("day", day.isoformat()) for day in days}


def _day_of_month(match: re.Match[str], said: date | None) -> set[Value]:
    day = _integer(match["day"])
    if not 1 <= day <= 31:
        return set()
    values: set[Value] = {("day_of_month", str(day)), ("number", str(day))}
    if said is not None:
        for months in (-1, 0, 1):
            at = said.year * 12 + said.month - 1 + months
            found = _safe_date(at // 12, at % 12 + 1, day)
            if found and abs((found - said).days) <= 31:
                values.add(("day", found.isoformat()))
    return values


def _clock(match: re.Match[str], _said: date | None) -> set[Value]:
    parts = match.groupdict()
    hour = _integer(parts["hour"])
    minute = (
        30
        if parts.get("half")
        else {"一": 15, "三": 45}.get(parts.get("quarter") or "", _integer(parts.get("minute") or "0"))
    )
    half = (parts.get("half_day") or "").replace(".", "")
    if half in {"pm", "p", "下午", "晚上", "傍晚", "晚", "中午", "午后"} and hour < 12:
        hour += 12
    elif half == "am" and hour == 12:
        hour = 0
    if hour > 24 or minute > 59:
        return set()
    return {("clock", f"{hour:02d}:{minute:02d}")}


def _spelled_clock(match: re.Match[str], _said: date | None) -> set[Value]:
    hour = _integer(match["hour"])
    return {("clock", f"{hour:02d}:30")} if 1 <= hour <= 12 else set()


def _number(match: re.Match[str], _said: date | None) -> set[Value]:
    digits = re.sub(r",(?=\d{3}(?!\d))", "", match["digits"])
    scale = _SCALES.get((match["scale"] or "").strip(), 1)
    sign = "-" if match["sign"] else ""
    values = {("number", sign + _plain(float(digits) * scale))} if digits.count(".") <= 1 else set()
    if digits.isdigit() and len(digits) == 4 and digits[:2] in {"19", "20"} and not match["scale"]:
        values.add(("year", digits))
    return values or {("number", digits)}


def _spelled(match: re.Match[str], _said: date | None) -> set[Value]:
    word = match.group()
    if word in _TIMES:
        return {("number", _TIMES[word])}
    if word in _ORDINALS:
        return {("number", str(_ORDINALS[word]))}
    tens, _, ones = re.sub(r"[\s-]+", " ", word).partition(" ")
    return {("number", str(_SPELLED[tens] + (_SPELLED[ones] if ones else 0)))}


def _han_number(match: re.Match[str], _said: date | None) -> set[Value]:
    return {("number", str(_integer(match.group("digits"))))}


def _integer(text: str) -> int:
    """Return the number that digits, an English word or Chinese numerals spell. 四千五 is 4 500."""
    if text.isdecimal():
        return int(text)
    if text in _SPELLED:
        return _SPELLED[text]
    total = section = digit = 0
    last_unit = 1
    for char in text:
        if char in _HAN_DIGITS:
            digit = _HAN_DIGITS[char]
        elif char in {"万", "亿"}:
            total = (total + section + digit) * _HAN_UNITS[char]
            section, digit, last_unit = 0, 0, _HAN_UNITS[char]
        elif char in _HAN_UNITS:
            section += (digit or 1) * _HAN_UNITS[char]
            digit, last_unit = 0, _HAN_UNITS[char]
        else:
            raise ValueError(text)
    colloquial = digit and last_unit > 10 and len(text) > 1 and text[-2] in _HAN_UNITS
    return total + section + (digit * last_unit // 10 if colloquial else digit)


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:.6g}"


def _words(table: dict[str, int]) -> str:
    ordered = sorted(table, key=len, reverse=True)
    return "|".join(rf"\b{word}\b" if word.isascii() else word for word in ordered)


_ONES = "one|two|three|four|five|six|seven|eight|nine"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_HALF_DAY = r"(?P<half_day>上午|下午|早上|晚上|傍晚|中午|凌晨|早|晚)?"
_PATTERNS: tuple[tuple[re.Pattern[str], _Read], ...] = tuple(
    (lazy_regex(pattern), read)
    for pattern, read in (
        (r"(?<!\d)(?P<year>\d{4})[-/.](?P<number>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)", _full_date),
        (r"(?<![\d-])(?P<year>(?:19|20)\d{2})-(?P<number>\d{2})(?![\d-])", _year_month),
        (r"(?P<year>\d{4})\s?年\s?(?P<number>\d{1,2})\s?月(?:\s?(?P<day>\d{1,2})\s?[日号])?", _named_date),
        (rf"(?P<number>\d{{1,2}}|[一二三四五六七八九十]{{1,2}})\s?月(?!亮)\s?(?:(?P<day>\d{{1,2}}|{_HAN}{{1,3}})\s?[日号])?", _named_date),
        (rf"\b{_DAY}(?: of)? {_MONTH},?(?: (?P<year>\d{{4}})\b)?", _named_date),
        (rf"\b{_MONTH} (?:the )?{_DAY}(?![\d:%])\b,?(?: (?P<year>\d{{4}})\b)?", _named_date),
        (rf"\b{_MONTH},? (?:of )?(?P<year>\d{{4}})\b", _named_date),
        (rf"\b(?:(?<=in )|(?<=by )|(?<=since )|(?<=until )|(?<=till )|(?<=for )|(?<=of )|(?<=early )|(?<=late )|"
         rf"(?<=starting )|(?<=before )|(?<=after )|(?<=next )|(?<=last )|(?<=mid-)|(?<=from )|(?<=to )|(?<=think ))"
         rf"{_MONTH}", _named_date),
        (r"\b(?P<month>january|february|april|june|july|august|september|october|november|december|march(?= \w+s\b))\b",
         _named_date),
        (_words(_DAY_WORDS), _day_word),
        (_words(_YEAR_WORDS), _year_word),
        (_words(_MONTH_WORDS), _month_word),
        (rf"\b{_COUNT} (?P<unit>days?|weeks?|wks?|fortnights?) (?P<ago>ago|earlier)\b", _away),
        (rf"(?<=\bin ){_COUNT} (?P<unit>days?|weeks?|wks?|fortnights?)\b", _away),
        (rf"(?P<count>\d{{1,3}}|{_HAN}{{1,3}})(?P<unit>天|日|周|个?星期|个?礼拜)(?:以|之)?(?P<ago>前)", _away),
        (rf"(?P<count>\d{{1,3}}|{_HAN}{{1,3}})(?P<unit>天|日|周|个?星期|个?礼拜)(?:以|之)?后", _away),
        (rf"\b(?P<which>next |last |this )?{_WEEKDAY}", _weekday),
        (r"(?P<which>[下上这本]个?)?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])", _han_weekday),
        (r"\b(?P<hour>\d{1,2})[:.](?P<minute>[0-5]\d)\s?(?P<half_day>[ap]\.?m\b\.?)", _clock),
        (r"\b(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?::\d{2})?\b", _clock),
        (r"\b(?P<hour>\d{1,2})\s?(?P<half_day>[ap]\.?m\b\.?)", _clock),
        (rf"\bhalf (?:past )?(?P<hour>{_ONES}|ten|eleven|twelve|\d{{1,2}})\b", _spelled_clock),
        (rf"{_HALF_DAY}(?P<hour>\d{{1,2}}|{_HAN}{{1,2}})\s?点(?:(?P<half>半)|(?P<quarter>[一三])刻|"
         rf"(?P<minute>\d{{1,2}})分?)?(?!评|击|赞)", _clock),
        (r"\b(?<![\d.,])(?P<day>\d{1,2})(?:st|nd|rd|th)\b", _day_of_month),
        (r"(?<!\d)(?P<day>\d{1,2}|二?三?十[一二三四五六七八九]?)\s?[号日](?![码线楼])", _day_of_month),
        (r"(?P<sign>(?<![\w)\]\-/:.~])-\s?)?(?<![A-Za-z_\d.])(?P<digits>\d+(?:[.,]\d+)*)(?P<scale>\s?(?:thousand|grand|million|billion|hundred|bn|mn|[kmb])"
         r"(?![a-z])|\s?[十百千万亿]+)?", _number),
        (rf"\b(?:(?:{_TENS})(?:[\s-](?:{_ONES}))?|{'|'.join(w for w in _SPELLED if w not in {'zero', 'one'})}|"
         rf"{'|'.join(w for w in _ORDINALS if w not in {'first', 'second'})}|second(?= \w)|"
         rf"{'|'.join(_TIMES)}|one(?= (?!of\b|that\b|day\b|another\b|or\b|has\b|is\b|was\b|can\b|should\b|will\b|who\b|which\b|more\b|thing\b|way\b|to\b|in\b|on\b|for\b|with\b|and\b|from\b|needs\b)[a-z]))\b", _spelled),
        (rf"(?P<digits>{_HAN}{{2,}}(?!起|样|些|定|般|共|直|下)|[二两三四五六七八九十](?=[\s个只位名次天周月年岁倍台辆条件份套家间层楼块元号点级人本张页轮步组批班节门道种项分小瓶杯斤公米]))",
         _han_number),
    )
)  # fmt: skip
