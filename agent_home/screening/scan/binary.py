"""Extract the readable text of a file that is no text, so that the guard can find secrets in it."""

from __future__ import annotations

import re

from .archives import unpacked

__all__ = ["is_binary", "readable"]

#: Git takes a file with a NUL byte among its first bytes for binary.
_GIT_CHECKED_BYTES = 8000
#: Streams may lack a NUL byte in their start.
_COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")
_PRINTABLE = re.compile(rb"[\t\x20-\x7e]{8,}")


def is_binary(data: bytes) -> bool:
    """Return whether git takes *data* for binary, or it is compressed. Text in UTF-16 counts as binary."""
    return data.startswith(_COMPRESSED) or b"\0" in data[:_GIT_CHECKED_BYTES]


def readable(data: bytes) -> str:
    """Return the runs of at least eight printable ASCII characters in *data*, each on a line. UTF-16 is read as well.

    What *data* holds compressed is read too, with the names of the members.

    >>> readable("gr\\u00fc\\u00df Gott, all of you".encode("utf-16"))
    'Gott, all of you'
    """
    parts = [_printable(data)]
    for name, content in unpacked(data):
        text = content.decode("utf-8", "replace") if b"\0" not in content else _printable(content)
        parts += [name, text]
    return "\n".join(part for part in parts if part)


def _printable(data: bytes) -> str:
    return "\n".join(row.decode("ascii").strip() for row in _PRINTABLE.findall(data.replace(b"\0", b"")))
