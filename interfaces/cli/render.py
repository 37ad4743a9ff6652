"""Own how commands show texts of a home at a terminal."""

from __future__ import annotations

__all__ = ["printable", "shortened"]

_MAX_TITLE_CHARS = 60


def printable(text: str) -> str:
    """Escape every character of *text* that a terminal would hide or obey. Line ends stay."""
    return "".join(char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in text)


def shortened(title: str, most_chars: int = _MAX_TITLE_CHARS) -> str:
    """Return *title* in at most *most_chars* characters, with an ellipsis where it was cut."""
    return title if len(title) <= most_chars else f"{title[: most_chars - 1].rstrip()}…"
