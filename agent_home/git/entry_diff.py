"""What differs between two states of a home, told by entries instead of lines."""

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
    """An entry that is not what or where it was. *before* and *after* are its texts, empty where it is not there.

    *path* and *section* are where it is now, or was last; *old_path* and *old_section* where it was before, the same
    unless it moved.
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
    """A file of which something besides entries differs."""

    path: str
    action: Literal["added", "changed", "removed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDiff:
    """The changes from commit *old* to commit *new*; *new* ``None`` is the files as they are on disk."""

    old: str | None
    new: str | None
    entries: tuple[EntryChange, ...] = ()
    files: tuple[FileChange, ...] = ()


@dataclass(frozen=True, slots=True)
class _EntryLocation:
    path: str
    section: str
    raw: str


def compare(home: Home, old: str | None, new: str | None) -> EntryDiff:
    """What changed from revision *old* (``None``: nothing at all) to revision *new* (``None``: the files on disk).

    Entries are ordered by id, files by path. Files that git ignores do not count.

    Raises:
        HistoryError: there is no such revision.
        DocumentInvalid: a file on disk is not UTF-8.
    """
    old_commit = history.resolve(home.root, old) if old is not None else None
    new_commit = history.resolve(home.root, new) if new is not None else None
    paths = _differing(home, old_commit, new_commit)
    before = _texts(home, old_commit, paths) if old_commit else dict.fromkeys(paths, "")
    after = _texts(home, new_commit, paths)
    then, now = _entries(before), _entries(after)
    entries = [_changed(entry_id, then.get(entry_id), now.get(entry_id)) for entry_id in sorted(then.keys() | now)]
    files = [_file(path, before[path], after[path]) for path in paths if _rest(path, before) != _rest(path, after)]
    return EntryDiff(
        old=old_commit, new=new_commit, entries=tuple(change for change in entries if change is not None),
        files=tuple(files),
    )  # fmt: skip


def entries_touched(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Ids of the entries that an edit adds, changes, moves or removes, in order of the id; the texts are by path."""
    touched = set[str]()
    for path, text in after.items():
        if holds_entries(path):
            old = {entry.id: entry.raw for entry in parse(before[path]).entries()}
            new = {entry.id: entry.raw for entry in parse(text).entries()}
            touched |= {entry_id for entry_id in old.keys() | new.keys() if old.get(entry_id) != new.get(entry_id)}
    return sorted(touched)


def _differing(home: Home, old: str | None, new: str | None) -> list[str]:
    """The paths of files that differ, in order."""
    if old is None:
        listed = history.query(home.root, "ls-tree", "-r", "-z", "--name-only", new or "HEAD")
    else:
        revisions = [old, *([new] if new else [])]
        listed = history.query(home.root, "diff", "--name-only", "-z", "--no-renames", *revisions, "--")
        if new is None:
            listed += history.query(home.root, "ls-files", "--others", "--exclude-standard", "-z")
    return sorted({path for path in listed.split("\0") if path})


def _texts(home: Home, commit: str | None, paths: Sequence[str]) -> dict[str, str]:
    """The texts by path; empty for a file that is not there, or is no text of the home."""
    if commit is not None:
        return dict(zip(paths, history.texts_at(home.root, [(commit, path) for path in paths]), strict=True))
    return {path: _on_disk(home, path) for path in paths}


def _on_disk(home: Home, path: str) -> str:
    try:
        file = home.path(path)
    except DocumentInvalid:
        return ""
    return storage.read_text(file) if file.is_file() else ""


def _entries(texts: Mapping[str, str]) -> dict[str, _EntryLocation]:
    """Every entry by its id; of one that stands live and in the archive, the live one."""
    found: dict[str, _EntryLocation] = {}
    for path in sorted(texts, key=lambda name: (name.startswith("Archive/"), name)):
        for place, entry_id in _entries_of(path, texts[path]) if holds_entries(path) else ():
            found.setdefault(entry_id, place)
    return found


def _entries_of(path: str, text: str) -> Iterator[tuple[_EntryLocation, str]]:
    section = ""
    for block in parse(text).blocks:
        if block.kind == "heading" and block.level <= 2:
            section = block.title if block.level == 2 else ""
        if block.entry is not None:
            yield _EntryLocation(path, section, block.raw), block.entry.id


def _changed(entry_id: str, then: _EntryLocation | None, now: _EntryLocation | None) -> EntryChange | None:
    place, origin = now or then, then or now
    if place is None or origin is None or then == now:
        return None
    return EntryChange(
        id=entry_id, action=_action(then, now), path=place.path, section=place.section, old_path=origin.path,
        old_section=origin.section, before=then.raw if then else "", after=now.raw if now else "",
    )  # fmt: skip


def _action(then: _EntryLocation | None, now: _EntryLocation | None) -> EntryAction:
    if then is None or now is None:
        return "removed" if now is None else "added"
    if then.path == now.path:
        return "changed" if then.raw.strip() != now.raw.strip() else "moved"
    if now.path.startswith("Archive/"):
        return "archived"
    return "restored" if then.path.startswith("Archive/") else "moved"


def _file(path: str, before: str, after: str) -> FileChange:
    return FileChange(path=path, action="added" if not before else "changed" if after else "removed")


def _rest(path: str, texts: Mapping[str, str]) -> list[str] | str:
    """What a text says besides its entries."""
    text = texts[path]
    if not holds_entries(path):
        return text
    return [block.raw for block in parse(text).blocks if block.entry is None and block.kind != "blank"]
