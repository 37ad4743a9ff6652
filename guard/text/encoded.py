"""Decoding of base64, hexadecimal and percent-encoded runs in a text.

Runs of at least 24 characters are decoded once. Only printable results count, so hashes, keys and pictures do not. The
decoded runs of a text form one ``TextVariant``, which maps back to the position of each run.
"""

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from guard.text.canonical import TextVariant

__all__ = ["DecodedRuns", "decode_runs"]

_RUN = re.compile(r"(?:%[0-9A-Fa-f]{2}[\w.~/?&=+:-]{0,400}){3,400}|[A-Za-z0-9+/_-]{24,}={0,2}", re.ASCII)
_BEFORE_PERCENT = re.compile(r"[\w.~/?&=+:-]{1,400}\Z", re.ASCII)
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})+\Z")
_MIN_RUN_CHARS = 24
_PRINTABLE = re.compile(r"[\t\n\r\x20-\x7e\xa0-\U0010ffff]+\Z")
_MAX_RUNS = 400
"""Runs decoded in one text. A text with more runs is data."""


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
    for match in _RUN.finditer(variant.text):
        start, end = match.span()
        if match[0][0] == "%" and (before := _BEFORE_PERCENT.search(variant.text, max(0, start - 400), start)):
            start = before.start()
        plain = _decode_run(variant.text[start:end])
        if plain is None:
            continue
        starts.append(length)
        runs.append(variant.span(start, end))
        parts.append(plain)
        length += len(plain) + 1
        if len(runs) == _MAX_RUNS:
            break
    return DecodedRuns("\n".join(parts), variant.source, False, tuple(starts), tuple(runs)) if runs else None


def _decode_run(run: str) -> str | None:
    """Return the decoded text of *run*, or None."""
    return next((text for raw in _decodings(run) if (text := _printable_text(raw)) is not None), None)


def _decodings(run: str) -> Iterator[bytes]:
    if len(run) < _MIN_RUN_CHARS:
        return
    if "%" in run:
        yield unquote_to_bytes(run)
        return
    if _HEX.match(run):
        yield binascii.unhexlify(run)
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    if len(body) % 4 != 1:
        yield base64.b64decode(body + "=" * (-len(body) % 4))


def _printable_text(raw: bytes) -> str | None:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    return text if _PRINTABLE.match(text) and len(text) >= 8 else None
