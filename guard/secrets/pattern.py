"""Regular expressions of secret rules, compiled and run by RE2.

RE2 reads Go's syntax, in which secret scanners write their rules, and its time grows linearly with the text whatever
the pattern is. It works on UTF-8. Spans are translated back to characters here.
"""

import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from guard.policy import RuleError, SlowRule
from guard.text.canonical import TextVariant, utf8

__all__ = ["Re2Pattern", "Spans", "any_of", "compile_pattern"]

#: Processor seconds of one rule on one text. The bundled rules take a hundredth of it for 4 MB.
MATCH_SECONDS = 2.0
Spans = Sequence[tuple[int, int]]
"""Half-open spans of one match and its groups, in characters. A group that took no part has the span (-1, -1)."""


class Re2Pattern:
    """A pattern compiled by RE2."""

    def __init__(self, rule: str, regexp: Any) -> None:
        self._rule = rule
        self._regexp = regexp
        self._groups = range(regexp.groups + 1)

    def occurs(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in *text*."""
        return self._regexp.search(utf8(text)) is not None

    def matches(self, variant: TextVariant) -> Iterator[Spans]:
        """Yield the non-empty matches in the text of *variant*, leftmost first, without overlap.

        Raises:
            SlowRule: the search took more than ``MATCH_SECONDS`` of processor time.
        """
        data = variant.utf8
        one_byte_each = len(data) == len(variant.text)
        counted = characters = 0
        for match in self._in_time(self._regexp.finditer(data)):
            start, end = match.span()
            if start == end:
                continue
            spans = [match.span(group) for group in self._groups]
            if one_byte_each:
                yield spans
                continue
            # Each byte is decoded once between matches, so that a flood of matches stays linear.
            characters += _length(data, counted, start)
            counted = start
            yield [
                (first, last)
                if first < 0
                else (characters + _length(data, start, first), characters + _length(data, start, last))
                for first, last in spans
            ]

    def _in_time(self, found: Iterator[Any]) -> Iterator[Any]:
        """Yield what is *found*, and count the processor time between the matches.

        One search is linear, but a pattern that looks far beyond each of very many matches is not.
        """
        spent = 0.0
        while spent <= MATCH_SECONDS:
            begun = time.thread_time()
            match = next(found, None)
            spent += time.thread_time() - begun
            if match is None:
                return
            yield match
        raise SlowRule(self._rule, MATCH_SECONDS)


@cache
def compile_pattern(rule: str, pattern: str) -> Re2Pattern:
    """Return *pattern* of *rule*, compiled once. RE2 is imported by the first call.

    Raises:
        RuleError: RE2 cannot compile the pattern.
    """
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return Re2Pattern(rule, re2.compile(utf8(pattern), options))
    except re2.error as error:
        reason = error.args[0]
        raise RuleError(rule, reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)) from error


def any_of(values: Sequence[str]) -> Re2Pattern:
    """Return the pattern of any of *values*, the first one first. It is not kept, because they may be secrets."""
    import re2

    return Re2Pattern("keywords", re2.compile(b"|".join(re2.escape(utf8(value)) for value in values)))


def _length(data: bytes, start: int, end: int) -> int:
    """Count the characters of UTF-8 *data* between two byte offsets."""
    return len(data[start:end].decode(errors="ignore"))
