"""Recognise placeholders of texts that the guard or ``memory forget`` withheld, and statements that say nothing else.

A placeholder stands for any value, so it is no evidence that two statements are about the same value.
"""

from __future__ import annotations

import re

from guard.lazy_regex import lazy_regex

from ..statements.statement_parser import parse_statement

__all__ = ["has_placeholder", "is_empty_without", "withheld_words", "without_placeholders"]

_FORGOTTEN = r"\[(?:(?:forgotten|removed) )?f-[0-9a-f]{8}\]"
_PLACEHOLDER = lazy_regex(rf"\[REDACTED:[^\]\n]{{1,80}}\]|{_FORGOTTEN}")
#: Least weight of the words of a statement beside its placeholders.
_LEAST_SAID = 2
#: What names only the kind of a value: "my phone is", 密码是.
_NAMES_ONLY = lazy_regex(r"(?:\b(?:is|are|was|were)|[=:\uff1a是为])[\s\"'(`]*$", re.IGNORECASE)


def has_placeholder(text: str) -> bool:
    """Return whether something in *text* was withheld.

    >>> has_placeholder("my key is [REDACTED:openai_key]"), has_placeholder("use [brackets]")
    (True, False)
    """
    return _PLACEHOLDER.search(text) is not None


def without_placeholders(text: str) -> str:
    """Return *text* with a blank in place of what was withheld."""
    return _PLACEHOLDER.sub(" ", text)


def is_empty_without(text: str) -> bool:
    """Return whether *text* says nothing besides what was withheld.

    >>> is_empty_without("My boss's phone is [REDACTED:phone]."), is_empty_without("Ask [REDACTED:email] to sign it")
    (True, False)
    """
    parts = _PLACEHOLDER.split(text)
    if len(parts) == 1:
        return False
    if not parse_statement(" ".join(parts[1:])).tokens and _NAMES_ONLY.search(parts[0]):
        return True
    return sum(token.weight for token in parse_statement(" ".join(parts)).tokens) < _LEAST_SAID


def withheld_words(text: str, screened: str) -> str:
    """Return the words of *text* that a mark of ``memory forget`` replaces in *screened*, or an empty string."""
    first, *others = re.split(_FORGOTTEN, screened)
    if not others or not text.startswith(first):
        return ""
    words, start = [], len(first)
    for place, part in enumerate(others, 1):  # each mark stands for at least one character
        end = len(text) - len(part) if place == len(others) else text.find(part, start + 1)
        if end <= start or not text.startswith(part, end):
            return ""
        words.append(text[start:end])
        start = end + len(part)
    return ", ".join(dict.fromkeys(words))
