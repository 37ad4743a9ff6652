"""Find a redaction target in a home, and erase it from the files that the gateway does not write.

Every file is searched, whatever its name: memory, transcripts, outputs and machine state. ``recall`` erases from the
index, the gateway from memory, and ``agent_home.forgetting.purge`` from git's history. Erasing is the only operation
that rewrites a transcript. Lines keep their length, so every offset stays right.

Branches, tags and hooks are searched and left alone: other clones and programs of the owner know them by name. Their
places say what to do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from .. import storage
from ..consent.agreed_links import SHARED
from ..documents.record_digest import renewed_digest
from ..git.client import GitObject, home_client
from ..git.objects import blob_origins, git_files, message_and_names, objects, tree_entries
from ..git.own_folder import own_folders
from ..git_folder import WORKTREE_STATE
from ..home import STATE_SHOWN, Home
from .redaction_target import RedactionTarget, is_transcript, matching_lines, redacted
from .tombstones import LEDGER

__all__ = [
    "Occurrence",
    "erase",
    "find_in_files",
    "find_in_history",
    "home_files",
    "is_gateway_file",
    "redacted_path",
    "tracked_files",
]

Kind = Literal["memory", "transcript", "output", "quarantine", "machine", "index", "history", "git"]
#: What to do about a ref whose name has the text, by how the ref begins.
_REF_ADVICE = (
    ("refs/heads/", "branch", "`git branch -m OLD NEW` renames it"),
    ("refs/tags/", "tag", "`git tag -d NAME` removes it"),
    ("refs/remotes/", "remote-tracking branch", "Rename it in the remote, and `git branch -d -r NAME` here"),
    ("refs/", "ref", "`git update-ref -d NAME` removes it"),
)
#: How files of the machine state begin, of the index and of a home without git.
_STATE = (STATE_SHOWN, f"{WORKTREE_STATE}/")
#: What to do about a text in a file of a shared folder that is no Markdown.
_FOREIGN = "is in a folder that others write. Remove it there yourself"
#: Files of it that hold no text, or belong to another package.
_NOT_TEXT = ("index.db", "index.json", "salt", "service.", "write.lock", "sync.lock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A place that contains the redaction target. The target's text is never part of it.

    *path* is a file of the home, or names an object of git. *line* counts from 1, and 0 is the file's name or the whole
    file. *commit* is the oldest commit that holds it, in history. *note* says why the place cannot be cleaned.
    """

    kind: Kind
    path: str
    line: int = 0
    commit: str = ""
    note: str = ""


def find_in_files(home: Home, target: RedactionTarget) -> Iterator[Occurrence]:
    """Yield the occurrences in files and in names of empty folders, in order of their paths and lines."""
    foreign = _foreign(home)
    for folder in _empty_folders(home, target):
        yield Occurrence(kind=_kind(folder), path=f"{target.redact(folder)}/")
    for relative in home_files(home):
        kind = _kind(relative)
        if target.occurs_in(relative):
            yield Occurrence(kind=kind, path=target.redact(relative))
        data = storage.read_bytes(home.absolute(relative))
        if not target.may_occur_in(data):
            continue
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            if target.occurs_in(data.decode("utf-8", "replace")):
                yield Occurrence(kind=kind, path=relative, note="is not UTF-8 text. Change or remove it yourself")
            continue
        is_foreign = relative.startswith(foreign) and not relative.endswith(".md")
        for line in matching_lines(relative, text, target):
            yield Occurrence(kind=kind, path=relative, line=line, note=_FOREIGN if is_foreign else "")


def find_in_history(home: Home, target: RedactionTarget) -> list[Occurrence]:
    """Return the occurrences in git: blobs, messages, file names, and files beside the objects."""
    known = blob_origins(home.root)
    found: dict[tuple[str, str], Occurrence] = {}
    for item in objects(home.root):
        if not target.may_occur_in(item.data):
            continue
        text = item.data.decode("utf-8", "surrogateescape")
        origin = known.get(item.id)
        if item.kind == "blob":
            path = origin.path if origin else ""
            if redacted(path, text, target) != text:
                at = (origin.commit, path) if origin else ("", f"unreachable blob {item.id[:12]}")
                found[at] = Occurrence(kind="history", path=at[1], commit=at[0])
        elif item.kind == "tree":
            for name in _names(item, target):
                found["", name] = Occurrence(kind="history", path=f"a file's name: {name}")
        elif target.occurs_in(message_and_names(item)):
            found[item.id, ""] = Occurrence(kind="history", path=f"the {item.kind}'s message or names", commit=item.id)
    places = sorted(found.values(), key=lambda place: (place.path, place.commit))
    for file in git_files(home.root):
        if target.occurs_in(storage.read_bytes(file).decode("utf-8", "surrogateescape")):
            places.append(Occurrence(kind="history", path=home.relative(file)))
    return [*places, *_refs(home, target), *_hooks(home, target)]


def home_files(home: Home) -> Iterator[str]:
    """Yield every file of the home that may hold text, as a relative path. Git's own files and links are left out."""
    own = () if home.machine.is_relative_to(home.root / WORKTREE_STATE) else _walk(home.machine)
    linked = (item for place in home.links for item in _walk(home.root / place))
    for folder, names in sorted([*_walk(home.root), *own, *linked]):
        for name in sorted(names):
            relative = home.relative(Path(folder) / name)
            in_machine = relative.startswith(_STATE)
            if relative != LEDGER and not (in_machine and name.startswith(_NOT_TEXT)):
                yield relative


def erase(home: Home, target: RedactionTarget) -> list[tuple[str, str]]:
    """Erase the target from every file that the gateway does not write.

    Return the old and the new path of each changed file, in order. Each file is replaced in one step. A file of the
    quarantine is named by its id, and is removed whole when its name has the target: under another name nobody would
    find it. Empty folders with the target in their names are removed. Call with the home's lock held, and after
    :func:`agent_home.store.gateway.recover`.
    """
    known, foreign = tracked_files(home), _foreign(home)
    changed = []
    staged = home.machine / "staging" / "forget.tmp"
    storage.remove(staged)  # a forgetting that was killed left it
    for relative in home_files(home):
        if is_gateway_file(relative, known) or relative.startswith(foreign):
            continue
        path, name = home.absolute(relative), redacted_path(relative, target)
        if name != relative and _kind(relative) == "quarantine":
            storage.remove(path)
            changed.append((relative, relative))
            continue
        try:
            text = storage.read_bytes(path).decode("utf-8")
        except UnicodeDecodeError:
            continue
        done = redacted(relative, text, target)
        if done == text and name == relative:
            continue
        if relative.startswith("outputs/"):
            done = renewed_digest(text, done)
        storage.stage(staged, done.encode("utf-8"))
        if name != relative:
            staged.chmod(path.stat().st_mode & 0o7777)
        storage.replace(staged, home.absolute(name))
        if name != relative:
            storage.remove(path)
        changed.append((relative, name))
    for folder in _empty_folders(home, target):
        with suppress(OSError):  # a folder without permission stays among the places
            home.absolute(folder).rmdir()
    return changed


def is_gateway_file(relative: str, known: frozenset[str]) -> bool:
    """Return whether the gateway writes that file: Markdown, ledgers and settings, but no transcript or output.

    Ledgers and settings count only when they are among the tracked files *known*.
    """
    hidden = any(part.startswith(".") for part in relative.split("/"))
    if hidden or relative.partition("/")[0] in {"sessions", "outputs"}:
        return False
    return relative.endswith(".md") or (relative in known and relative.endswith((".jsonl", ".toml")))


def tracked_files(home: Home) -> frozenset[str]:
    """Return the paths of the files that git tracks."""
    return frozenset(home_client(home.root).text("ls-files", "-z").split("\0")[:-1])


def redacted_path(relative: str, target: RedactionTarget) -> str:
    """Return the path of a file after the erasure. It differs when the file's name contains the target."""
    if not target.occurs_in(relative):
        return relative
    mark = quote(target.mark, safe="-_. ") if is_transcript(relative) else target.mark
    return target.redact(relative, mark)


def _foreign(home: Home) -> tuple[str, ...]:
    """Return how paths in shared folders begin. Only the gateway changes their files."""
    top = home.root / SHARED
    places = [
        *home.links,
        *(place for place in (SHARED, *_names_in(top)) if os.path.lexists(home.root / place / ".git")),
    ]
    return tuple(f"{place}/" for place in places)


def _names_in(folder: Path) -> list[str]:
    try:
        return [f"{folder.name}/{name.name}" for name in folder.iterdir()]
    except OSError:
        return []


def _walk(root: Path) -> Iterator[tuple[str, list[str]]]:
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        yield folder, [name for name in names if not (Path(folder) / name).is_symlink()]


def _empty_folders(home: Home, target: RedactionTarget) -> list[str]:
    """Return the folders whose paths have the target and that hold no file, the inner ones first."""
    empty: dict[str, None] = {}
    for folder, folders, names in [*_folders(home.root)][::-1]:
        if not names and all(f"{folder}/{name}" in empty for name in folders):
            empty[folder] = None
    relatives = (home.relative(Path(folder)) for folder in empty if Path(folder) != home.root)
    return [relative for relative in relatives if target.occurs_in(relative)]


def _folders(root: Path) -> Iterator[tuple[str, tuple[str, ...], list[str]]]:
    """Yield each folder with the names of all its folders and files, without a look into git's own."""
    for folder, folders, names in os.walk(root):
        every = tuple(folders)
        folders[:] = [name for name in folders if name != ".git"]
        yield folder, every, names


def _refs(home: Home, target: RedactionTarget) -> Iterator[Occurrence]:
    """Yield the branches, tags and other refs whose names have the target. Their commits tell which ones are meant."""
    for line in home_client(home.root).text("for-each-ref", "--format=%(objectname:short) %(refname)").splitlines():
        commit, _, name = line.partition(" ")
        if target.occurs_in(name):
            kind, advice = next((kind, advice) for start, kind, advice in _REF_ADVICE if name.startswith(start))
            note = f"at {commit}, the {kind} has the text in its name. {advice}"
            yield Occurrence(kind="git", path=target.redact(name), note=note)


def _hooks(home: Home, target: RedactionTarget) -> Iterator[Occurrence]:
    """Yield the programs in git's folder of hooks that have the target, in their names or lines."""
    hooks = own_folders(home.root).shared / "hooks"
    for file in sorted(hooks.rglob("*")) if hooks.is_dir() else ():
        if not file.is_file() or file.is_symlink():
            continue
        relative = f".git/hooks/{file.relative_to(hooks).as_posix()}"
        text = storage.read_bytes(file).decode("utf-8", "surrogateescape")
        if target.occurs_in(relative) or target.occurs_in(text):
            note = "a hook is a program of yours. Remove the text from it, or the file"
            yield Occurrence(kind="git", path=target.redact(relative), note=note)


def _kind(relative: str) -> Kind:
    if relative.startswith(_STATE):
        return "quarantine" if "/quarantine/" in relative else "machine"
    return "transcript" if is_transcript(relative) else "output" if relative.startswith("outputs/") else "memory"


def _names(tree: GitObject, target: RedactionTarget) -> Iterator[str]:
    """Yield the names in a tree that contain the target, redacted."""
    for entry in tree_entries(tree.data, len(tree.id) // 2):
        name = entry.name.decode("utf-8", "surrogateescape")
        if target.occurs_in(name):
            yield target.redact(name)
