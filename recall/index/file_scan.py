"""The scan for searchable files of a home and their modification times. It reads folders and no files."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection

from agent_home.home import Home, is_text
from agent_home.home_location import MANIFEST

from .passage import ENTRY_FILES, FOLDERS, is_searchable

__all__ = ["scan"]

#: Largest number of both stores. A file system may keep times after the year 2262.
_LARGEST = (1 << 63) - 1


def scan(home: Home) -> dict[str, tuple[int, int]]:
    """Return ``path -> (modification time in ns, size)`` for every searchable file.

    Links are not followed, because they can lead out of the home or in a circle. A link that a person agreed to is.
    """
    found: dict[str, tuple[int, int]] = {}
    for name in sorted(ENTRY_FILES):
        try:
            status = (home.root / name).lstat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            found[name] = _dated(status)
    links = {f"{home.root}/{place}" for place in home.links}
    for folder, layer in FOLDERS.items():
        parts = (home.root / folder, *(home.root / folder).parents)
        inside = (part for part in parts if part.is_relative_to(home.root) and part != home.root)
        if any(part.is_symlink() for part in inside if str(part) not in links):
            continue  # a pulled link must not show other files of this machine
        _scan_folder(f"{home.root}/{folder}", folder, layer, found, links)
    return found


def _scan_folder(
    folder: str, relative: str, layer: str, found: dict[str, tuple[int, int]], links: Collection[str]
) -> None:
    plain = ".jsonl" if layer == "sessions" else ".md"  # nearly all files, asked of ten thousand
    try:
        with os.scandir(folder) as listed:
            entries = list(listed)
    except OSError:
        return
    if layer == "projects" and any(entry.name == MANIFEST for entry in entries):  # another agent's home is never shared
        return
    for entry in entries:
        name = entry.name
        if name[0] == "." or not (name.isascii() or is_text(name)):  # `memory check` names the latter
            continue
        if entry.is_dir(follow_symlinks=False) or (links and entry.path in links):
            _scan_folder(entry.path, f"{relative}/{name}", layer, found, links)
        elif (name.endswith(plain) or is_searchable(layer, name)) and entry.is_file(follow_symlinks=False):
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            found[f"{relative}/{name}"] = _dated(status)


def _dated(status: os.stat_result) -> tuple[int, int]:
    """Return time and size of a file as a store can keep them."""
    return max(-_LARGEST, min(_LARGEST, status.st_mtime_ns)), status.st_size
