"""Respelling of words with spaced letters (``i g n o r e``) or with digits for letters (``1gn0r3``).

The result is for matching only. Other text with spaced letters or digits becomes nonsense, which no rule matches.
"""

from dataclasses import dataclass, field
from itertools import pairwise

from guard.lazy_regex import lazy_regex
from guard.text.canonical import TextVariant

__all__ = ["RespelledVariant", "undo_respelling"]

_SPACED = lazy_regex(r"(?<![^\W_])[^\W\d_](?:[ .*_·-][^\W\d_](?![^\W_])){4,400}")
_SEPARATED = lazy_regex(r"[ .*_·-][^\W\d_][ .*_·-][^\W\d_][ .*_·-][^\W\d_][ .*_·-]")
_DIGITS = lazy_regex(r"[013457@$](?:(?<=[a-z][a-z][013457@$])[013457@$]?[a-z]|(?<![a-z0-9][013457@$])[a-z]{2})")
_LETTERS = str.maketrans("013457@$!", "oieastasi")

_MAX_DISTANCE = 40
"""Greatest distance, in characters, of two words with digits in one phrase."""


@dataclass(frozen=True)
class RespelledVariant(TextVariant):
    """Variant of the variant *base*. ``offsets`` maps its characters to *base*. Empty means the same offsets."""

    base: TextVariant | None = field(default=None, repr=False)
    offsets: tuple[int, ...] = field(default=(), repr=False)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the source for ``text[start:end]``."""
        first, last = (self.offsets[start], self.offsets[end - 1] + 1) if self.offsets else (start, end)
        return self.base.span(first, last) if self.base is not None else (first, last)


def undo_respelling(variant: TextVariant) -> RespelledVariant | None:
    """Return *variant* in lower case with the plain spelling of such words, or None without any."""
    text = variant.lowered
    spaced = [match.span() for match in _SPACED.finditer(text)] if _SEPARATED.search(text) else []
    if not spaced and not _has_digit_words(text):
        return None
    # One letter replaces one character, so offsets stay.
    plain = text.translate(_LETTERS)
    if not spaced:
        return RespelledVariant(plain, variant.source, False, variant)
    dropped = {place for start, end in spaced for place in range(start + 1, end, 2)}
    offsets = tuple(place for place in range(len(plain)) if place not in dropped)
    return RespelledVariant("".join(plain[place] for place in offsets), variant.source, False, variant, offsets)


def _has_digit_words(text: str) -> bool:
    """Return whether two words near each other have digits among their letters."""
    places = [match.start() for match in _DIGITS.finditer(text)]
    return any(last - first <= _MAX_DISTANCE and " " in text[first:last] for first, last in pairwise(places))
