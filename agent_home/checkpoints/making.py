"""Make a checkpoint from what is there: memory, outputs, status files and the repository of the folder at hand.

Texts that others wrote, such as a status file of a repository, pass the guard, line by line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path

from .. import storage
from ..documents.document import parse
from ..documents.entry import superseded_by
from ..documents.status_file import STATUS_FILE, StatusFile
from ..errors import DocumentInvalid, GuardRefused, HomeError
from ..git.client import untrusted_client
from ..home import MEMORY, Home
from ..outputs.reading import outputs
from ..screening.service import ScreeningService
from .checkpoint import Checkpoint, FolderStatus, OpenThread, OutputReference, save_checkpoint

__all__ = ["MOST_STATUS_BYTES", "folder_statuses", "make_checkpoint", "shown_line"]

#: Outputs, threads and status files that a checkpoint names.
_MOST_REFERENCES, _MOST_THREADS, _MOST_STATUSES = 40, 20, 40
#: Folders that are looked into for status files, and how deep they lie.
_MOST_FOLDERS, _DEPTH = 5_000, 6
#: A larger file is no status.
MOST_STATUS_BYTES = 256 << 10
_MOST_CHARS = 160
_GIT_S = 5.0
_NOT_LOOKED_INTO = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build"})


def make_checkpoint(
    home: Home,
    *,
    now: datetime,
    folder: Path,
    notes: str = "",
    phase: str = "",
    depends: Sequence[str] = (),
    session: str = "",
) -> Checkpoint:
    """Make a checkpoint of the work in *folder*, and store it.

    Without *phase*, it is that of the status file of *folder*, or of the first one below it.

    Raises:
        GuardRefused: the guard refuses the notes, the phase, a dependency or the session, or cannot run.
        OSError: the checkpoint could not be written.
    """
    screening = ScreeningService(home)
    statuses = tuple(islice(folder_statuses(home, folder), _MOST_STATUSES))
    found = [output for output in outputs(home) if not output.author]
    branch, commit = _revision(folder)

    def made(name: str) -> Checkpoint:
        return Checkpoint(
            id=name, ts=now.isoformat(timespec="seconds"), notes=_own(screening, notes),
            session=_own(screening, session),
            phase=_own(screening, phase) or next((status.phase for status in statuses if status.phase), ""),
            directory=shown_line(screening, str(folder)), branch=shown_line(screening, branch), commit=commit,
            depends=tuple(_own(screening, text) for text in depends), statuses=statuses,
            threads=tuple(islice(_threads(home), _MOST_THREADS)),
            references=tuple(
                OutputReference(output=output.id, headline=_cut(output.headline), tokens=output.tokens)
                for output in found[:_MOST_REFERENCES]
            ),
            outputs=len(found), tokens=sum(output.tokens for output in found),
        )  # fmt: skip

    return save_checkpoint(home, made, now)


def folder_statuses(home: Home, folder: Path) -> Iterator[FolderStatus]:
    """Yield what the status files in *folder* and below say, the folder itself first, then by name.

    Links are not followed, and hidden folders, environments and results of builds are not looked into.
    """
    screening = ScreeningService(home)
    for place in islice(_folders(folder, _DEPTH), _MOST_FOLDERS):
        with suppress(OSError, DocumentInvalid):
            path = place / STATUS_FILE
            if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_STATUS_BYTES:
                continue
            status = StatusFile(storage.read_text(path))
            open_tasks = [task.text for task in status.tasks if not task.done]
            relative = place.relative_to(folder).as_posix()
            yield FolderStatus(
                folder=shown_line(screening, "." if relative == "." else f"./{relative}"),
                phase=shown_line(screening, status.field("Phase")),
                state=shown_line(screening, status.field("State")),
                task=shown_line(screening, open_tasks[-1] if open_tasks else ""),
                open_tasks=len(open_tasks),
            )


def shown_line(screening: ScreeningService, text: str, *, most_chars: int = _MOST_CHARS) -> str:
    """Return one line that others wrote as a prompt may show it, or a note that the guard holds it back."""
    line = _cut(" ".join(text.split()), most_chars)
    if not line:
        return ""
    verdict = screening.verdict("outputs/x.txt", line, "tool")
    return verdict.text if verdict.stored else f"[held back: {verdict.findings[0].rule}]"


def _own(screening: ScreeningService, text: str) -> str:
    """Return one line of the one who makes the checkpoint.

    Raises:
        GuardRefused: the guard does not let it into prompts.
    """
    line = " ".join(text.split())
    if not line:
        return ""
    verdict = screening.verdict("outputs/x.txt", line, "agent")
    if not verdict.stored:
        raise GuardRefused("outputs/checkpoints/", f"it is no note of an agent ({verdict.findings[0].rule})")
    return verdict.text


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    """Yield *folder* and the folders below it, in order of names."""
    yield folder
    if not depth:
        return
    with suppress(OSError):
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
        for name in names:
            if not name.startswith(".") and name not in _NOT_LOOKED_INTO:
                yield from _folders(folder / name, depth - 1)


def _threads(home: Home) -> Iterator[OpenThread]:
    """Yield the open threads of memory, newest first."""
    with suppress(OSError, DocumentInvalid):
        document = parse(storage.read_text(home.root / MEMORY))
        newer = superseded_by(document.entries())
        entries = [entry for entry in document.section_entries("Open Threads") if not entry.retired]
        for entry in sorted(entries, key=lambda entry: entry.date, reverse=True):
            if entry.id not in newer:
                yield OpenThread(id=entry.id, title=_cut(entry.text))


def _revision(folder: Path) -> tuple[str, str]:
    """Return the branch and the commit that git has checked out in *folder*, or empty texts."""
    start = folder.resolve()
    top = next((path for path in (start, *start.parents) if (path / ".git").exists()), None)
    if top is None:
        return "", ""
    with suppress(HomeError, OSError):
        git = replace(untrusted_client(top), timeout_s=_GIT_S)
        commit = git.text("rev-parse", "--verify", "--short=12", "HEAD").strip()
        return git.text("rev-parse", "--abbrev-ref", "HEAD").strip(), commit
    return "", ""


def _cut(text: str, most: int = _MOST_CHARS) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
