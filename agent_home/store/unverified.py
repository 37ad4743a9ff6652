"""Redo records that this machine did not sign: they came with an archive, or the machine key was lost.

Such a record is never carried out. It is kept in ``unverified/`` beside the machine state, and its texts wait in
`memory review` like other texts that recovery set aside, so nothing that it may hold is lost. A caller that changes
something holds the home's lock.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import storage
from ..errors import DocumentInvalid
from ..home import Home
from . import set_aside
from .memory_path import memory_path, refuse_links

__all__ = ["FOLDER", "keep_record", "offer", "waiting"]

FOLDER = "unverified"
#: The record whose texts are not in `memory review` yet, and the same record afterwards.
_NEW, _OFFERED = "redo.json", "record.json"
_MOST_FILES = 1000


def keep_record(home: Home, record: Path, staging: Path) -> None:
    """Move *record* and the texts in *staging* out of the way. Killed at any point, the next call goes on."""
    folder = home.machine / FOLDER / str(record.lstat().st_mtime_ns)
    for path in sorted(staging.iterdir()) if staging.is_dir() else ():
        storage.make_folder(folder / "staging")
        storage.replace(path, folder / "staging" / path.name)
    storage.make_folder(folder)
    storage.replace(record, folder / _NEW)


def offer(home: Home) -> list[Path]:
    """Put the texts of new records into `memory review`. Return the folders of the records."""
    done = []
    for record in sorted((home.machine / FOLDER).glob(f"*/{_NEW}")):
        at = record.lstat().st_mtime
        for number, (path, text) in enumerate(_texts(home, record)):
            set_aside.keep(home, path, text, at=at, number=number, unsigned=True)
        storage.replace(record, record.with_name(_OFFERED))
        done.append(record.parent)
    return done


def waiting(home: Home) -> list[Path]:
    """Return the folders of the records that a person has not removed yet."""
    return sorted(path.parent for name in (_NEW, _OFFERED) for path in (home.machine / FOLDER).glob(f"*/{name}"))


def _texts(home: Home, record: Path) -> Iterator[tuple[str, str]]:
    """Yield path and text of the files that *record* names, as far as they are memory."""
    try:
        row = json.loads(storage.read_state(record))
        row = json.loads(row["record"]) if "record" in row else row  # an earlier version signed none
        files = list(row["files"])[:_MOST_FILES]
        shared = list(row.get("shared", ()))[:_MOST_FILES]
    except (OSError, ValueError, KeyError, TypeError):
        return
    for item in files:
        found = _text(home, record.with_name("staging"), item)
        if found:
            yield found
    yield from filter(None, (_shared_text(home, item) for item in shared))


def _shared_text(home: Home, item: Any) -> tuple[str, str] | None:
    """Return path and text of a row for a shared project, whose text stands in the record itself."""
    try:
        path, text = str(item["path"]), str(item["text"])
        text.encode()
        memory_path(home, path)
    except (ValueError, KeyError, TypeError, DocumentInvalid):
        return None
    return (path, text) if path.isprintable() else None


def _text(home: Home, staging: Path, item: Any) -> tuple[str, str] | None:
    try:
        path, name = str(item["path"]), str(item["staged"])
        memory_path(home, path)
        refuse_links(home, [path])
        if Path(name).name != name or not path.isprintable():
            return None
        return path, storage.read_state(staging / name).decode("utf-8")
    except (OSError, ValueError, KeyError, TypeError, DocumentInvalid):
        return None
