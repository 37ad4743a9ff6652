"""Secrets that are split over lines, list items or messages, and further copies of a secret that was found.

Ends of lines that look like parts of a value are joined with the next lines that hold nothing but such a part. The
rules run on the joined values, and only a match across a join counts. Each part is replaced in its place.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from guard.lazy_regex import lazy_regex
from guard.match import Match
from guard.redaction import replaced_match
from guard.secrets.credentials import bundled_rules
from guard.secrets.generic import GENERIC
from guard.secrets.pattern import any_of
from guard.secrets.public_values import is_public
from guard.secrets.rule import RuleSet, SecretRule
from guard.secrets.told.rules import find_told_secrets
from guard.secrets.value_model import password_likeness
from guard.text.canonical import TextVariant

__all__ = ["find_in_conversation", "find_repeats", "find_split_secrets"]

_MOST_LINES = 4
"""Lines that one value may be split over."""
_MOST_WORDS = 7
"""Words of a line that goes on with a value, with the label before it."""
_LONGEST_LINE = 400
_ANSWER_WORDS = 4
"""Words of a message that answers with a password."""
_END_CHARS = 400
"""Characters at either end of a message that are read together with the next message."""
_MOST_VALUES = 200
_SHORTEST = 6
_LIKELY = 2.0
"""Log odds that a value needs for its copies to count elsewhere."""

_VALUE_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=-"
_CLOSING = "\"'`)]*"
_MOST_CLOSING = 3
_SHORTEST_PART, _LONGEST_PART = 4, 200
_PLAIN = lazy_regex(
    r"[A-Z]?[a-z]+(?:-[a-z]+)*|[A-Z]+|\d{1,5}|\d{4}-\d\d-\d\d|[A-Za-z]+\d{0,3}(?:_[A-Za-z]+\d{0,3})*|[A-Z][a-z]+\d{1,2}"
)
"""Words, small numbers, dates and names in code."""


@dataclass(frozen=True, slots=True)
class _ValuePart:
    """The last value of a line: its span, and whether the line may continue an earlier one."""

    start: int
    end: int
    line: int
    continues: bool


def find_split_secrets(text: str, rule_sets: Sequence[RuleSet] = ()) -> Iterator[Match]:
    """Yield the parts of secrets that are split over the lines of *text*."""
    if "\n" not in text:
        return
    joined: list[str] = []
    segments: list[tuple[int, int, int]] = []
    length = 0
    for chain in _chains(text):
        pieces = [text[chain[0].line : chain[0].end], *(text[part.start : part.end] for part in chain[1:])]
        starts = [chain[0].line, *(part.start for part in chain[1:])]
        for piece, start in zip(pieces, starts, strict=True):
            segments.append((length, start, len(piece)))
            length += len(piece)
        joined += ["".join(pieces), "\n"]
        segments.append((length, -1, 1))
        length += 1
    if not joined:
        return
    variant = TextVariant("".join(joined), text)
    for rules in (bundled_rules(), *rule_sets, GENERIC):
        for rule in (rule for rule in rules.with_keyword(variant) if rule.kind != "password"):
            for start, end in rule.spans(variant):
                parts = list(_parts(segments, start, end))
                if len(parts) > 1 and not is_public(variant.text, start, end) and not _has_whole(rule, text, parts):
                    yield from (replaced_match("secret", f"split-{rule.name}", rule.kind, part) for part in parts)


def find_repeats(text: str, secrets: Sequence[tuple[str, str]]) -> Iterator[Match]:
    """Yield the copies in *text* of known *secrets*, given as value and kind. Words and short values do not count."""
    distinct = dict(islice(dict(secrets).items(), _MOST_VALUES))
    kinds = {value: kind for value, kind in distinct.items() if _is_repeatable(value)}
    values = sorted(kinds, key=len, reverse=True)
    if not values:
        return
    for ((start, end),) in any_of(values).matches(TextVariant(text, text)):
        before, after = text[start - 1 : start], text[end : end + 1]
        if not ((before.isalnum() and before.isascii()) or (after.isalnum() and after.isascii())):
            yield replaced_match("secret", "repeated-secret", kinds[text[start:end]], (start, end))


def _is_repeatable(value: str) -> bool:
    """Return whether another copy of *value* is the same secret, and not a common word or number."""
    if not _SHORTEST <= len(value) <= _LONGEST_LINE or "[REDACTED" in value or _PLAIN.fullmatch(value):
        return False
    return password_likeness(value) >= _LIKELY


def find_in_conversation(
    messages: Sequence[str], rule_sets: Sequence[RuleSet] = ()
) -> list[list[tuple[int, int, str]]]:
    """Return, for each of the *messages*, spans and kinds of secrets that only neighbouring messages show."""
    found: list[list[tuple[int, int, str]]] = [[] for _ in messages]
    pieces: list[str] = []
    places: list[tuple[int, int, int]] = []
    length = 0
    for number, message in enumerate(messages):
        # Only the ends of messages meet.
        ends = (
            [(0, message)]
            if len(message) <= 2 * _END_CHARS
            else [(0, message[:_END_CHARS]), (len(message) - _END_CHARS, message[-_END_CHARS:])]
        )
        for offset, end in ends:
            places.append((length, number, offset))
            pieces.append(end)
            length += len(end) + 1
    text = "\n".join(pieces)
    for match in (*find_split_secrets(text, rule_sets), *find_told_secrets(TextVariant(text, text))):
        start, number, offset = places[bisect_right(places, match.start, key=lambda place: place[0]) - 1]
        first, last = match.start - start + offset, match.end - start + offset
        alone = len(messages[number]) <= 2 * _END_CHARS and len(messages[number].split()) <= _ANSWER_WORDS
        if last <= len(messages[number]) and (match.rule != "told-secret" or alone):
            found[number].append((first, last, match.kind))
    return found


def _has_whole(rule: SecretRule, text: str, parts: Sequence[tuple[int, int]]) -> bool:
    """Return whether one of *parts* alone, with its line before it, is a secret of *rule*: then it is whole."""
    for start, end in parts:
        line = text[text.rfind("\n", 0, start) + 1 : end][-_LONGEST_LINE:]
        if any(True for _ in rule.spans(TextVariant(line, line))) and rule.entropy:
            return True
    return False


def _chains(text: str) -> Iterator[list[_ValuePart]]:
    """Yield runs of two to four neighbouring lines whose last values may be one."""
    lines = list(_lines(text))
    for first, (part, following) in enumerate(pairwise(lines)):
        if part is None or following is None or not following.continues:
            continue
        chain = [part]
        for later in lines[first + 1 : first + _MOST_LINES]:
            if later is None or not later.continues:
                break
            chain.append(later)
            yield list(chain)


def _lines(text: str) -> Iterator[_ValuePart | None]:
    """Yield the last value of each line that is not blank, or None where it is a word."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        if line.strip():
            yield _part(line, start)
        start = end + 1


def _part(line: str, start: int) -> _ValuePart | None:
    word = line.rstrip(" \t\r.,;:!?\"'`)]*").rpartition(" ")[2]
    if word.isalpha() and (word.islower() or word.istitle()):  # most lines, and quicker than the pattern
        return None
    cut = max(0, len(line) - _LONGEST_LINE)
    first, last = _last_value(line, cut)
    if last - first < _SHORTEST_PART or _PLAIN.fullmatch(line, first, last):
        return None
    continues = len(line) <= _LONGEST_LINE and len(line.split()) <= _MOST_WORDS
    return _ValuePart(start + first, start + last, start + cut, continues)


def _last_value(line: str, cut: int) -> tuple[int, int]:
    """Return the span of the last value of *line* from *cut* on, without the punctuation behind it."""
    rest = line[cut:].rstrip()
    if rest[-1:] in {".", ",", ";"}:
        rest = rest[:-1]
    bare = rest.rstrip(_CLOSING)
    if len(rest) - len(bare) > _MOST_CLOSING:
        return 0, 0
    value = bare[-_LONGEST_PART:]
    first = len(bare) - len(value) + len(value.rstrip(_VALUE_SIGNS))
    return cut + first, cut + len(bare)


def _parts(segments: Sequence[tuple[int, int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the source behind a span of the joined text."""
    index = bisect_right(segments, start, key=lambda segment: segment[0]) - 1
    while index < len(segments) and segments[index][0] < end:
        joined, source, length = segments[index]
        first, last = max(start, joined) - joined, min(end, joined + length) - joined
        if source >= 0 and first < last:
            yield source + first, source + last
        index += 1
