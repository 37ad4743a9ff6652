"""Record the state of the repositories at which each entry's evidence was last checked.

The file is machine state and not in git, because it names folders of this machine. Losing it costs one check of every
entry.
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
    """A checked entry: a digest of its text, and the state of each folder that its sessions worked in."""

    text: str
    folders: Mapping[str, str]


class RepositoryStates:
    """The states of folders, each read once. A folder without a repository has an empty state."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._states: dict[str, str | None] = {}

    def state(self, folder: str) -> str | None:
        """Return the state of the repository that holds *folder*, or ``None`` when git does not answer."""
        if folder not in self._states:
            self._states[folder] = self._read_state(top_level(folder))
        return self._states[folder]

    def _read_state(self, top: Path | None) -> str | None:
        try:
            return Repository(top, Deadline(self._timeout_s)).state() if top else ""
        except (GitUnavailable, DeadlinePassed):
            return None


def current_row(entry: Entry, folders: Iterable[str], states: RepositoryStates) -> CacheRow | None:
    """Return the row of *entry* as it is now, or ``None`` when the state of a folder is unknown."""
    found = {folder: state for folder in folders if (state := states.state(folder)) is not None}
    return None if len(found) < len(list(folders)) else CacheRow(text=_digest(entry), folders=found)


def read(home: Home) -> dict[str, CacheRow]:
    """Return the rows that were written last by entry id. An unreadable file counts as empty."""
    try:
        rows = json.loads(storage.read_state(home.machine / _FILE))
        return {key: CacheRow(text=str(row["text"]), folders=dict(row["folders"])) for key, row in rows.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write(home: Home, rows: Mapping[str, CacheRow]) -> None:
    """Replace the file. Call with the lock held."""
    values = {key: {"text": row.text, "folders": dict(row.folders)} for key, row in sorted(rows.items())}
    staged = home.machine / f"{_FILE}.new"
    storage.stage(staged, json.dumps(values, ensure_ascii=False, indent=0).encode("utf-8", "backslashreplace"))
    storage.replace(staged, home.machine / _FILE)


def _digest(entry: Entry) -> str:
    return hashlib.blake2b(entry.render().encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
