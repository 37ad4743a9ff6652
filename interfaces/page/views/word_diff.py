"""Compare two texts word by word, and Chinese text character by character."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Literal

from guard.lazy_regex import lazy_regex

__all__ = ["TextPart", "word_diff"]

#: A word, a run of white space, or one other character. Chinese has no spaces between its words.
_TOKEN = lazy_regex(r"[^\W\u3040-\u30ff\u3400-\u9fff]+|\s+|.", re.DOTALL)
#: Tokens of both texts together up to which they are compared. The time grows with their product.
_MOST_TOKENS = 4_000


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of two texts: in both (*same*), in the new one alone (*added*), or in the old one alone (*removed*)."""

    kind: Literal["same", "added", "removed"]
    text: str


def word_diff(before: str, after: str) -> tuple[TextPart, ...]:
    """Return the parts of both texts in order, without empty ones. Long texts are compared as wholes.

    >>> [(part.kind, part.text) for part in word_diff("ship on Monday", "ship on Tuesday")]
    [('same', 'ship on '), ('removed', 'Monday'), ('added', 'Tuesday')]
    """
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if len(old) + len(new) > _MOST_TOKENS:
        return _parts([] if before == after else [("removed", before), ("added", after)], before, after)
    found: list[tuple[Literal["same", "added", "removed"], str]] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            found.append(("same", "".join(old[old_start:old_end])))
        else:
            found += [("removed", "".join(old[old_start:old_end])), ("added", "".join(new[new_start:new_end]))]
    return _parts(found, before, after)


def _parts(
    found: list[tuple[Literal["same", "added", "removed"], str]], before: str, after: str
) -> tuple[TextPart, ...]:
    parts = tuple(TextPart(kind, text) for kind, text in found if text)
    return parts or ((TextPart("same", after),) if before == after and after else ())
