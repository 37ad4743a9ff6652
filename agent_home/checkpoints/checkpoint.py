"""Own the record of a checkpoint, and where it lies.

Records are JSON files in ``outputs/checkpoints/``. They hold ids, counts and single lines, and no content of an output.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from .. import storage
from ..clock import moment_of
from ..documents.record_digest import require_digest, with_digest
from ..errors import HomeError
from ..home import Home
from ..lease.operation import operation
from ..outputs.own_place import PlaceIsLink, require_own

__all__ = [
    "CHECKPOINT_ID",
    "LATEST",
    "Checkpoint",
    "CheckpointDamaged",
    "FolderStatus",
    "NoSuchCheckpoint",
    "OpenThread",
    "OutputReference",
    "checkpoints",
    "damaged_checkpoints",
    "drop_checkpoint",
    "find_checkpoint",
    "save_checkpoint",
]

#: ``ckpt-YYYYMMDD-HHMMSS``, with the local time at which it was made.
CHECKPOINT_ID = re.compile(r"ckpt-\d{8}-\d{6}")
#: Stands for the newest checkpoint.
LATEST = "ckpt-latest"
_FOLDER = "outputs/checkpoints"
_VERSION = 1
#: The most by which local times of two zones differ.
_ZONES = timedelta(days=2)
Row = TypeVar("Row")


class NoSuchCheckpoint(HomeError):
    """No checkpoint has that id."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no checkpoint {name!r}. `memory checkpoint list` shows what is there")


class CheckpointDamaged(HomeError):
    """The record of a checkpoint cannot be read."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is damaged. Remove {_FOLDER}/{name}.json, and load the checkpoint before it")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputReference:
    """An output of a tool by its id, with the first line of its summary and its size."""

    output: str
    headline: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderStatus:
    """The status of a folder. *task* is the open task that was added last, and *open_tasks* counts all of them."""

    folder: str
    phase: str
    state: str
    task: str
    open_tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenThread:
    """An open thread of MEMORY.md."""

    id: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The state of work at one time.

    Attributes:
        id: its name (:data:`CHECKPOINT_ID`).
        ts: when it was made, ISO 8601.
        notes: what the one who made it said.
        phase: the phase of the work.
        directory: the folder in which it was made.
        branch: the branch that git had checked out there, or empty.
        commit: the commit of HEAD there, or empty.
        depends: what the work rests on, as the one who made it said.
        session: the session in which it was made.
        threads: open threads of memory, newest first.
        statuses: of the folders below *directory*.
        references: the newest outputs, newest first.
        outputs: number of outputs that there are.
        tokens: tokens of all of them.
    """

    id: str
    ts: str
    notes: str = ""
    phase: str = ""
    directory: str = ""
    branch: str = ""
    commit: str = ""
    depends: tuple[str, ...] = ()
    session: str = ""
    threads: tuple[OpenThread, ...] = ()
    statuses: tuple[FolderStatus, ...] = ()
    references: tuple[OutputReference, ...] = ()
    outputs: int = 0
    tokens: int = 0

    @property
    def moment(self) -> datetime:
        """The time at which it was made, with its zone."""
        return moment_of(self.ts)


def save_checkpoint(home: Home, make: Callable[[str], Checkpoint], now: datetime) -> Checkpoint:
    """Write the checkpoint that *make* returns for a new id, and return it.

    Two checkpoints of one second get the names of that second and of the next.

    Raises:
        PlaceIsLink: the folder of checkpoints is a link, or lies behind one.
        OSError: it could not be written.
        NotHeld, NotPublished: a fleet serves the home, and this host may not write it, or its remote did not take it.
    """
    with operation(home):
        return _saved(home, make, now)


def _saved(home: Home, make: Callable[[str], Checkpoint], now: datetime) -> Checkpoint:
    moment = now
    storage.make_folder(require_own(home, home.root / _FOLDER))
    while True:
        name = f"ckpt-{moment:%Y%m%d-%H%M%S}"
        path = _path(home, name)
        lock = path.with_suffix(".lock")
        if not path.exists() and storage.create(lock):
            break
        moment += timedelta(seconds=1)
    try:
        made = make(name)
        staged = path.with_name(f".{path.name}.tmp")
        storage.stage(staged, json.dumps(with_digest({"version": _VERSION, **asdict(made)})).encode() + b"\n")
        storage.replace(staged, path)
    finally:
        lock.unlink(missing_ok=True)
    return made


def find_checkpoint(home: Home, name: str = LATEST) -> Checkpoint:
    """Return the checkpoint *name*, or the newest one for :data:`LATEST` and an empty name.

    Raises:
        NoSuchCheckpoint: there is none.
        CheckpointDamaged: its record cannot be read.
    """
    names = _names(home)
    if name in {"", LATEST} and names:
        return _latest(home, names)
    if name not in names:
        raise NoSuchCheckpoint(name or LATEST)
    return _read(home, name)


def checkpoints(home: Home) -> list[Checkpoint]:
    """Return the checkpoints, newest first, by their moments. A damaged one is left out."""
    return _by_moment(home, _names(home))


def damaged_checkpoints(home: Home) -> Iterator[str]:
    """Yield the ids of checkpoints that cannot be read, newest first."""
    for name in _names(home):
        try:
            _read(home, name)
        except CheckpointDamaged:
            yield name


def drop_checkpoint(home: Home, name: str) -> None:
    """Delete the record of the checkpoint *name*."""
    storage.remove(require_own(home, _path(home, name)))


def _latest(home: Home, names: Sequence[str]) -> Checkpoint:
    """Return the newest of *names*, which are ordered by local time: one of those of the last two days.

    Raises:
        CheckpointDamaged: a damaged one seems to be newer than every other.
    """
    oldest = ""
    with suppress(ValueError, OverflowError):  # eight digits need not be a day
        oldest = f"ckpt-{date.fromisoformat(names[0][5:13]) - _ZONES:%Y%m%d}"
    found = _by_moment(home, [name for name in names if name >= oldest])
    if not found or names[0] > max(item.id for item in found):
        return _read(home, names[0])
    return found[0]


def _by_moment(home: Home, names: Sequence[str]) -> list[Checkpoint]:
    found = []
    for name in names:
        with suppress(CheckpointDamaged):
            found.append(_read(home, name))
    return sorted(found, key=lambda item: (item.moment, item.id), reverse=True)


def _names(home: Home) -> list[str]:
    """Return the ids, newest first by local time."""
    found = (path.stem for path in (home.root / _FOLDER).glob("ckpt-*.json"))
    return sorted((name for name in found if CHECKPOINT_ID.fullmatch(name)), reverse=True)


def _path(home: Home, name: str) -> Path:
    return home.root / _FOLDER / f"{name}.json"


def _read(home: Home, name: str) -> Checkpoint:
    try:
        row: dict[str, Any] = json.loads(storage.read_bytes(require_own(home, _path(home, name))))
        require_digest(row)
        if row.pop("version") != _VERSION or row["id"] != name:
            raise CheckpointDamaged(name)
        row["threads"] = tuple(_row(OpenThread, item) for item in row["threads"])
        row["statuses"] = tuple(_row(FolderStatus, item) for item in row["statuses"])
        row["references"] = tuple(_row(OutputReference, item) for item in row["references"])
        row["depends"] = tuple(map(str, row["depends"]))
        moment_of(row["ts"])
        return _row(Checkpoint, row)
    except (PlaceIsLink, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointDamaged(name) from error


def _row(kind: type[Row], values: Mapping[str, Any]) -> Row:
    """Return *values* as a *kind*, if each has the type of its field.

    Raises:
        TypeError: one has not.
    """
    for field in fields(kind):  # type: ignore[arg-type]
        if field.type == "str" and not isinstance(values[field.name], str):
            raise TypeError(field.name)
        if field.type == "int" and type(values[field.name]) is not int:
            raise TypeError(field.name)
    return kind(**values)
