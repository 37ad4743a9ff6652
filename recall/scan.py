"""Which files of a home are searchable now, and when they last changed: one look at the folder, no file is read."""

from __future__ import annotations

import os

from agent_home.home import Home

from .passage import layer_of

__all__ = ["scan"]

_FOLDERS = ("sessions", "DailyActivity", "Projects", "Knowledge", "Archive", "outputs")
_FILES = ("MEMORY.md", "EVOLUTION.md")


def scan(home: Home) -> dict[str, tuple[int, int]]:
    """``path -> (modification time in ns, size)`` of every searchable file.

    Links are not followed: they can lead out of the home, or round in a circle.
    """
    found: dict[str, tuple[int, int]] = {}
    root = str(home.root)
    for name in _FILES:
        try:
            status = os.stat(f"{root}/{name}", follow_symlinks=True)  # noqa: PTH116 - ten thousand files, no objects
        except OSError:
            continue
        found[name] = (status.st_mtime_ns, status.st_size)
    for folder in _FOLDERS:
        _scan_folder(f"{root}/{folder}", folder, found)
    return found


def _scan_folder(folder: str, relative: str, found: dict[str, tuple[int, int]]) -> None:
    try:
        entries = os.scandir(folder)
    except OSError:
        return
    with entries:
        for entry in entries:
            path = f"{relative}/{entry.name}"
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_dir():
                _scan_folder(entry.path, path, found)
            elif layer_of(path) is not None:
                try:
                    status = entry.stat()
                except OSError:
                    continue
                found[path] = (status.st_mtime_ns, status.st_size)
