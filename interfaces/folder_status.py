"""Own how a ``STATUS.md`` outside the home is read and written: screened, whole or not at all, and only that file."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from agent_home import storage
from agent_home.checkpoints.making import MOST_STATUS_BYTES, folder_statuses, shown_line
from agent_home.checkpoints.rendering import status_line
from agent_home.documents.status_file import STATUS_FILE, ContextReference, StatusFile, StatusTask
from agent_home.errors import GuardRefused, HomeError
from agent_home.home import Home
from agent_home.lock import hold
from agent_home.outputs.reading import find_output
from agent_home.outputs.status_references import note_status_file
from agent_home.screening.service import ScreeningService

__all__ = ["FolderStatusFile", "StatusUnusable", "read_status", "status_lines", "status_tree", "update_status"]

#: Characters of a line that is shown. The file has the rest.
_MOST_CHARS = 2000


class StatusUnusable(HomeError):
    """A status file cannot be read or written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderStatusFile:
    """Content of a status file, as a prompt may show it, and where the file lies."""

    path: Path
    phase: str
    state: str
    updated: str
    tasks: tuple[StatusTask, ...]
    references: tuple[ContextReference, ...]


def read_status(home: Home, folder: Path) -> FolderStatusFile:
    """Return the status of *folder*. ``[held back: rule]`` stands for what the guard keeps out of prompts.

    Raises:
        StatusUnusable: there is none, it is no text, or it leads elsewhere.
        GuardRefused: the guard cannot run.
    """
    path = folder / STATUS_FILE
    _refuse_link(path)
    if not path.exists():
        raise StatusUnusable(f"no {STATUS_FILE} in {folder}. `memory status update {folder} --task TEXT` makes one")
    return _shown(home, path, _read(path))


def update_status(
    home: Home,
    folder: Path,
    *,
    now: datetime,
    task: str = "",
    done: bool = False,
    phase: str = "",
    state: str = "",
    references: Sequence[str] = (),
) -> FolderStatusFile:
    """Change what is given in the status file of *folder*, which is made if it is not there.

    Raises:
        StatusUnusable: the folder is absent, or the file is no text or leads elsewhere.
        GuardRefused: the guard refuses a text.
        NoSuchOutput: a reference is to no output.
        Locked: another process is changing the file.
        OSError: the file cannot be written.
    """
    if not folder.is_dir():
        raise StatusUnusable(f"{folder} is no folder")
    path, screening = folder / STATUS_FILE, ScreeningService(home)
    _refuse_link(path)
    phase, state, task = (_line(screening, text) if text else "" for text in (phase, state, task))
    named = [_reference(home, name) for name in references]
    with hold(_lock(home, path)):
        status = _read(path) if path.exists() else StatusFile("")
        status = status.with_field("Phase", phase) if phase else status
        status = status.with_field("State", state) if state else status
        status = status.with_task(task, done=done) if task else status
        for reference in named:
            status = status.with_reference(reference)
        status = status.with_field("Updated", now.isoformat(sep=" ", timespec="minutes"))
        if status.references:
            note_status_file(home, path)
        _write(path, status)
    return _shown(home, path, status)


def status_lines(found: FolderStatusFile) -> list[str]:
    """Return a status file as a person reads it."""
    named = (("Phase", found.phase), ("State", found.state), ("Updated", found.updated))
    fields = [f"{name}: {value}" for name, value in named if value]
    tasks = [f"[{'x' if task.done else ' '}] {task.text}" for task in found.tasks]
    references = [f"{item.name}: {item.output} ({item.tokens} tokens)" for item in found.references]
    return [str(found.path), *fields, *tasks, *references]


def status_tree(home: Home, folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return a line and the JSON of each status file in *folder* and below."""
    return [(status_line(status), dataclasses.asdict(status)) for status in folder_statuses(home, folder)]


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise StatusUnusable(f"{path} is a link. Put a file in its place")


def _shown(home: Home, path: Path, status: StatusFile) -> FolderStatusFile:
    shown = partial(shown_line, ScreeningService(home), most_chars=_MOST_CHARS)
    return FolderStatusFile(
        path=path, phase=shown(status.field("Phase")), state=shown(status.field("State")),
        updated=shown(status.field("Updated")),
        tasks=tuple(StatusTask(text=shown(task.text), done=task.done) for task in status.tasks),
        references=tuple(
            ContextReference(name=shown(item.name), output=shown(item.output), tokens=item.tokens)
            for item in status.references
        ),
    )  # fmt: skip


def _read(path: Path) -> StatusFile:
    try:
        if path.stat().st_size > MOST_STATUS_BYTES:
            raise StatusUnusable(f"{path} is larger than {MOST_STATUS_BYTES >> 10} KB. It is no status")
        return StatusFile(storage.read_bytes(path).decode("utf-8", "surrogateescape"))
    except OSError as error:
        raise StatusUnusable(f"{path} cannot be read: {error.strerror}") from error


def _lock(home: Home, path: Path) -> Path:
    """Return the lock file of the status file *path*: machine state, so that people's folders hold no lock files."""
    digest = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()
    return home.machine / "status-locks" / f"{digest[:32]}.lock"


def _write(path: Path, status: StatusFile) -> None:
    staged = path.with_name(f".{STATUS_FILE}-{secrets.token_hex(8)}.tmp")
    try:
        storage.stage(staged, status.text.encode("utf-8", "surrogateescape"), mode=0o666)
        storage.replace(staged, path)
    finally:
        staged.unlink(missing_ok=True)


def _reference(home: Home, name: str) -> ContextReference:
    output = find_output(home, name)
    headline = (output.tool or ", ".join(output.tags) or output.type).replace("`", "")
    return ContextReference(name=headline, output=output.id, tokens=output.tokens)


def _line(screening: ScreeningService, text: str) -> str:
    """Return *text* on one line, as the guard stores it.

    Raises:
        GuardRefused: it does not.
    """
    line = " ".join(text.split())
    verdict = screening.verdict("outputs/x.txt", line, "agent")
    if not verdict.stored:
        raise GuardRefused(STATUS_FILE, f"it is no task, phase or state ({verdict.findings[0].rule})")
    return verdict.text
