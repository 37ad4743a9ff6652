"""Detection of passages that HTML or Markdown hides from a reader: comments, hidden elements, link comments.

A person who saw the rendered page has not read them. They are ordinary in pages, so they count only in text from a tool
or the web, and only with words in them.
"""

import re
from collections.abc import Iterator
from functools import cache

from guard.match import Match, Strength
from guard.text.quotation import Quotations

__all__ = ["find_hidden_markup"]

_WORDS = r"(?:[^\s<>-]{1,40}[\s,.:;]{1,8}){3}"
"""Three words, from which a hidden passage can say something."""

_STYLES = (
    r"display\s?:\s?none|visibility\s?:\s?hidden|font-size\s?:\s?[01](?:px|pt|em|%)?(?![.\d])|opacity\s?:\s?0(?![.\d])"
    r"|(?:left|top|text-indent)\s?:\s?-\d{3,6}|(?<![-\w])color\s?[:=]\s?[\"']?(?:white|transparent|#f{3}(?:f{3})?)\b"
)
_PATTERN = (
    rf"<!--\s{{0,8}}(?!agent-home){_WORDS}"
    rf"|<[a-z][a-z0-9]{{0,11}}\s[^<>\n]{{0,200}}?(?:{_STYLES}|(?<=[\s\"'])hidden(?=[\s>=]))[^<>\n]{{0,200}}>\s{{0,8}}{_WORDS}"
    rf"|^\[(?://|comment|_)\]:\s?(?:#|<>)\s?[\"'(]\s?{_WORDS}"
)


def find_hidden_markup(text: str, quotations: Quotations) -> Iterator[Match]:
    """Yield the beginnings of passages in *text* that a rendered page would not show."""
    if "<" not in text and "]:" not in text:
        return
    for match in _compiled(_PATTERN).finditer(text):
        start, end = match.span()
        yield Match(
            layer="structure",
            rule="hidden-markup",
            kind="hidden-text",
            start=start,
            end=end,
            strength=Strength.SOFT,
            quoted=quotations.covers(start, end),
        )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)
