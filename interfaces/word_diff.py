"""Compare two texts word by word, and Chinese text character by character."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from guard.lazy_regex import lazy_regex

__all__ = ["TextPart", "word_diff"]

Kind = Literal["same", "added", "removed"]

#: A word, a run of white space, or one other character. Chinese has no spaces between its words.
_TOKEN = lazy_regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+|\s+|.", re.DOTALL)
#: Tokens of both texts together up to which they are compared. The time grows with their product.
_MOST_TOKENS = 4_000


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of two texts: in both (*same*), in the new one alone (*added*), or in the old one alone (*removed*)."""

    kind: Kind
    text: str


def word_diff(before: str, after: str) -> tuple[TextPart, ...]:
    """Return the parts of both texts in order, without empty ones. Long texts are compared as wholes.

    >>> [(part.kind, part.text) for part in word_diff("ship on Monday", "ship on Tuesday")]
    [('same', 'ship on '), ('removed', 'Monday'), ('added', 'Tuesday')]
    """
    if before == after:
        return _parts([("same", after)])
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if len(old) + len(new) > _MOST_TOKENS:
        return _parts([("removed", before), ("added", after)])
    found: list[tuple[Kind, str]] = []
    for same, was, now in _joined_changes(old, new):
        found += [("same", was)] if same else [("removed", was), ("added", now)]
    return _parts(found)


def _parts(found: Iterable[tuple[Kind, str]]) -> tuple[TextPart, ...]:
    return tuple(TextPart(kind, text) for kind, text in found if text)


def _joined_changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[bool, str, str]]:
    """Return what is equal, and what became what. Two changes with a blank between them are one, which reads better."""
    found: list[tuple[bool, str, str]] = []
    for kind, start, end, new_start, new_end in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        same, was, now = kind == "equal", "".join(old[start:end]), "".join(new[new_start:new_end])
        if not same and len(found) > 1 and found[-1][0] and found[-1][1].isspace():
            blank, change = found.pop()[1], found.pop()
            was, now = change[1] + blank + was, change[2] + blank + now
        found.append((same, was, now))
    return found
