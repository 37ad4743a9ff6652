"""What can be read in a file that is no text: a secret in it is a secret all the same."""

from __future__ import annotations

import re

__all__ = ["is_binary", "readable"]

#: As git tells: a NUL byte among the first.
_LOOKED_AT_BYTES = 8000
_PRINTABLE = re.compile(rb"[\t\x20-\x7e]{8,}")


def is_binary(data: bytes) -> bool:
    """Whether *data* is no text to git and to people; text in UTF-16 counts as such."""
    return b"\0" in data[:_LOOKED_AT_BYTES]


def readable(data: bytes) -> str:
    """Its rows of at least eight printable ASCII characters, a line for each; of UTF-16 as well.

    >>> readable("gr\\u00fc\\u00df Gott, all of you".encode("utf-16"))
    'Gott, all of you'
    """
    return "\n".join(row.decode("ascii").strip() for row in _PRINTABLE.findall(data.replace(b"\0", b"")))
