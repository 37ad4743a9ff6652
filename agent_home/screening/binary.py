"""Extract the readable text of a file that is no text, so that the guard can find secrets in it."""

from __future__ import annotations

import re

__all__ = ["is_binary", "readable"]

#: Git takes a file with a NUL byte among its first bytes for binary.
_GIT_CHECKED_BYTES = 8000
_PRINTABLE = re.compile(rb"[\t\x20-\x7e]{8,}")


def is_binary(data: bytes) -> bool:
    """Return whether git takes *data* for binary. Text in UTF-16 counts as binary."""
    return b"\0" in data[:_GIT_CHECKED_BYTES]


def readable(data: bytes) -> str:
    """Return the runs of at least eight printable ASCII characters in *data*, each on a line. UTF-16 is read as well.

    >>> readable("gr\\u00fc\\u00df Gott, all of you".encode("utf-16"))
    'Gott, all of you'
    """
    return "\n".join(row.decode("ascii").strip() for row in _PRINTABLE.findall(data.replace(b"\0", b"")))
