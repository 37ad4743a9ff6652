"""Find and replace a text in a string, however the text is spelled.

Matching ignores case, Unicode's compatible forms, zero-width characters and the amount of white space. It resolves the
escapes of JSON, of programs, of addresses and of HTML, up to three levels deep. A text that was cut short with an
ellipsis is found by its beginning.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from urllib.parse import unquote_to_bytes

from guard.lazy_regex import lazy_regex

__all__ = ["Phrase", "fold", "has_other_readings", "has_word_borders", "readings"]

#: Fewest characters before the ellipsis by which a cut text is recognised.
_CUT_CHARS = 8
_MOST_ESCAPES = 3
_INVISIBLE = lazy_regex("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_ESCAPE = lazy_regex(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[nrtbf\"'\\/]|(?:%[0-9a-fA-F]{2})+"
    r"|\\x[0-9a-fA-F]{2}|\\u\{[0-9a-fA-F]{1,6}\}|\\U[0-9a-fA-F]{8}|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,15});"
)
_WORD_OR_BLANKS = lazy_regex(r"\s+|\S+")
#: First words of the Unicode names of letters that are written without blanks between words, or with particles that
#: join a name, as in Korean. A border of such a letter says nothing about words.
_JOINED_SCRIPTS = ("CJK", "IDEOGRAPHIC", "BOPOMOFO", "HIRAGANA", "KATAKANA", "HALFWIDTH", "HANGUL", "THAI", "LAO")
#: Vowels and final consonants of a Korean syllable. Folding takes a syllable apart, and a text never ends inside one.
_SYLLABLE_REST = lazy_regex("[\u1160-\u11ff]")
_SURROGATES = (0xD800, 0xDFFF)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


@dataclass(frozen=True)
class Phrase:
    """The text to find.

    *exact* finds it only as spelled, and not beside a digit, a hyphen or a letter of the same script. A letter without
    word borders, such as a Chinese one, may stand beside anything.
    """

    text: str
    exact: bool = False

    @cached_property
    def folded(self) -> str:
        """Return the text as it is compared."""
        return fold(self.text)

    def occurs_in(self, text: str) -> bool:
        """Return whether *text* contains the phrase, in any reading. A blank phrase occurs nowhere."""
        return any(self.is_in(reading, fold(reading)) for reading in readings(text))

    def is_in(self, reading: str, folded: str) -> bool:
        """Return whether *reading*, which is *folded* for comparison, contains the phrase."""
        return bool(self._hits(reading if self.exact else folded))

    def may_occur_in(self, data: bytes) -> bool:
        """Return whether these bytes may contain the phrase. ``False`` is certain, and cheaper than a search."""
        return self.exact or has_other_readings(data) or self.may_occur_in_plain(data.lower())

    def may_occur_in_plain(self, lowered: bytes) -> bool:
        """Do the same for bytes in small letters without other readings."""
        words = [word for word in self.folded[:_CUT_CHARS].split() if word.isascii()] or [""]
        return max(words, key=len).encode() in lowered

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the ranges of *text* that hold the phrase: half-open, in order and disjoint."""
        found: list[tuple[int, int]] = []
        for chars, starts, ends in _mapped_readings(text):
            if not self.exact:
                if chars.isascii() and not self._hits(fold(chars)):
                    continue  # the places of a text without the phrase are not needed
                chars, starts, ends = _folded_map(chars, starts, ends)  # noqa: PLW2901 - the same reading, folded
            found += [(starts[a], ends[b - 1]) for a, b in self._hits(chars)]
        return _united(found)

    def redact(self, text: str, mark: str) -> str:
        """Return *text* with *mark* in place of each occurrence."""
        pieces, at = [], 0
        for start, end in self.spans(text):
            pieces += [text[at:start], mark]
            at = end
        return "".join([*pieces, text[at:]])

    def _hits(self, text: str) -> list[tuple[int, int]]:
        """Return the matching ranges in a text that is already folded, or compared exactly."""
        target = self.text if self.exact else self.folded
        hits, at = list[tuple[int, int]](), text.find(target) if target else -1
        while at >= 0:
            end = at + len(target)
            before, after = text[at - 1 : at] if at else "", text[end : end + 1]
            if self.exact:
                inside = _continues(target[0], before) or _continues(target[-1], after)
            else:
                inside = bool(_SYLLABLE_REST.match(after))
            if not inside:
                hits.append((at, end))
            at = text.find(target, at + 1 if inside else end)
        return hits if self.exact else hits + list(self._cut_hits(text))

    def _cut_hits(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the ranges of a cut phrase before an ellipsis. Folding turns an ellipsis into three full stops."""
        target = self.folded
        if len(target) <= _CUT_CHARS or target[:_CUT_CHARS] not in text:
            return
        at = text.find("...")
        while at >= 0:
            for length in range(min(len(target) - 1, at), _CUT_CHARS - 1, -1):
                if text.startswith(target[:length], at - length):
                    yield at - length, at
                    break
            at = text.find("...", at + 1)


def fold(text: str) -> str:
    """Return *text* as it is compared: decomposed, case folded, with single blanks and no invisible characters.

    >>> fold("The  \\uff30\\uff21\\uff33\\uff33word\\n is")
    'the password is'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", _INVISIBLE.sub("", text)).casefold())
        return " ".join(text.split())
    return " ".join(text.lower().split())


def has_other_readings(data: bytes) -> bool:
    """Return whether these bytes may hold escapes or letters that fold to others."""
    return not data.isascii() or b"\\" in data or b"%" in data or b"&" in data


def has_word_borders(char: str) -> bool:
    """Return whether the script of *char* sets words apart.

    >>> has_word_borders("a"), has_word_borders("\u6797"), has_word_borders("\ubbfc")
    (True, False, False)
    """
    joined = not char.isascii() and char.isalnum() and unicodedata.name(char, "").startswith(_JOINED_SCRIPTS)
    return not joined


def readings(text: str) -> Iterator[str]:
    """Yield *text*, and then *text* with its escapes resolved, at most three times."""
    yield text
    for _ in range(_MOST_ESCAPES):
        if "\\" not in text and "%" not in text and "&" not in text:
            return
        plain = _ESCAPE.sub(lambda match: _unescaped(match[0]), text)
        if plain == text:
            return
        text = plain
        yield text


def _continues(edge: str, neighbour: str) -> bool:
    """Return whether *neighbour* belongs to the word that *edge*, the first or last character of a text, stands in."""
    if not neighbour or not has_word_borders(edge) or not has_word_borders(neighbour):
        return False
    if not neighbour.isalpha() or not edge.isalpha():
        return neighbour in "-_" or neighbour.isalnum()
    return _script(edge) == _script(neighbour)


def _script(letter: str) -> str:
    return unicodedata.name(unicodedata.normalize("NFKC", letter)[0], "").partition(" ")[0]


def _mapped_readings(text: str) -> Iterator[tuple[str, Sequence[int], Sequence[int]]]:
    """Yield every reading, with the range of *text* that each of its characters comes from."""
    starts: Sequence[int] = range(len(text))
    ends: Sequence[int] = range(1, len(text) + 1)
    yield text, starts, ends
    for _ in range(_MOST_ESCAPES):
        pieces, new_starts, new_ends, at = [], list[int](), list[int](), 0
        for match in _ESCAPE.finditer(text):
            a, b = match.span()
            plain = _unescaped(match[0])
            pieces += [text[at:a], plain]
            new_starts += [*starts[at:a], *[starts[a]] * len(plain)]
            new_ends += [*ends[at:a], *[ends[b - 1]] * len(plain)]
            at = b
        if not pieces:
            return
        new_starts += starts[at:]
        new_ends += ends[at:]
        text, starts, ends = "".join([*pieces, text[at:]]), new_starts, new_ends
        yield text, starts, ends


def _unescaped(escape: str) -> str:
    if escape.startswith("%"):
        return unquote_to_bytes(escape).decode("utf-8", "replace")
    if escape.startswith("&"):
        return unescape(escape)
    if escape.startswith(("\\x", "\\U", "\\u{")):
        code = int(escape[2:].strip("{}"), 16)
        return chr(code) if code < _SURROGATES[0] or _SURROGATES[1] < code <= sys.maxunicode else escape
    if not escape.startswith("\\u"):
        return _CONTROLS.get(escape[1], escape[1])
    codes = [int(code, 16) for code in escape.split("\\u")[1:]]
    units = b"".join(code.to_bytes(2, "big") for code in codes)
    return units.decode("utf-16-be", "replace")


def _folded_map(text: str, starts: Sequence[int], ends: Sequence[int]) -> tuple[str, list[int], list[int]]:
    """Fold *text*, and return the range that each folded character comes from."""
    return (_folded_ascii if text.isascii() else _folded_pieces)(text, starts, ends)


def _folded_ascii(text: str, starts: Sequence[int], ends: Sequence[int]) -> tuple[str, list[int], list[int]]:
    """Do the work of :func:`_folded_pieces` on ASCII, word by word: a large table of numbers takes long otherwise."""
    folded, begins, stops = list[str](), list[int](), list[int]()
    for match in _WORD_OR_BLANKS.finditer(text):
        start, end = match.span()
        if not match[0].isspace():
            folded.append(match[0].lower())
            begins += starts[start:end]
            stops += ends[start:end]
        elif folded:
            folded.append(" ")
            begins.append(starts[start])
            stops.append(ends[end - 1])
    return "".join(folded), begins, stops


def _folded_pieces(text: str, starts: Sequence[int], ends: Sequence[int]) -> tuple[str, list[int], list[int]]:
    """Fold *text* letter by letter, each with its combining marks."""
    folded, begins, stops = list[str](), list[int](), list[int]()
    at, size = 0, len(text)
    while at < size:
        stop = at + 1
        while stop < size and unicodedata.combining(
            text[stop]
        ):  # combining marks are ordered together with their letter
            stop += 1
        for char in _folded_piece(text[at:stop]):
            if char == " " and (not folded or folded[-1] == " "):
                if folded:
                    stops[-1] = ends[stop - 1]
                continue
            folded.append(char)
            begins.append(starts[at])
            stops.append(ends[stop - 1])
        at = stop
    return "".join(folded), begins, stops


def _folded_piece(piece: str) -> str:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", _INVISIBLE.sub("", piece)).casefold())
    return "".join(" " if char.isspace() else char for char in plain)


def _united(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges in order, with overlapping ones joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
