"""Words spelled so that no rule knows them: letters apart (``i g n o r e``) and digits for letters (``1gn0r3``).

``respelled`` undoes both, for matching only. What stands apart or is spelled with digits for another reason becomes
nonsense by it, which no rule matches.
"""

import re
from dataclasses import dataclass, field

from guard.canonical import Reading

_APART = re.compile(r"(?<![^\W_])[^\W\d_](?:[ .*_·-][^\W\d_](?![^\W_])){4,400}")
_DIGITS = re.compile(r"[a-z][013457@$!]{1,4}[a-z]|\b[013457@$][a-z]{1,20}[013457@$]")
_WORD = re.compile(r"[a-z0-9@$!]{3,64}")
_LETTERS = str.maketrans("013457@$!", "oieastasi")


@dataclass(frozen=True)
class Respelled(Reading):
    """A reading of a reading: ``places`` are the offsets, in *base*, of its characters."""

    base: Reading | None = field(default=None, repr=False)
    places: tuple[int, ...] = field(default=(), repr=False)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the source that was read as ``text[start:end]``."""
        first, last = self.places[start], self.places[end - 1] + 1
        return self.base.span(first, last) if self.base is not None else (first, last)


def respelled(reading: Reading) -> Respelled | None:
    """Return *reading* in lower case with such words as they are meant, or None when it has none."""
    text = reading.lowered
    apart = [match.span() for match in _APART.finditer(text)]
    if not apart and not _DIGITS.search(text):
        return None
    # Letter for letter, so that places stay; a word of nothing but digits is a number.
    plain = _WORD.sub(lambda word: word[0] if word[0].isdigit() else word[0].translate(_LETTERS), text)
    dropped = {place for start, end in apart for place in range(start + 1, end, 2)}
    places = tuple(place for place in range(len(plain)) if place not in dropped)
    return Respelled("".join(plain[place] for place in places), reading.source, False, reading, places)
