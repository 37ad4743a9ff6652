"""Remember on this machine which texts the guard found clean, so that the next prompt does not load the guard.

The record holds digests and no text, and is signed with the machine key. It is a cache: where it is lost, forged or
cannot be written, texts are judged again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from .. import storage
from ..errors import MachineKeyUnusable
from ..home import Home
from ..machine_key import sign, verify

__all__ = ["CleanTexts"]

#: What a record is signed for: a record from elsewhere would let any text into a prompt.
_PURPOSE = "clean texts"
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
            said = "\n".join(keys)
            with suppress(MachineKeyUnusable):
                row = {"mac": sign(_PURPOSE, said.encode()), "keys": said}
                storage.write_cache(self._path, json.dumps(row).encode())


def _version(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4)
def _recorded(path: Path, mtime_ns: int, size: int) -> Mapping[str, None]:  # noqa: ARG001 (they name the version)
    """Return the keys in the record, oldest first. A record that this machine did not sign has none."""
    try:
        row = json.loads(storage.read_state(path))
        said, mac = row["keys"], row["mac"]
        return dict.fromkeys(said.split("\n")) if verify(_PURPOSE, said.encode(), mac) else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
