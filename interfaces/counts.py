"""Own how numbers of things are written in messages."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return *number* with its noun in the right form. The plural adds an "s" unless *plural* is given.

    >>> counted(1, "entry", "entries"), counted(0, "entry", "entries"), counted(2, "text waits", "texts wait")
    ('1 entry', '0 entries', '2 texts wait')
    """
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
