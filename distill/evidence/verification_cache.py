"""At which state of its repositories each entry's evidence was last checked: what need not be asked again.

A file in ``.memory``, which git does not know: losing it costs one check of every entry. It names folders of this
machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_home import storage
from agent_home.documents.entry import Entry
from agent_home.home import Home

from .repository import Deadline, DeadlinePassed, GitUnavailable, Repository, top_level

__all__ = ["CacheRow", "RepositoryStates", "current_row", "read", "write"]

_FILE = "checked.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRow:
    """An entry as it was checked: a digest of its text, and the state of each folder that its sessions worked in."""

    text: str
    folders: Mapping[str, str]


class RepositoryStates:
    """The states of folders, each asked for once. One that is no repository has an empty state."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._states: dict[str, str | None] = {}

    def state(self, folder: str) -> str | None:
        """The state of the repository that holds *folder*; ``None`` when git does not answer."""
        if folder not in self._states:
            self._states[folder] = self._ask(top_level(folder))
        return self._states[folder]

    def _ask(self, top: Path | None) -> str | None:
        try:
            return Repository(top, Deadline(self._timeout_s)).state() if top else ""
        except (GitUnavailable, DeadlinePassed):
            return None


def current_row(entry: Entry, folders: Iterable[str], states: RepositoryStates) -> CacheRow | None:
    """*entry* as it is now; ``None`` when the state of a folder cannot be told."""
    found = {folder: state for folder in folders if (state := states.state(folder)) is not None}
    return None if len(found) < len(list(folders)) else CacheRow(text=_digest(entry), folders=found)


def read(home: Home) -> dict[str, CacheRow]:
    """What was written last, by entry; empty where it cannot be read."""
    try:
        rows = json.loads(storage.read_text(home.machine / _FILE) or "{}")
        return {key: CacheRow(text=str(row["text"]), folders=dict(row["folders"])) for key, row in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def write(home: Home, seen: Mapping[str, CacheRow]) -> None:
    """Replace what was written before. Call with the lock held."""
    rows = {key: {"text": one.text, "folders": dict(one.folders)} for key, one in sorted(seen.items())}
    staged = home.machine / f"{_FILE}.new"
    storage.stage(staged, json.dumps(rows, ensure_ascii=False, indent=0).encode("utf-8", "backslashreplace"))
    storage.replace(staged, home.machine / _FILE)


def _digest(entry: Entry) -> str:
    return hashlib.blake2b(entry.render().encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
