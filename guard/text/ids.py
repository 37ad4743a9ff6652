"""Ids that a text names and no secret is told with: UUIDs, hashes, addresses of messages, fields of an entry.

The rules for told secrets leave them alone, unless the name of a credential stands directly before one. The rules for
known formats do not ask: the token of a provider is a secret wherever it stands.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from guard.lazy_regex import lazy_regex

__all__ = ["IdSpan", "id_at", "id_spans"]

_UUID = lazy_regex(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Za-z])")
#: A short hash has a digit and a small letter, unless the word before it says what it is. Capitals are on stickers.
_HASH = lazy_regex(
    r"(?<![0-9A-Za-z_])(?=[0-9]*[A-Fa-f])(?=[A-Fa-f]*[0-9])(?:[0-9a-f]{7,64}|[0-9A-F]{32,64})(?![0-9A-Za-z_])"
    r"|(?<=\b[Cc]ommit )`?[0-9a-f]{7,40}(?![0-9A-Za-z_])"
)
_ADDRESS = lazy_regex(r"(?<![\w.~-])[\w.~-]{1,128}#[\w.~-]{1,128}", re.ASCII)
#: Ids of this program: outputs, checkpoints.
_OWN = lazy_regex(r"(?<![0-9A-Za-z-])(?:mem|ckpt)-\d{8}-\d{6}(?:-[0-9a-f]{8})?(?![0-9A-Za-z-])")
_NAMES = "About|Evidence|Origin|Protected|Retires|Sources|State|Superseded-By|Supersedes|Until"
_FIELD_LINE = lazy_regex(rf"(?m)^[ \t]+(?=(?:{_NAMES}): )[^\n]+$")
_FIELD = lazy_regex(rf"({_NAMES}): (?:(?! · (?:{_NAMES}):).)*")
_TEXT_FIELDS = frozenset({"About", "Protected", "State", "Until"})
#: What may stand beside ids in one word: separators, and what kind of id it is.
_BESIDE_IDS = lazy_regex(r"(?:[a-z]{1,12}[:=@/])?[\s,;:/|()<>\[\]\"'`=.-]*")


class IdSpan(NamedTuple):
    """A half-open span of a text that is an id, or a field of an entry."""

    start: int
    end: int
    is_field: bool = False


def id_spans(text: str) -> list[IdSpan]:
    """Return the ids and the fields in *text*, in order and without overlap.

    >>> id_spans("Output: mem-20261129-010353-0a1b2c3d")
    [IdSpan(start=8, end=36, is_field=False)]
    >>> id_spans("done in 9f8e7d6 (s1#m4)")
    [IdSpan(start=8, end=15, is_field=False), IdSpan(start=17, end=22, is_field=False)]
    """
    found = [
        IdSpan(*field.span(), is_field=True)
        for line in _FIELD_LINE.finditer(text)
        for field in _FIELD.finditer(text, *line.span())
        if field[1] not in _TEXT_FIELDS
    ]
    for pattern, sign in ((_ADDRESS, "#"), (_UUID, "-"), (_OWN, "-"), (_HASH, "")):
        if sign in text:
            found += [IdSpan(*match.span()) for match in pattern.finditer(text)]
    kept: list[IdSpan] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
        elif span.end > kept[-1].end:
            kept[-1] = kept[-1]._replace(end=span.end)
    return kept


def id_at(text: str, ids: Sequence[IdSpan], start: int, end: int) -> IdSpan | None:
    """Return the first of *ids* in ``text[start:end]`` if that is made of ids, or a part of one. Else ``None``."""
    first = index = bisect_left(ids, start + 1, key=lambda span: span.end)
    rest, position = "", start
    while index < len(ids) and ids[index].start < end:
        rest += text[position : ids[index].start]
        position = ids[index].end
        index += 1
    if index == first or _BESIDE_IDS.fullmatch(rest + text[position:end]) is None:
        return None
    return ids[first]
