"""Text that stands in another as base64, as hexadecimal digits or percent-encoded.

Runs of 24 characters or more are decoded once; only what decodes to printable text counts, so hashes, keys and
pictures do not. All of a text's runs are read together as one ``Reading`` that leads back to where each run stands.
"""

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from guard.text.canonical import Reading

_RUN = re.compile(r"(?:%[0-9A-Fa-f]{2}[\w.~/?&=+:-]{0,400}){3,400}|[A-Za-z0-9+/_-]{24,}={0,2}", re.ASCII)
_BEFORE_PERCENT = re.compile(r"[\w.~/?&=+:-]{1,400}\Z", re.ASCII)
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})+\Z")
_SHORTEST = 24
_PRINTABLE = re.compile(r"[\t\n\r\x20-\x7e\xa0-\U0010ffff]+\Z")
_MOST = 400
"""Runs decoded in one text; a text of more is data."""


@dataclass(frozen=True)
class Decoded(Reading):
    """The decoded runs of a text, one per line; ``span`` gives the whole run that a place came from."""

    starts: tuple[int, ...] = field(default=(), repr=False)
    runs: tuple[tuple[int, int], ...] = field(default=(), repr=False)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span, in the source, of the runs that ``text[start:end]`` was decoded from."""
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        return self.runs[first][0], self.runs[last][1]


def decoded(reading: Reading) -> Decoded | None:
    """Return what is encoded in *reading*, or None when nothing is."""
    parts: list[str] = []
    starts: list[int] = []
    runs: list[tuple[int, int]] = []
    length = 0
    for match in _RUN.finditer(reading.text):
        start, end = match.span()
        if match[0][0] == "%" and (before := _BEFORE_PERCENT.search(reading.text, max(0, start - 400), start)):
            start = before.start()
        plain = _plain(reading.text[start:end])
        if plain is None:
            continue
        starts.append(length)
        runs.append(reading.span(start, end))
        parts.append(plain)
        length += len(plain) + 1
        if len(runs) == _MOST:
            break
    return Decoded("\n".join(parts), reading.source, False, tuple(starts), tuple(runs)) if runs else None


def _plain(run: str) -> str | None:
    """Return the text that *run* encodes, or None."""
    return next((text for raw in _ways(run) if (text := _text(raw)) is not None), None)


def _ways(run: str) -> Iterator[bytes]:
    if len(run) < _SHORTEST:
        return
    if "%" in run:
        yield unquote_to_bytes(run)
        return
    if _HEX.match(run):
        yield binascii.unhexlify(run)
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    if len(body) % 4 != 1:
        yield base64.b64decode(body + "=" * (-len(body) % 4))


def _text(raw: bytes) -> str | None:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    return text if _PRINTABLE.match(text) and len(text) >= 8 else None
