"""Variants of a text without the colours and titles of a terminal, which stand between words and values."""

from collections.abc import Iterator

from guard.lazy_regex import lazy_regex
from guard.match import Match, Strength
from guard.redaction import EditedText, apply_replacements

__all__ = ["without_terminal_codes"]

_CODE = lazy_regex(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,65536}(?:\x07|\x1b\\)|[@-Z\\^_])")


def without_terminal_codes(text: str) -> Iterator[EditedText]:
    """Yield *text* with a blank for each code, and without the codes. Nothing is yielded for a text without codes.

    The first shows a value behind a colour, and the second one that a colour divides.

    >>> [variant.text for variant in without_terminal_codes("key \x1b[32mabc\x1b[0md")]
    ['key  abc d', 'key abcd']
    """
    codes = [match.span() for match in _CODE.finditer(text)] if "\x1b" in text else []
    for replacement in (" ", "") if codes else ():
        matches = [
            Match(
                layer="structure", rule="terminal-code", kind="terminal-code", start=start, end=end,
                strength=Strength.CLEAN, replacement=replacement,
            )
            for start, end in codes
        ]  # fmt: skip
        yield apply_replacements(text, matches, ("structure",))
