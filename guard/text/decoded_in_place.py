"""A text with short encoded values decoded where they stand, and the strings that code joins written as one.

``guard.text.encoded`` decodes long runs and searches what comes out by itself. A password is short, and only its
sentence tells what it is: "the admin password in base64: TGlnaHRob3VzZSE0NDI=". Base64, base32, hexadecimal in several
notations, percent signs, entities, escapes and quoted-printable are decoded, twice where the result is encoded again.
A run counts if it decodes to one line of printable characters. Strings are joined across ``+``, ``.``, ``.concat(``,
``.=`` and the end of a continued line, and in a list that is joined.
"""

import base64
import binascii
import html
import quopri
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import unquote

from guard.lazy_regex import lazy_regex
from guard.text.canonical import TextVariant, utf8
from guard.text.quick_search import first_place

__all__ = ["DecodedInPlace", "decode_in_place"]

_FEWEST_CHARS, _MOST_CHARS = 4, 200
"""Characters of a decoded value."""

_MOST_RUNS = 200
"""Values decoded in one text. A text with more is data."""

_MOST_DEPTH = 2

#: Beginnings of all runs, in RE2's syntax. Most texts have none.
_BEGINNING = (
    r"%[0-9A-Fa-f]{2}|&#x?[0-9A-Fa-f]{2}|\\[xu][0-9A-Fa-f]{2}|=[0-9A-F]{2}=[0-9A-F]{2}|0x[0-9A-Fa-f]{2}, ?0x"
    r"|[0-9A-Fa-f]{2}(?:[ :-][0-9A-Fa-f]{2}){4}|[0-9A-Fa-f]{12}"
    r"|[A-Za-z0-9+/_-]{0,6}(?:[a-z][A-Z0-9]|[A-Z][0-9]|[0-9][A-Za-z])[A-Za-z0-9+/_-]{4}|[A-Z2-7]{8}"
)
_HEX_PAIR = "[0-9A-Fa-f]{2}"
_SIGN = rf"(?:\\x{_HEX_PAIR}|\\u[0-9A-Fa-f]{{4}}|&#x?[0-9A-Fa-f]{{2,6}};)"
# Each kind begins where a word begins, so that a long word is not read again from each of its characters.
_RUN = lazy_regex(
    rf"(?P<escape>(?<![\w;])\w{{0,40}}{_SIGN}(?:[!-~]{{0,20}}?{_SIGN}){{2,200}}\w{{0,40}})"
    rf"|(?P<quoted>(?<![\w!?.=-])[\w!?.-]{{0,40}}(?:=[0-9A-F]{{2}}){{3,200}}[\w!?.-]{{0,40}})"
    rf"|(?P<percent>(?<![\w.~+!*%-])[\w.~+!*-]{{0,60}}(?:%{_HEX_PAIR}[\w.~+!*-]{{0,40}}){{1,60}})"
    rf"|(?P<spaced>(?<![0-9A-Za-z:-])(?:0x{_HEX_PAIR}(?:, ?0x{_HEX_PAIR}){{4,200}}"
    rf"|{_HEX_PAIR}(?:[ :-]{_HEX_PAIR}){{4,200}})(?![0-9A-Za-z:-]))"
    rf"|(?P<hex>(?<![0-9A-Za-z+/_=-])(?:{_HEX_PAIR}){{6,200}}(?![0-9A-Za-z+/_=-]))"
    r"|(?P<base>(?<![0-9A-Za-z+/_=-])[A-Za-z0-9+/_-]{8,400}+(?:(?:\r?\n[A-Za-z0-9+/_-]{4,400}+){1,3}(?==))?={0,6}+"
    r"(?![0-9A-Za-z+/_=-]))",
    re.ASCII,
)
_STRING = r"(?:\"[^\"\\\n]{1,80}\"|'[^'\\\n]{1,80}')"
_BETWEEN = r"(?:\s{0,40}(?:[+.]\s{0,40}|\\\n\s{0,40})|\)?\.concat\(|;\s{0,40}[$\w]{1,40} ?[.+]= ?)"
_JOINED = lazy_regex(
    rf"(?P<list>(?<=join\(\[){_STRING}(?:,\s{{0,40}}{_STRING}){{1,20}}|{_STRING}(?:,\s{{0,40}}{_STRING}){{1,20}}(?=\]\.join\())"
    rf"|(?P<strings>{_STRING}(?:{_BETWEEN}{_STRING}){{1,20}})"
    r"|(?P<lines>(?<![!-\[\]-~])[!-\[\]-~]{4,200}+(?:\\\n[ \t]{0,40}[!-\[\]-~]{2,200}+){1,9})"
)
_BEGINNING_JOINED = r"[\"'] ?[+.\\]|[\"']\)?\.concat|\w\\\n|join\(|[\"'];\s{0,40}[$\w]{1,40} ?[.+]="
_PIECE = lazy_regex(_STRING)
_ESCAPE = lazy_regex(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_BASE32 = lazy_regex(r"(?=[A-Z2-7]*[2-7])[A-Z2-7]{8,400}={0,6}")
_PLAIN_WORD = lazy_regex(r"[A-Za-z]?[a-z]+(?:[-_/][A-Za-z]?[a-z]+)*|[A-Z]+|[\d_-]+")
_LINE = lazy_regex(r"[^\x00-\x1f\x7f-\x9f\ufffd]+")


@dataclass(frozen=True)
class DecodedInPlace(TextVariant):
    """A text with decoded values in place. ``span`` returns whole runs.

    ``starts`` and ``ends`` are the places of the values in ``text``, and ``runs`` those of their runs in the text that
    was decoded. ``joined`` says which are joined strings. ``inner`` maps the offsets of that text to the source.
    """

    starts: tuple[int, ...] = field(default=(), repr=False)
    ends: tuple[int, ...] = field(default=(), repr=False)
    runs: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    joined: tuple[bool, ...] = field(default=(), repr=False)
    inner: TextVariant | None = field(default=None, repr=False)

    def touches(self, start: int, end: int) -> bool:
        """Return whether ``text[start:end]`` holds a part of a decoded value."""
        index = bisect_right(self.starts, end - 1) - 1
        return index >= 0 and self.ends[index] > start

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the source for ``text[start:end]``, with the whole of each run that it touches."""
        first, last = self._place(start)[0], self._place(end - 1)[1]
        return self.inner.span(first, last) if self.inner is not None else (first, last)

    def _place(self, offset: int) -> tuple[int, int]:
        index = bisect_right(self.starts, offset) - 1
        if index < 0:
            return offset, offset + 1
        if offset < self.ends[index]:
            return self.runs[index]
        place = self.runs[index][1] + offset - self.ends[index]
        return place, place + 1


def decode_in_place(variant: TextVariant) -> DecodedInPlace | None:
    """Return *variant* with its encoded values decoded and its strings joined, or None without any."""
    text = variant.text
    data = utf8(text)
    values = (
        [(*value, False) for value in islice(_values(text), _MOST_RUNS)] if first_place(_BEGINNING, data) >= 0 else []
    )
    if first_place(_BEGINNING_JOINED, data) >= 0:
        values += [(*value, True) for value in islice(_joined(text), _MOST_RUNS)]
        values.sort()
    if not values:
        return None
    pieces: list[str] = []
    kept: list[tuple[int, int, tuple[int, int], bool]] = []
    length = done = 0
    for start, end, plain, joined in values:
        if start < done:
            continue
        pieces += [text[done:start], plain]
        length += start - done
        kept.append((length, length + len(plain), (start, end), joined))
        length += len(plain)
        done = end
    pieces.append(text[done:])
    starts, ends, runs, joins = zip(*kept, strict=True)
    return DecodedInPlace("".join(pieces), variant.source, False, starts, ends, runs, joins, variant)


def _joined(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield ``(start, end, whole)`` of the strings and lines in *text* that are written in parts, in order."""
    for match in _JOINED.finditer(text):
        if match.lastgroup == "lines":
            yield *match.span(), re.sub(r"\\\n[ \t]*", "", match[0])
        else:
            quote = match[0][0]
            yield *match.span(), quote + "".join(piece[0][1:-1] for piece in _PIECE.finditer(match[0])) + quote


def _values(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield ``(start, end, plain)`` of the encoded values in *text*, in order."""
    for match in _RUN.finditer(text):
        plain = _decoded(match.lastgroup or "", match[0])
        for _ in range(_MOST_DEPTH - 1):
            deeper = _RUN.fullmatch(plain) if plain else None
            plain = (_decoded(deeper.lastgroup or "", deeper[0]) or plain) if deeper else plain
        if plain:
            yield *match.span(), plain


def _decoded(kind: str, run: str) -> str:
    """Return what *run* decodes to, or an empty string if that is no value."""
    if kind == "base" and _PLAIN_WORD.fullmatch(run):
        return ""
    try:
        return next((plain for plain in _decodings(kind, run) if plain != run and _is_value(plain)), "")
    except (ValueError, UnicodeError):
        return ""


def _decodings(kind: str, run: str) -> Iterator[str]:
    if kind == "escape":
        yield _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), html.unescape(run))
    elif kind == "quoted":
        yield quopri.decodestring(run.encode()).decode()
    elif kind == "percent":
        yield unquote(run, errors="strict")
    elif kind in {"hex", "spaced"}:
        yield binascii.unhexlify(re.sub(r"0x|[ ,:-]", "", run)).decode()
    else:
        body = re.sub(r"[\s=]", "", run)
        if _BASE32.fullmatch(run) and len(body) % 8 not in {1, 3, 6}:
            yield base64.b32decode(body + "=" * (-len(body) % 8)).decode("utf-8", "replace")
        if len(body) % 4 != 1:
            raw = base64.b64decode(body.replace("-", "+").replace("_", "/") + "=" * (-len(body) % 4))
            yield raw.decode()


def _is_value(plain: str) -> bool:
    return _FEWEST_CHARS <= len(plain) <= _MOST_CHARS and _LINE.fullmatch(plain) is not None
