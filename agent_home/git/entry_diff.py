"""Compare two states of a home by entries instead of lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .. import storage
from ..documents.check import holds_entries
from ..documents.document import parse
from ..errors import DocumentInvalid
from ..home import Home
from . import history

__all__ = ["EntryAction", "EntryChange", "EntryDiff", "FileChange", "compare", "entries_touched"]

EntryAction = Literal["added", "changed", "removed", "archived", "restored", "moved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryChange:
    """An entry whose text or place differs.

    *before* and *after* are its texts, empty where the entry does not exist. *path* and *section* are its latest place.
    *old_path* and *old_section* are its earlier place, which is the same unless the entry moved.
    """

    id: str
    action: EntryAction
    path: str
    section: str
    old_path: str
    old_section: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file in which text outside of entries differs."""

    path: str
    action: Literal["added", "changed", "removed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDiff:
    """The changes from commit *old* to commit *new*. ``None`` as *new* stands for the files on disk."""

    old: str | None
    new: str | None
    entries: tuple[EntryChange, ...] = ()
    files: tuple[FileChange, ...] = ()


@dataclass(frozen=True, slots=True)
class _LocatedEntry:
    path: str
    section: str
    raw: str


def compare(home: Home, old: str | None, new: str | None) -> EntryDiff:
    """Compare revision *old* with revision *new*.

    ``None`` as *old* stands for an empty home, ``None`` as *new* for the files on disk. Entries are ordered by id and
    files by path. Files that git ignores are left out.

    Raises:
        HistoryError: a revision does not exist.
        DocumentInvalid: a file on disk is not UTF-8.
    """
    old_commit = history.resolve(home.root, old) if old is not None else None
    new_commit = history.resolve(home.root, new) if new is not None else None
    paths = _differing_paths(home, old_commit, new_commit)
    before = _texts(home, old_commit, paths) if old_commit else dict.fromkeys(paths, "")
    after = _texts(home, new_commit, paths)
    old_entries, new_entries = _entries(before), _entries(after)
    ids = sorted(old_entries.keys() | new_entries)
    entries = [_entry_change(entry_id, old_entries.get(entry_id), new_entries.get(entry_id)) for entry_id in ids]
    changed = [path for path in paths if _outside_entries(path, before) != _outside_entries(path, after)]
    files = [_file_change(path, before[path], after[path]) for path in changed]
    return EntryDiff(
        old=old_commit, new=new_commit, entries=tuple(change for change in entries if change is not None),
        files=tuple(files),
    )  # fmt: skip


def entries_touched(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the ids of the entries that an edit adds, changes, moves or removes, in order. The texts are by path."""
    touched = set[str]()
    for path, text in after.items():
        if holds_entries(path):
            old = {entry.id: entry.raw for entry in parse(before[path]).entries()}
            new = {entry.id: entry.raw for entry in parse(text).entries()}
            touched |= {entry_id for entry_id in old.keys() | new.keys() if old.get(entry_id) != new.get(entry_id)}
    return sorted(touched)


def _differing_paths(home: Home, old: str | None, new: str | None) -> list[str]:
    """Return the paths of the files that differ, in order."""
    if old is None:
        listed = history.query(home.root, "ls-tree", "-r", "-z", "--name-only", new or "HEAD")
    else:
        revisions = [old, *([new] if new else [])]
        listed = history.query(home.root, "diff", "--name-only", "-z", "--no-renames", *revisions, "--")
        if new is None:
            listed += history.query(home.root, "ls-files", "--others", "--exclude-standard", "-z")
    return sorted({path for path in listed.split("\0") if path})


def _texts(home: Home, commit: str | None, paths: Sequence[str]) -> dict[str, str]:
    """Return the texts by path. The text is empty where a file is missing or does not belong to the home."""
    if commit is not None:
        return dict(zip(paths, history.texts_at(home.root, [(commit, path) for path in paths]), strict=True))
    return {path: _on_disk(home, path) for path in paths}


def _on_disk(home: Home, path: str) -> str:
    try:
        file = home.path(path)
    except DocumentInvalid:
        return ""
    return storage.read_text(file) if file.is_file() else ""


def _entries(texts: Mapping[str, str]) -> dict[str, _LocatedEntry]:
    """Return every entry by its id. A live entry wins over its archived copy."""
    found: dict[str, _LocatedEntry] = {}
    for path in sorted(texts, key=lambda name: (name.startswith("Archive/"), name)):
        for place, entry_id in _entries_of(path, texts[path]) if holds_entries(path) else ():
            found.setdefault(entry_id, place)
    return found


def _entries_of(path: str, text: str) -> Iterator[tuple[_LocatedEntry, str]]:
    section = ""
    for block in parse(text).blocks:
        if block.kind == "heading" and block.level <= 2:
            section = block.title if block.level == 2 else ""
        if block.entry is not None:
            yield _LocatedEntry(path, section, block.raw), block.entry.id


def _entry_change(entry_id: str, then: _LocatedEntry | None, now: _LocatedEntry | None) -> EntryChange | None:
    place, origin = now or then, then or now
    if place is None or origin is None or then == now:
        return None
    return EntryChange(
        id=entry_id, action=_action(then, now), path=place.path, section=place.section, old_path=origin.path,
        old_section=origin.section, before=then.raw if then else "", after=now.raw if now else "",
    )  # fmt: skip


def _action(then: _LocatedEntry | None, now: _LocatedEntry | None) -> EntryAction:
    if then is None or now is None:
        return "removed" if now is None else "added"
    if then.path == now.path:
        return "changed" if then.raw.strip() != now.raw.strip() else "moved"
    if now.path.startswith("Archive/"):
        return "archived"
    return "restored" if then.path.startswith("Archive/") else "moved"


def _file_change(path: str, before: str, after: str) -> FileChange:
    return FileChange(path=path, action="added" if not before else "changed" if after else "removed")


def _outside_entries(path: str, texts: Mapping[str, str]) -> list[str] | str:
    """Return the text outside of entries."""
    text = texts[path]
    if not holds_entries(path):
        return text
    return [block.raw for block in parse(text).blocks if block.entry is None and block.kind != "blank"]
