"""Notice that the installed program was changed while this process ran."""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["SourceStamp"]

_ROOT = Path(__file__).parents[3]
_PACKAGES = ("agent_home", "assembler", "distill", "guard", "interfaces", "recall")
_SECONDS_BETWEEN_LOOKS = 2.0


class SourceStamp:
    """The newest time and the number of the program's files, as they were when this object was made."""

    def __init__(self) -> None:
        self._before = _newest()
        self._looked = time.monotonic()
        self._changed = False

    def changed(self) -> bool:
        """Return whether a file of the program was added, removed or changed. Looks at most every two seconds."""
        if not self._changed and time.monotonic() - self._looked > _SECONDS_BETWEEN_LOOKS:
            self._looked = time.monotonic()
            self._changed = _newest() != self._before
        return self._changed


def _newest() -> tuple[int, int]:
    newest = count = 0
    for package in _PACKAGES:
        for folder, _, names in os.walk(_ROOT / package):
            for name in names:
                if name.endswith(".py"):
                    count += 1
                    try:
                        newest = max(newest, os.stat(f"{folder}/{name}").st_mtime_ns)  # noqa: PTH116 - 400 files
                    except OSError:
                        continue
    return newest, count
