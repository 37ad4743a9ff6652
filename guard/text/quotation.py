"""Quotations in a text: backticks, fenced blocks, quotation marks, quoted lines.

A quoted attack is not an attack. A quotation has words around it, and a value in serialised data
(``{"note": "..."}``) is no quotation.
"""

import re
from bisect import bisect_left, bisect_right
from functools import cached_property

from guard.lazy_regex import lazy_regex

__all__ = ["Quotations"]

_MAX_QUOTE_CHARS = 400
"""Characters between two quotation marks. A longer text is a document, not a quotation."""

_MIN_LETTERS_AROUND = 10
"""Letters that must stand outside a quotation."""

_INLINE = lazy_regex(
    rf"`[^`\n]{{1,{_MAX_QUOTE_CHARS}}}`"
    rf'|"[^"\n]{{1,{_MAX_QUOTE_CHARS}}}"'
    rf"|“[^“”\n]{{1,{_MAX_QUOTE_CHARS}}}”"
    rf"|‘[^‘’\n]{{1,{_MAX_QUOTE_CHARS}}}’"
    rf"|«[^«»\n]{{1,{_MAX_QUOTE_CHARS}}}»"
    rf"|「[^「」\n]{{1,{_MAX_QUOTE_CHARS}}}」"
    rf"|『[^『』\n]{{1,{_MAX_QUOTE_CHARS}}}』"
    rf"|(?<!\w)'[^'\n]{{1,{_MAX_QUOTE_CHARS}}}'(?!\w)"
)
_FENCE = lazy_regex(r"^[ \t]{0,8}(?:```|~~~)", re.MULTILINE)
_QUOTED_LINE = lazy_regex(r"^[ \t]{0,8}>[^\n]*", re.MULTILINE)
_SERIALISED = lazy_regex(r"""["'`]\s{0,4}[:=]\s{0,4}$|[{\[(=]\s{0,4}$""")


class Quotations:
    """Quoted spans of one text, searched on first use."""

    def __init__(self, text: str) -> None:
        self._text = text

    def covers(self, start: int, end: int) -> bool:
        """Return whether ``text[start:end]`` lies inside a quotation with words around it."""
        for spans in (self._inline, self._blocks):
            index = bisect_right(spans, (start, len(self._text))) - 1
            if index >= 0 and end <= spans[index][1] and self._has_words_around(*spans[index]):
                return True
        return False

    def overlaps(self, start: int, end: int) -> bool:
        """Return whether the last quotation that begins before *end* has words around it and reaches beyond *start*."""
        for spans in (self._inline, self._blocks):
            index = bisect_left(spans, (end,)) - 1
            if index >= 0 and spans[index][1] > start and self._has_words_around(*spans[index]):
                return True
        return False

    def in_fence(self, start: int, end: int) -> bool:
        """Return whether ``text[start:end]`` lies inside a closed fenced block."""
        index = bisect_right(self._fences, (start, len(self._text))) - 1
        return index >= 0 and end <= self._fences[index][1]

    @cached_property
    def _inline(self) -> list[tuple[int, int]]:
        found = []
        for match in _INLINE.finditer(self._text):
            before = self._text[max(0, match.start() - 12) : match.start()]
            if match[0][0] == "`" or not _SERIALISED.search(before):
                found.append(match.span())
        return found

    @cached_property
    def _blocks(self) -> list[tuple[int, int]]:
        return sorted(self._fences + [match.span() for match in _QUOTED_LINE.finditer(self._text)])

    @cached_property
    def _fences(self) -> list[tuple[int, int]]:
        fences = [match.start() for match in _FENCE.finditer(self._text)]
        return list(zip(fences[::2], fences[1::2], strict=False))

    @cached_property
    def _letters(self) -> int:
        return sum(map(str.isalpha, self._text))

    def _has_words_around(self, start: int, end: int) -> bool:
        return self._letters - sum(map(str.isalpha, self._text[start:end])) >= _MIN_LETTERS_AROUND
