"""Decoding of encoded runs in a text: base64, base32, hexadecimal, percent, quoted-printable, entities, escapes.

Runs of at least 24 characters are decoded, and what comes out is decoded again, three times at most. Compressed data
(gzip, zlib) is unpacked on the way. Only printable results count, so hashes, keys and pictures do not. The decoded runs
of a text form one ``TextVariant``, which maps back to the position of each run. Every step is bounded: runs, depth, and
the size of what comes out, so that a small text cannot unpack to a large one.
"""

import base64
import binascii
import html
import quopri
import re
import sys
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from guard.lazy_regex import lazy_regex
from guard.text.canonical import TextVariant, utf8
from guard.text.quick_search import first_place

__all__ = ["DecodedRuns", "decode_runs"]

_RUN = lazy_regex(
    r"(?:%[0-9A-Fa-f]{2}[\w.~/?&=+:-]{0,400}){3,400}"
    r"|(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}[ :]){15,4000}[0-9A-Fa-f]{2}(?![0-9A-Fa-f])"
    r"|[A-Za-z0-9+/]{56,76}(?:\r?\n[ \t>]{0,4}[A-Za-z0-9+/]{56,76}){0,2000}\r?\n[ \t>]{0,4}[A-Za-z0-9+/]{4,76}={0,2}"
    r"|[A-Za-z0-9+/_-]{24,}={0,6}",
    re.ASCII,
)
_BEGINNING = r"%[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{2}[ :]){15}|[A-Za-z0-9+/_-]{24}"
"""Beginnings of all runs, for ``guard.text.quick_search``."""

_BEFORE_PERCENT = lazy_regex(r"[\w.~/?&=+:-]{1,400}\Z", re.ASCII)
_HEX = lazy_regex(r"(?:[0-9A-Fa-f]{2})+\Z")
_BASE32 = re.compile(r"[A-Z2-7]{24,}={0,6}\Z|[a-z2-7]{24,}={0,6}\Z")
_ANY_ESCAPE = lazy_regex(r"&#(?:\d{2,7}|x[0-9A-Fa-f]{2,6});|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|=[0-9A-F]{2}")
_FEWEST_ESCAPES = 3
_ESCAPE_GAP = 60
_LONGEST_ESCAPED = 8_000
_ESCAPE = lazy_regex(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_MIN_RUN_CHARS = 24
# All but control characters. Named that way, the class compiles in a hundredth of the time.
_PRINTABLE = lazy_regex(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+\Z")
_MAX_RUNS = 400
"""Runs decoded in one text. A text with more runs is data."""
_MAX_DEPTH = 3
_MAX_UNPACKED = 65_536
"""Bytes that one run may unpack to. The rest is not read."""
_MAX_DECODED = 1_048_576
"""Characters that the runs of one text may decode to."""


@dataclass(frozen=True)
class DecodedRuns(TextVariant):
    """Decoded runs of a text, one per line. ``span`` returns whole runs."""

    starts: tuple[int, ...] = field(default=(), repr=False)
    runs: tuple[tuple[int, int], ...] = field(default=(), repr=False)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span, in the source, of the runs behind ``text[start:end]``."""
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        return self.runs[first][0], self.runs[last][1]


def decode_runs(variant: TextVariant) -> DecodedRuns | None:
    """Return the decoded runs of *variant*, or None without any."""
    parts: list[str] = []
    starts: list[int] = []
    runs: list[tuple[int, int]] = []
    length = 0
    for start, end, plain in _decoded(variant.text):
        starts.append(length)
        runs.append(variant.span(start, end))
        parts.append(plain)
        length += len(plain) + 1
        if len(runs) == _MAX_RUNS or length > _MAX_DECODED:
            break
    return DecodedRuns("\n".join(parts), variant.source, False, tuple(starts), tuple(runs)) if runs else None


def _decoded(text: str, depth: int = 1) -> Iterator[tuple[int, int, str]]:
    """Yield ``(start, end, plain)`` of the runs in *text*, with what is decoded from *plain* in further lines."""
    if "&#" in text or "\\u" in text or "\\x" in text or text.count("=") > 2:
        for start, end in _escaped(text):
            if _PRINTABLE.match(plain := _unescaped(text[start:end])):
                yield start, end, _with_deeper(plain, depth)
    begin = _first_run(text)
    for match in _RUN.finditer(text, begin) if begin >= 0 else ():
        start, end = match.span()
        if match[0][0] == "%" and (before := _BEFORE_PERCENT.search(text, max(0, start - 400), start)):
            start = before.start()
        decoded = _decode_run(text[start:end])
        if decoded is not None:
            yield start, end, _with_deeper(decoded, depth)


def _first_run(text: str) -> int:
    """Return where the first run may begin, or -1 without any."""
    data = utf8(text)
    place = first_place(_BEGINNING, data)
    return len(data[:place].decode(errors="ignore")) if place > 0 else place


def _escaped(text: str) -> Iterator[tuple[int, int]]:
    """Yield passages with at least three escapes near each other, with the words that they stand in."""
    start, end, count = 0, -1, 0
    for first, last in [*(match.span() for match in _ANY_ESCAPE.finditer(text)), (sys.maxsize, sys.maxsize)]:
        if count and (first - end > _ESCAPE_GAP or last - start > _LONGEST_ESCAPED):
            if count >= _FEWEST_ESCAPES:
                before = re.search(r"[^\s]{0,80}\Z", text[max(0, start - 80) : start])
                after = re.match(r"[^\s]{0,80}", text[end : end + 80])
                yield start - len(before[0] if before else ""), end + len(after[0] if after else "")
            count = 0
        start, end, count = (first if not count else start), last, count + 1


def _with_deeper(plain: str, depth: int) -> str:
    """Return *plain* with what its own runs decode to in further lines."""
    if depth == _MAX_DEPTH or len(plain) > _MAX_UNPACKED:
        return plain
    return "\n".join([plain, *(deeper for _, _, deeper in _decoded(plain, depth + 1))])


def _unescaped(line: str) -> str:
    """Return *line* without entities, escapes and quoted-printable signs."""
    plain = _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), html.unescape(line))
    if re.search(r"(?:=[0-9A-F]{2}[^\n]{0,40}?){3}", plain):
        try:
            plain = quopri.decodestring(plain.encode()).decode()
        except (UnicodeDecodeError, UnicodeEncodeError):
            return plain
    return plain


def _decode_run(run: str) -> str | None:
    """Return the decoded text of *run*, or None."""
    return next((text for raw in _decodings(run) if (text := _printable_text(raw)) is not None), None)


def _decodings(run: str) -> Iterator[bytes]:
    if len(run) < _MIN_RUN_CHARS:
        return
    if "%" in run:
        yield unquote_to_bytes(run)
        return
    if run[2] in " :" and (joined := re.sub("[ :]", "", run)) and _HEX.match(joined):
        yield binascii.unhexlify(joined)
        return
    run = re.sub(r"[\s>]", "", run) if "\n" in run else run
    if _HEX.match(run):
        yield _unpacked(binascii.unhexlify(run))
    if _BASE32.match(run):
        body = run.rstrip("=").upper()
        if len(body) % 8 not in {1, 3, 6}:
            yield _unpacked(base64.b32decode(body + "=" * (-len(body) % 8)))
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    if len(body) % 4 != 1:
        yield _unpacked(base64.b64decode(body + "=" * (-len(body) % 4)))


def _unpacked(raw: bytes) -> bytes:
    """Return *raw*, decompressed up to the limit where it is gzip or zlib data."""
    if raw[:2] not in {b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"}:
        return raw
    try:
        return zlib.decompressobj(wbits=47).decompress(raw, _MAX_UNPACKED)
    except zlib.error:
        return raw


def _printable_text(raw: bytes) -> str | None:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    return text if _PRINTABLE.match(text) and len(text) >= 8 else None
