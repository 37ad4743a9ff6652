"""Words spelled so that no rule knows them: letters apart (``i g n o r e``) and digits for letters (``1gn0r3``).

``respelled`` undoes both, for matching only. What stands apart or is spelled with digits for another reason becomes
nonsense by it, which no rule matches.
"""

import re
from dataclasses import dataclass, field
from itertools import pairwise

from guard.text.canonical import Reading

_APART = re.compile(r"(?<![^\W_])[^\W\d_](?:[ .*_·-][^\W\d_](?![^\W_])){4,400}")
_SEPARATED = re.compile(r"[ .*_·-][^\W\d_][ .*_·-][^\W\d_][ .*_·-][^\W\d_][ .*_·-]")
_DIGITS = re.compile(r"[013457@$](?:(?<=[a-z][a-z][013457@$])[013457@$]?[a-z]|(?<![a-z0-9][013457@$])[a-z]{2})")
_LETTERS = str.maketrans("013457@$!", "oieastasi")

_NEAR = 40
"""Characters between two words with digits in them, up to which they may be one phrase."""


@dataclass(frozen=True)
class Respelled(Reading):
    """A reading of a reading: ``offsets`` are the offsets, in *base*, of its characters; empty when all stand there."""

    base: Reading | None = field(default=None, repr=False)
    offsets: tuple[int, ...] = field(default=(), repr=False)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the source that was read as ``text[start:end]``."""
        first, last = (self.offsets[start], self.offsets[end - 1] + 1) if self.offsets else (start, end)
        return self.base.span(first, last) if self.base is not None else (first, last)


def respelled(reading: Reading) -> Respelled | None:
    """Return *reading* in lower case with such words as they are meant, or None when it has none."""
    text = reading.lowered
    apart = [match.span() for match in _APART.finditer(text)] if _SEPARATED.search(text) else []
    if not apart and not _suspicious(text):
        return None
    # Letter for letter, so that offsets stay.
    plain = text.translate(_LETTERS)
    if not apart:
        return Respelled(plain, reading.source, False, reading)
    dropped = {place for start, end in apart for place in range(start + 1, end, 2)}
    offsets = tuple(place for place in range(len(plain)) if place not in dropped)
    return Respelled("".join(plain[place] for place in offsets), reading.source, False, reading, offsets)


def _suspicious(text: str) -> bool:
    """Whether two words near each other have digits among their letters."""
    places = [match.start() for match in _DIGITS.finditer(text)]
    return any(last - first <= _NEAR and " " in text[first:last] for first, last in pairwise(places))
