"""Own the list of ``STATUS.md`` files that name outputs, wherever they lie, so that a prune keeps these outputs.

The list is machine state: a JSON line for each file. A file that is gone, or names an output no more, keeps nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .. import storage
from ..home import Home
from ..lock import hold

__all__ = ["note_status_file", "noted_status_texts"]

_LIST = "status-files.jsonl"
#: A larger file is no status.
_MOST_BYTES = 256 << 10


def note_status_file(home: Home, path: Path) -> None:
    """Remember that the status file *path* names outputs.

    Raises:
        Locked: another process is changing the list.
        OSError: it cannot be written.
    """
    place = os.fsdecode(os.path.realpath(path))
    with hold(home.machine / "status-locks" / "list.lock"):
        if place not in _places(home):
            storage.append(home.machine / _LIST, json.dumps({"path": place}).encode() + b"\n")


def noted_status_texts(home: Home) -> Iterator[str]:
    """Yield the texts of the remembered status files that are still there.

    Raises:
        OSError: the list cannot be read.
    """
    for place in _places(home):
        with suppress(OSError, ValueError):
            path = Path(place)
            if not path.is_symlink():
                yield storage.read_bytes(path, _MOST_BYTES).decode("utf-8", "replace")


def _places(home: Home) -> dict[str, None]:
    """Return the remembered paths, in the order in which they were noted."""
    found: dict[str, None] = {}
    with suppress(FileNotFoundError):
        for line in storage.read_state(home.machine / _LIST).splitlines():
            with suppress(ValueError, KeyError, TypeError):
                found[str(json.loads(line)["path"])] = None
    return found
