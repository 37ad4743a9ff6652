"""Tell how wide the terminal is that a stream goes to."""

from __future__ import annotations

import os
from typing import TextIO

__all__ = ["terminal_columns"]

#: Columns of a terminal that does not say how many it has.
_USUAL_COLUMNS = 80


def terminal_columns(stream: TextIO) -> int:
    """Return the columns of the terminal that *stream* is, and 0 where it is none."""
    try:
        return (os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS) if stream.isatty() else 0
    except (OSError, ValueError):  # a closed stream, or one without a descriptor
        return 0
