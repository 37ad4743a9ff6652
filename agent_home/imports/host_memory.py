"""Copy the notes that a chat host keeps by itself into the home, where recall finds them.

Claude Code writes Markdown into a folder ``memory`` beside a project's sessions. Each file becomes one below
``Knowledge/Hosts/``, which only the owner reads. The guard screens it like text of a tool, because nobody knows where
the host read what it wrote down. A file that goes there stays here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from .. import storage
from ..errors import DocumentInvalid
from ..home import Home
from ..store.gateway import transaction

__all__ = ["FOLDER", "copy_notes", "note_folders"]

#: Where the notes of hosts are kept.
FOLDER = "Knowledge/Hosts"
_NAME = "memory"
#: Larger files are no notes, and a folder with more files is none of notes.
_MAX_BYTES, _MAX_FILES = 256 << 10, 200
_UNSAFE = re.compile(r"[^\w.-]+")


def note_folders(path: Path) -> Iterator[Path]:
    """Yield the folders of notes beside the session files below *path*, in order."""
    for folder, names, _ in os.walk(path if path.is_dir() else path.parent):
        if _NAME in names:
            yield Path(folder) / _NAME


def copy_notes(home: Home, host: str, project: str, folder: Path, *, now: datetime) -> list[str]:
    """Copy the notes in *folder* that are new or changed, in one commit, and return their paths in the home.

    Links are left out, and so are files that are no text or too large.

    Raises:
        Locked, GuardRefused, HistoryError: see :func:`agent_home.store.gateway.transaction`. Nothing was written.
    """
    place = f"{FOLDER}/{_safe(host)}/{_safe(project)}"
    found = {f"{place}/{_safe(path.stem)}.md": text for path, text in _notes(folder)}
    changed = {path: text for path, text in found.items() if _read(home.root / path) != text}
    if not changed:
        return []
    with transaction(home, actor="import", message=f"Copy notes of {host}", source="tool", now=now) as edits:
        for path, text in changed.items():
            edits.write(path, text)
    return list(changed)


def _notes(folder: Path) -> Iterator[tuple[Path, str]]:
    files = sorted(path for path in folder.glob("*.md") if not path.is_symlink() and path.is_file())
    for path in files[:_MAX_FILES]:
        if path.stat().st_size <= _MAX_BYTES:
            text = _read(path)
            if text.strip():
                yield path, text if text.endswith("\n") else f"{text}\n"


def _read(path: Path) -> str:
    try:
        return storage.read_text(path)
    except (DocumentInvalid, OSError):
        return ""


def _safe(name: str) -> str:
    """Return *name* as a file name that neither hides nor leads elsewhere."""
    return _UNSAFE.sub("-", name).strip(".-")[:80] or "notes"
