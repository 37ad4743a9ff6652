"""Remember on this machine which texts the guard found clean, so that the next prompt does not load the guard.

The record holds digests and no text. It is a cache: where it is lost or cannot be written, texts are judged again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from .. import storage
from ..home import Home

__all__ = ["CleanTexts"]

#: Keys that are kept: several versions of a few thousand blocks.
_CAPACITY = 16_384


class CleanTexts:
    """Keys of clean texts, oldest first, as :func:`agent_home.screening.ruleset.text_key` makes them."""

    def __init__(self, home: Home) -> None:
        self._path = home.machine / "screened.json"
        self._recorded = _recorded(self._path, *_version(self._path))
        self._fresh: dict[str, None] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._recorded or key in self._fresh

    def add(self, keys: Iterable[str]) -> None:
        """Add the keys that are not recorded yet."""
        self._fresh.update((key, None) for key in keys if key not in self._recorded)

    def keep(self) -> None:
        """Write the new keys for the next process."""
        if self._fresh:
            keys = [*(key for key in self._recorded if key not in self._fresh), *self._fresh][-_CAPACITY:]
            storage.write_cache(self._path, json.dumps(keys).encode())


def _version(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4)
def _recorded(path: Path, mtime_ns: int, size: int) -> Mapping[str, None]:  # noqa: ARG001 (they name the version)
    """Return the keys in the record, oldest first. A record that cannot be read has none."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return dict.fromkeys(key for key in data if isinstance(key, str)) if isinstance(data, list) else {}
