"""Remember what this host has published of a home, so that the next publication sends what is new.

Everything here can be found out again from the remote, so it is a cache. A commit that was sent and not confirmed is
noted before it is sent, so that this host recognises its own commit on the remote.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import storage
from ..home import Home
from .state_tree import KnownFile

__all__ = [
    "Published",
    "forget_pending",
    "forget_sent",
    "has_pending",
    "lease_folder",
    "note_pending",
    "note_sent",
    "outbox_of",
    "read_published",
    "sent",
    "write_published",
]

_FOLDER, _FILE, _SENT, _OUTBOX = "lease", "published.json", "sent.json", "outbox"
#: Is there while something may be written that was not published.
_PENDING = "unpublished"
#: Commits that were sent and not confirmed. One of them is on the remote if an answer was lost, whichever came after it
#: while the remote was away. So many tries take most of a day.
_MOST_SENT = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Publications of a home so far, as this host knows them.

    Attributes:
        commit: the commit of the state, or an empty string before the first publication.
        tree: its tree.
        epoch: the epoch under which it was published.
        refs: the file with the refs of the home in it.
        epochs: the file with the holders so far in it.
        branch: the newest commit of the memory's branch on the remote, or an empty string.
        foreign: the branch on the remote has commits that the home has not.
        number: publications since the repository that they are pushed from was packed.
        files: the files in the tree.
    """

    commit: str = ""
    tree: str = ""
    epoch: int = 0
    refs: str = ""
    epochs: str = ""
    branch: str = ""
    foreign: bool = False
    number: int = 0
    files: Mapping[str, KnownFile] = field(default_factory=dict)


def lease_folder(home: Home) -> Path:
    """Return the folder of what this package keeps in the machine state of *home*."""
    return home.machine / _FOLDER


def outbox_of(home: Home) -> Path:
    """Return the repository from which states of *home* are pushed."""
    return lease_folder(home) / _OUTBOX


def read_published(home: Home) -> Published:
    """Return what was published. Without a readable record nothing is known."""
    try:
        row: dict[str, Any] = json.loads(storage.read_state(lease_folder(home) / _FILE))
        files = {
            path: KnownFile(mode=mode, parts=tuple(parts), state=tuple(state))
            for path, (mode, parts, state) in row.pop("files").items()
        }
        return Published(**row, files=files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Published()


def write_published(home: Home, published: Published) -> bool:
    """Note what was published, and return whether that could be written. On a full disk the note before stays."""
    row: dict[str, Any] = {name: getattr(published, name) for name in Published.__dataclass_fields__ if name != "files"}
    row["files"] = {path: [file.mode, file.parts, file.state] for path, file in published.files.items()}
    return storage.write_cache(_made(home) / _FILE, json.dumps(row).encode())


def note_sent(home: Home, commit: str) -> None:
    """Note *commit* before it is sent.

    Raises:
        OSError: it cannot be noted, so it must not be sent.
    """
    path = _made(home) / _SENT
    staged = path.with_name(f"{_SENT}.tmp")
    storage.stage(staged, json.dumps([*sent(home)[-_MOST_SENT + 1 :], commit]).encode())
    storage.replace(staged, path)


def sent(home: Home) -> list[str]:
    """Return the commits that were sent and not confirmed, oldest first."""
    try:
        return [str(name) for name in json.loads(storage.read_state(lease_folder(home) / _SENT))]
    except (OSError, ValueError, TypeError):
        return []


def forget_sent(home: Home) -> None:
    """Drop the notes of commits that were sent, because the remote has confirmed one."""
    storage.remove(lease_folder(home) / _SENT)


def note_pending(home: Home) -> None:
    """Note that something is about to be written.

    Raises:
        OSError: it cannot be noted, so nothing must be written.
    """
    storage.create(_made(home) / _PENDING)


def forget_pending(home: Home) -> None:
    """Note that everything is published. Call with the write lock held."""
    path = lease_folder(home) / _PENDING
    path.unlink(missing_ok=True)


def has_pending(home: Home) -> bool:
    """Return whether something may be written here that is not published. Needs no lock."""
    return os.path.lexists(f"{home.machine}/{_FOLDER}/{_PENDING}")


def _made(home: Home) -> Path:
    folder = lease_folder(home)
    storage.make_folder(folder)
    return folder
