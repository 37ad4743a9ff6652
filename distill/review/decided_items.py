"""Keep what a person decided for a day, so that the decision can be undone: ``decided.json`` of the machine state.

The record is signed. It has the file or the branch with which each text waited. ``memory forget`` erases texts in it
like in all machine state, and then nothing in it can be undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from agent_home import storage
from agent_home.consent.signed_record import read_record, try_write_record
from agent_home.home import Home
from agent_home.store.machine_state import hold_home

__all__ = ["DecidedItem", "drop_decided", "drop_old", "keep_decided", "undoable", "waiting_files"]

_RECORD = "decided"
#: How long a decision can be undone, and how many of them.
_KEPT, _MOST_KEPT = timedelta(days=1), 50
#: Larger texts that waited are not kept.
_MOST_CHARS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedItem:
    """A decision that can be undone. *ts* is its time, and *commit* what it changed, empty for an edit.

    *waited* are the commit of a proposal's branch before the decision, and *edited* the one after an edit. *files* are
    the files of the machine state with which the text waited, by their paths in its folder.
    """

    id: str
    kind: str
    action: Literal["accepted", "rejected", "edited"]
    person: str
    ts: str
    text: str
    path: str
    commit: str = ""
    waited: str = ""
    edited: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def undoable(home: Home, now: datetime) -> list[DecidedItem]:
    """Return this machine's decisions of the last day that can be undone, newest first."""
    since = now - _KEPT
    return [item for item in reversed(_kept(home)) if datetime.fromisoformat(item.ts) >= since]


def keep_decided(home: Home, item: DecidedItem, now: datetime) -> None:
    """Keep a decision. Call with the home's lock held. Without a usable key nothing is kept."""
    if len(item.text) + sum(map(len, item.files.values())) <= _MOST_CHARS:
        kept = (old for old in reversed(undoable(home, now)) if old.id != item.id)
        _write(home, [*kept, item][-_MOST_KEPT:])


def drop_decided(home: Home, item: DecidedItem) -> None:
    """Keep that decision no more. Call with the home's lock held."""
    _write(home, [old for old in _kept(home) if old != item])


def drop_old(home: Home, now: datetime) -> None:
    """Forget decisions that can be undone no more, with their texts. Needs no lock where there are none."""
    if len(_kept(home)) > len(undoable(home, now)):
        with hold_home(home):
            _write(home, undoable(home, now)[::-1])


def waiting_files(home: Home, patterns: Iterable[str]) -> dict[str, str]:
    """Return the files of the machine state that match one of *patterns*, by their paths in its folder.

    Bytes that are no UTF-8 are surrogates.
    """
    found: dict[str, str] = {}
    for pattern in patterns:
        for path in sorted(home.machine.glob(pattern)):
            name = path.relative_to(home.machine).as_posix()
            found[name] = storage.read_state(path).decode("utf-8", "surrogateescape")
    return found


def _kept(home: Home) -> list[DecidedItem]:
    rows: Sequence[Mapping[str, Any]] = (read_record(home.machine, _RECORD) or {}).get("decisions", ())
    return [DecidedItem(**row) for row in rows]


def _write(home: Home, items: Sequence[DecidedItem]) -> None:
    if items:
        try_write_record(home.machine, _RECORD, {"decisions": [asdict(item) for item in items]})
    else:
        storage.remove(Path(home.machine) / f"{_RECORD}.json")
