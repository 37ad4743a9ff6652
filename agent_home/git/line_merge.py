"""Put both sides of a file that cannot be merged by entries into one file, with git's conflict markers."""

from __future__ import annotations

import os
from pathlib import Path

from .. import storage
from ..documents.check import conflict_marker
from ..errors import HistoryError
from .client import home_client

__all__ = ["write_both_sides"]

_OURS, _THEIRS = "ours", "theirs"


def write_both_sides(base: Path, ours: Path, theirs: Path, path: str) -> None:
    """Merge three files by lines, as git does, and write *ours*. *path* is the name in the home.

    The written file always has a conflict marker that the gateway refuses, so nobody takes it for merged. An unclosed
    code block hides the markers below it, and git's merge may end without any. Then all lines that differ are in
    conflict, and at last the two files as a whole.
    """
    for start in (base.absolute(), Path(os.devnull)):
        merged = _merge_lines(start, ours.absolute(), theirs.absolute())
        if conflict_marker(path, merged.decode("utf-8", "replace")) is not None:
            break
    else:
        merged = _one_conflict(storage.read_bytes(ours), storage.read_bytes(theirs))
    storage.stage(ours, merged)


def _merge_lines(base: Path, ours: Path, theirs: Path) -> bytes:
    """Return git's merge by lines, or nothing where git cannot do it, as with NUL bytes."""
    try:
        return home_client(ours.parent).merged_lines(base, ours, theirs, labels=(_OURS, "base", _THEIRS))
    except HistoryError:
        return b""


def _one_conflict(ours: bytes, theirs: bytes) -> bytes:
    sides = [side if not side or side.endswith((b"\n", b"\r")) else side + b"\n" for side in (ours, theirs)]
    return b"<<<<<<< %b\n%b=======\n%b>>>>>>> %b\n" % (_OURS.encode(), *sides, _THEIRS.encode())
