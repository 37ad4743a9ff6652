"""Recovery and backup codes: codes of one form below or beside a line that names them.

One code in groups is enough right after the name ("recovery code: 7HQK-2M9X"). Codes without groups, which look like
other numbers, count when at least three of one form follow.
"""

import re
from collections import Counter
from collections.abc import Iterator

from guard.lazy_regex import lazy_regex
from guard.match import Match
from guard.redaction import replaced_match
from guard.secrets.pattern import compile_pattern
from guard.secrets.told.rules import vocabulary
from guard.text.canonical import TextVariant

__all__ = ["find_code_lists"]

_AHEAD = 700
_FEWEST = 3
_BESIDE = 60
_CODE = lazy_regex(
    r"(?<![\w./-])"
    r"(?:\d{4} \d{4}(?: \d{4}){0,6}|[A-Za-z0-9]{3,10}(?:-[A-Za-z0-9]{3,10}){1,9}|[A-Za-z0-9]{5,16})(?![\w/-])"
)
_OTHER = lazy_regex(r"(?:19|20)\d\d-\d\d-\d\d|\d{1,2}-\d{1,2}-\d{2,4}|[A-Z]{2,6}-\d{1,6}")


def find_code_lists(variant: TextVariant) -> Iterator[Match]:
    """Yield the codes after a name for recovery codes in *variant*, with offsets into its source."""
    covered = 0
    pattern = "(?i)(?:" + "|".join(vocabulary()["names"]["codes"]) + ")"
    for ((_, end),) in compile_pattern("recovery-codes", pattern).matches(variant):
        if end < covered:
            continue
        covered = min(len(variant.text), end + _AHEAD)
        for span in _codes(variant.text, end, covered):
            yield replaced_match("secret", "recovery-code", "recovery_code", variant.span(*span))


def _codes(text: str, start: int, upto: int) -> Iterator[tuple[int, int]]:
    found = [code for code in _CODE.finditer(text, start, upto) if _is_code(code[0])]
    forms = Counter(_form(code[0]) for code in found)
    for code in found:
        grouped = "-" in code[0] or " " in code[0]
        beside = code.start() - start <= _BESIDE and "\n\n" not in text[start : code.start()]
        if forms[_form(code[0])] >= _FEWEST or (grouped and beside):
            yield code.span()


def _is_code(word: str) -> bool:
    """Return whether *word* has digits as codes have them, and is no date or ticket."""
    if _OTHER.fullmatch(word) or not any(map(str.isdigit, word)):
        return False
    groups = re.split("[- ]", word)
    if len(groups) == 1:
        return word.isdigit() or (len(word) >= 6 and not re.fullmatch(r"[A-Za-z]+\d{1,3}|[a-z]+-\d{1,3}", word))
    return sum(any(map(str.isdigit, group)) for group in groups) * 2 >= len(groups)


def _form(word: str) -> tuple[int, ...]:
    return tuple(map(len, re.split("[- ]", word)))
