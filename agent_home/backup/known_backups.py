"""Remember on this machine where the backups of a home are, so that `memory forget` can name them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from .. import storage
from ..home import Home

__all__ = ["known_backups", "note_backup"]

_FILE = "backups.json"
_MOST = 20


def known_backups(home: Home) -> Mapping[str, str]:
    """Return the folders of backups with the time of the last one in each, the newest first."""
    try:
        rows = json.loads(storage.read_state(home.machine / _FILE))
        found = {str(folder): str(made) for folder, made in rows.items()}
    except (OSError, ValueError, AttributeError):
        return {}
    return dict(sorted(found.items(), key=lambda row: row[1], reverse=True))


def note_backup(home: Home, folder: Path, now: datetime) -> None:
    """Remember that *folder* has a backup of *home* now. Nothing depends on it, so a full disk is no error."""
    rows = {
        str(folder): now.isoformat(),
        **{path: made for path, made in known_backups(home).items() if path != str(folder)},
    }
    with suppress(OSError):
        staged = home.machine / f"{_FILE}.tmp"
        storage.stage(staged, json.dumps(dict(list(rows.items())[:_MOST])).encode())
        storage.replace(staged, home.machine / _FILE)
