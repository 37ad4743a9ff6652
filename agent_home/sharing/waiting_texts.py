"""Texts for shared folders that wait to be written: ``shared-texts/`` of the machine state, each signed.

A transaction of the home keeps them with its commit and writes them afterwards, each on its own. A text whose folder
cannot be written now waits for the next write of the home, so no shared folder holds up the home itself. Call
everything here with the home's lock held.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import storage
from ..consent.signed_record import read_record, write_record
from ..errors import HistoryError, HomeError, Locked, ShareUnwritable
from ..home import Home
from .folders import SharedFolder, shared_folder, submodules
from .placing import SharedText, place
from .recorded_commit import record_commit

__all__ = [
    "FOLDER", "PlacedText", "WaitingText", "drop", "is_waiting", "keep", "redact", "unsigned_texts", "waiting_texts",
    "write_waiting",
]  # fmt: skip

#: Folder of the machine state with the texts that wait.
FOLDER = "shared-texts"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingText:
    """A text that waits under *name* since *at*, in seconds since the epoch."""

    name: str
    at: float
    wanted: SharedText


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedText:
    """A text for *path* after an attempt to write it, with its *commit*, or the *problem* for which it waits.

    A *homeless* text waits for nothing: its folder is no shared one any more.
    """

    path: str
    commit: str = ""
    problem: str = ""
    homeless: WaitingText | None = None


def keep(home: Home, wanted: SharedText, *, at: float) -> None:
    """Let *wanted* wait. The same text waits once.

    Raises:
        MachineKeyUnusable: it cannot be signed.
    """
    row = {"at": at, **asdict(wanted), "trailers": dict(wanted.trailers)}
    write_record(home.machine, f"{FOLDER}/{_name(row)}", row)


def is_waiting(home: Home) -> bool:
    """Return whether a text waits. Needs no lock."""
    return any((home.machine / FOLDER).glob("*.json"))


def waiting_texts(home: Home) -> list[WaitingText]:
    """Return what waits, oldest first. What this machine did not sign is left out. Needs no lock."""
    found = ((path.stem, read_record(home.machine, f"{FOLDER}/{path.stem}")) for path in _files(home))
    return sorted((_read(name, row) for name, row in found if row), key=lambda one: (one.at, one.name))


def unsigned_texts(home: Home) -> list[Path]:
    """Return the files of texts that this machine did not sign. They are never written. Needs no lock."""
    return [path for path in _files(home) if read_record(home.machine, f"{FOLDER}/{path.stem}") is None]


def write_waiting(home: Home) -> list[PlacedText]:
    """Write what waits into its shared folder, and keep what cannot be written now.

    A folder that is locked, or whose repository fails, is not tried again for the other texts.
    """
    texts = waiting_texts(home)
    registered = submodules(home) if texts else {}
    done, closed = list[PlacedText](), dict[str, str]()
    for text in texts:
        path = text.wanted.path
        shared = shared_folder(home, path, registered)
        if shared is None:
            done.append(PlacedText(path=path, homeless=text))
        elif shared.place in closed:
            done.append(PlacedText(path=path, problem=closed[shared.place]))
        else:
            try:
                done.append(PlacedText(path=path, commit=_write(home, text, shared)))
            except (Locked, HistoryError) as error:
                closed[shared.place] = _said(shared, error)
                done.append(PlacedText(path=path, problem=closed[shared.place]))
            except (HomeError, OSError, ValueError) as error:
                done.append(PlacedText(path=path, problem=_said(shared, error)))
    return done


def drop(home: Home, text: WaitingText) -> None:
    """Let *text* wait no more. An absent one is no error."""
    storage.remove(home.machine / FOLDER / f"{text.name}.json")


def redact(home: Home, redacted: Callable[[str, str], str]) -> None:
    """Replace each waiting text by what *redacted* returns for its path and text, signed again."""
    for one in waiting_texts(home):
        path = one.wanted.path
        base, text = redacted(path, one.wanted.base), redacted(path, one.wanted.text)
        if (base, text) != (one.wanted.base, one.wanted.text):
            drop(home, one)
            keep(home, SharedText(**{**asdict(one.wanted), "base": base, "text": text}), at=one.at)


def _write(home: Home, text: WaitingText, shared: SharedFolder) -> str:
    """Write *text* into *shared*, and return its commit. The home names the new commit of a submodule.

    Raises:
        HomeError, OSError: what keeps the text from being written.
        ShareUnwritable: as well where the text is written, and a person has to decide which commit the home names.
    """
    commit = place(shared, text.wanted)
    try:
        if shared.kind == "submodule" and shared.repository is not None:
            record_commit(home, shared.place, shared.repository)
    except ShareUnwritable:
        drop(home, text)
        raise
    drop(home, text)
    return commit


def _said(shared: SharedFolder, error: Exception) -> str:
    """Return the problem that *error* tells of, with the place of *shared*."""
    said = " ".join(str(error).split())
    return said if said.startswith(shared.place) else f"{shared.place}: {said}"


def _read(name: str, row: Mapping[str, Any]) -> WaitingText:
    fields = {key: row[key] for key in ("path", "base", "text", "message", "trailers")}
    return WaitingText(name=name, at=row["at"], wanted=SharedText(**fields))


def _files(home: Home) -> Sequence[Path]:
    return sorted((home.machine / FOLDER).glob("*.json"))


def _name(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([row[key] for key in ("path", "base", "text")]).encode()).hexdigest()[:16]
