"""Compare what this machine acknowledged with the branch of memory.

The audit has a row for every commit that a command reported. A ``git reset`` behind one takes back what was told to be
stored, and so does an edit by hand. Both may be meant, so they are named and nothing is undone. A commit that was
rebased, amended or redacted is on the branch under another name, and is not named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from guard.lazy_regex import lazy_regex

from .. import storage
from ..documents.check import entry_files
from ..documents.document import parse
from ..errors import DocumentInvalid
from ..home import MEMORY, Home
from . import history
from .client import GitObject, home_client

__all__ = ["TakenBack", "entries_without_trace", "taken_back"]

#: The newest part of the audit that is read, and the most commits of it.
_TAIL_BYTES, _MOST = 64 << 10, 50
#: Commits of the branch that are compared with those that it lacks.
_MOST_COMPARED = 2000
_ENTRY_FILES = (MEMORY, "EVOLUTION.md")
_AUTHOR_TIME = re.compile(rb"^author .*> (\d+) [+-]\d{4}$", re.MULTILINE)
_ENTRIES = lazy_regex(r"^Entries: .*$", re.MULTILINE)
_HASH = lazy_regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """Commits that this machine acknowledged and the branch lacks, oldest first, with the *subject* of the newest.

    *behind* means that the branch was reset to an older commit, and nothing was committed on it since.
    """

    commits: tuple[str, ...]
    subject: str
    behind: bool

    def describe(self, root: Path, *, written: bool = False) -> str:
        """Say what the branch lacks, and what brings it back. *written* says that a write follows."""
        newest = self.commits[-1][:12]
        named = " ".join(commit[:12] for commit in self.commits)
        command = f"git merge --ff-only {newest}" if self.behind and not written else f"git cherry-pick {named}"
        count = f"{len(self.commits)} commits" if len(self.commits) > 1 else "a commit"
        return (
            f"the branch of memory lacks {count} that this machine acknowledged, the newest {newest}"
            f' "{self.subject}". A reset took that back. If you did not mean that, run `{command}` in {root}'
        )


def taken_back(home: Home, tip: str, *, every: bool = False) -> TakenBack | None:
    """Return the acknowledged commits that are not on the branch whose newest commit is *tip*, or ``None``.

    Only a branch that lacks the newest one is looked at, unless *every* is set: the next write makes a newer one.
    Commits that git deleted cannot be brought back, and are left out. While the branch is at the newest acknowledged
    commit, git is not asked.
    """
    rows = _acknowledged(home)
    if not rows or not tip or (not every and (tip == rows[-1] or history.descends(home.root, tip, rows[-1]))):
        return None
    apart = history.unreachable(home.root, rows, tip)
    candidates = [row for row in rows if row in apart]
    found = [item for item in home_client(home.root).objects(candidates) if item is not None and item.kind == "commit"]
    lacking = list(_not_rewritten(home, found, tip)) if found else []
    if not lacking:
        return None
    newest = lacking[-1]
    subject = _message(newest).partition("\n")[0]
    behind = history.descends(home.root, newest.id, tip)
    return TakenBack(commits=tuple(item.id for item in lacking), subject=subject, behind=behind)


def entries_without_trace(home: Home) -> list[str]:
    """Return the ids of entries that commands wrote, that are in no file, and that no command removed, ordered.

    A person removed them, by an edit or with git.
    """
    if not history.head(home.root):
        return []
    present = _present(home)
    last: dict[str, tuple[str, str]] = {}
    written: set[str] = set()
    for commit, actor, entries in _namings(home):
        for name in entries:
            last.setdefault(name, (commit, actor))
            if actor != "by hand":
                written.add(name)
    gone = {name: last[name] for name in sorted(written - present)}
    by_hand = {name for name, (_, actor) in gone.items() if actor == "by hand"}
    held: dict[str, set[str]] = {}
    for commit in {commit for name, (commit, _) in gone.items() if name not in by_hand}:
        held[commit] = set(_entries_at(home, commit))
    return [name for name, (commit, _) in gone.items() if name in by_hand or name in held[commit]]


def _acknowledged(home: Home) -> list[str]:
    """Return the newest commits that the audit names, oldest first."""
    try:
        with storage.open_file(home.audit) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().splitlines()
    except OSError:
        return []
    found: dict[str, None] = {}
    for line in lines:
        with suppress(ValueError, TypeError, AttributeError):
            row = json.loads(line)
            commit = row.get("commit") if "arrived" not in row else None  # a person's commits
            if isinstance(commit, str) and _HASH.fullmatch(commit):
                found.pop(commit, None)
                found[commit] = None
    return list(found)[-_MOST:]


def _not_rewritten(home: Home, commits: Iterable[GitObject], tip: str) -> Iterator[GitObject]:
    """Yield the *commits* of which the branch has neither a rewritten version nor the entries."""
    log = ("log", f"--max-count={_MOST_COMPARED}", "--format=%at%x1f%B%x1e", tip)
    known: set[tuple[str, str]] = set()
    for row in history.query(home.root, *log).split("\x1e"):
        time, _, message = row.strip().partition("\x1f")
        known |= set(_marks(time, message))
    now: dict[str, str] | None = None
    for item in commits:
        match, message = _AUTHOR_TIME.search(item.data), _message(item)
        if known.intersection(_marks(match[1].decode() if match else "", message)):
            continue
        names = [name for line in _ENTRIES.findall(message) for name in _ids(line)]
        if names:
            now = _entries_at(home, tip) if now is None else now
            then = _entries_at(home, item.id)
            if all(then.get(name) == now.get(name) for name in names):
                continue
        yield item


def _marks(time: str, message: str) -> Iterator[tuple[str, str]]:
    """Yield what a rewritten commit keeps: the author's time with the subject, or with the entries."""
    yield time, message.strip().partition("\n")[0]
    yield from ((time, line.strip()) for line in _ENTRIES.findall(message))


def _message(item: GitObject) -> str:
    return item.data.partition(b"\n\n")[2].decode("utf-8", "replace").strip()


def _ids(line: str) -> list[str]:
    return [name for name in re.split(r"[,\s]+", line.removeprefix("Entries:")) if name]


def _namings(home: Home) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield commit, actor and entries of each commit of the gateway, newest first."""
    names = "%x1f".join(f"%(trailers:key={name},valueonly,separator=%x2C)" for name in ("Actor", "Entries"))
    for row in history.query(home.root, "log", f"--format=%H%x1f{names}%x1e").split("\x1e"):
        commit, actor, entries = (*row.strip().split("\x1f"), "", "")[:3]
        if entries:
            yield commit, actor, _ids(entries)


def _entries_at(home: Home, commit: str) -> dict[str, str]:
    """Return the text of each live entry of *commit* by its id."""
    texts = history.texts_at(home.root, [(commit, path) for path in _ENTRY_FILES])
    return {entry.id: " ".join(entry.raw.split()) for text in texts for entry in parse(text).entries()}


def _present(home: Home) -> set[str]:
    found: set[str] = set()
    for path in entry_files(home):
        with suppress(DocumentInvalid, OSError):
            found |= {entry.id for entry in parse(storage.read_text(home.path(path))).entries()}
    return found
