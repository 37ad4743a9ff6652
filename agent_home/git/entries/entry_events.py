"""Own the events of all entries: read from git once, kept as a cache in the machine state, and extended with commits.

The cache, ``entry-events.json``, holds nothing that git does not have. A reader makes it again where it is damaged,
where the branch was rewound, and where commits came in by a merge.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import storage
from ...errors import GitFailed
from ...git_folder import state_folder
from ..client import GitClient, home_client
from ..history import Event
from .entry_commits import EntryCommit, entry_commits

__all__ = ["CommitActs", "EntryHistories", "drop_entry_events", "entry_histories"]

_CACHE = "entry-events.json"
#: Number of the form of the cache. Another number makes it again.
_FORM = 1

#: Hash, time, session, evidence, actor and subject of a commit.
_Commit = tuple[str, str, str, str, str, str]
#: The place of the commit in the list of commits, the action, and the file.
_Act = tuple[int, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitActs:
    """Acts of one commit on entries: the id, the action and the file of each. *ts* and *actor* are the commit's."""

    ts: str
    actor: str
    acts: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class EntryHistories(Mapping[str, tuple[Event, ...]]):
    """The events of each entry that git knows, newest first, by id. Events are made when they are asked for."""

    _commits: list[_Commit]
    _acts: dict[str, list[_Act]]

    def __getitem__(self, entry_id: str) -> tuple[Event, ...]:
        """Return the events of an entry, newest first."""
        return tuple(self._event(*act) for act in reversed(self._acts[entry_id]))

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids, in the order in which their first commits came."""
        return iter(self._acts)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._acts)

    def by_commit(self) -> list[CommitActs]:
        """Return the same events by commit, oldest first. This takes a fraction of the time for all entries."""
        acts: list[list[tuple[str, str, str]]] = [[] for _ in self._commits]
        for name, rows in self._acts.items():
            for place, action, file in rows:
                acts[place].append((name, action, file))
        return [
            CommitActs(ts=commit[1], actor=commit[4], acts=rows)
            for commit, rows in zip(self._commits, acts, strict=True)
        ]

    def _event(self, place: int, action: str, file: str) -> Event:
        commit, ts, session, evidence, actor, subject = self._commits[place]
        return Event(
            ts=ts, action=action, commit=commit, session=session, evidence=evidence, actor=actor, subject=subject,
            file=file,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _ReadSoFar:
    """Events up to the commit *head*. *shallow* is a digest of git's list of commits without parents."""

    head: str
    shallow: str
    commits: list[_Commit]
    acts: dict[str, list[_Act]]


def entry_histories(root: Path, head: str) -> EntryHistories:
    """Return the events of all entries in the history of the commit *head*: for each id those of ``entry_history``.

    A *head* that is empty has none. The first call reads all commits, and later ones those that came since.

    Raises:
        HistoryError: git refused.
    """
    if not head:
        return EntryHistories([], {})
    git, cache = home_client(root), state_folder(root) / _CACHE
    shallow = _shallow(git)
    known = _read(cache)
    if known is None or known.head != head or known.shallow != shallow:
        old = known if known is not None and known.shallow == shallow and _follows(git, head, known.head) else None
        known = _extended(old, git, head, shallow)
        storage.write_cache(cache, _rendered(known))
    return EntryHistories(known.commits, known.acts)


def drop_entry_events(root: Path) -> None:
    """Remove the cache, which has subjects of commits that are no longer in the history."""
    storage.remove(state_folder(root) / _CACHE)


def _follows(git: GitClient, head: str, earlier: str) -> bool:
    """Return whether *head* came from *earlier* by commits with one parent each.

    A merge can hide commits that were shown before: git follows the parent that has the same files.
    """
    try:
        rows = git.text("rev-list", "--parents", head, f"^{earlier}").splitlines()
    except GitFailed:  # the earlier commit is gone
        return False
    for row in rows:
        commit, *parents = row.split()
        if commit != head or len(parents) != 1:
            return False
        head = parents[0]
    return head == earlier


def _extended(old: _ReadSoFar | None, git: GitClient, head: str, shallow: str) -> _ReadSoFar:
    """Return *old* with the commits that came since, or everything without an *old* one."""
    selection = [head] if old is None else [head, f"^{old.head}"]
    found = {item.commit: item for item in entry_commits(git, *selection)}
    order = git.text("rev-list", "--reverse", *selection).split()
    commits = [] if old is None else list(old.commits)
    acts = {} if old is None else {name: list(rows) for name, rows in old.acts.items()}
    for item in (found[commit] for commit in order if commit in found):
        _add(commits, acts, item)
    return _ReadSoFar(head, shallow, commits, acts)


def _add(commits: list[_Commit], acts: dict[str, list[_Act]], item: EntryCommit) -> None:
    touched = {**dict.fromkeys(sorted(item.named), ("changed", item.last_file)), **item.acts}
    for name, (action, file) in touched.items():
        acts.setdefault(name, []).append((len(commits), action, file))
    if touched:
        commits.append((item.commit, item.ts, item.session, item.evidence, item.actor, item.subject))


def _shallow(git: GitClient) -> str:
    """Return a digest of the commits whose parents are not here. When they are fetched, the history grows backwards."""
    with suppress(OSError):
        return hashlib.sha256(storage.read_bytes(git.folders().shared / "shallow")).hexdigest()
    return ""


def _rendered(known: _ReadSoFar) -> bytes:
    row = {"form": _FORM, "head": known.head, "shallow": known.shallow, "commits": known.commits, "acts": known.acts}
    body = json.dumps(row, separators=(",", ":")).encode()
    return _digest(body) + b"\n" + body


def _read(cache: Path) -> _ReadSoFar | None:
    """Return what the cache holds. One that was damaged, cut or redacted does not have the digest of its content."""
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        digest, _, body = storage.read_state(cache).partition(b"\n")
        row: dict[str, Any] = json.loads(body) if digest == _digest(body) else {}
        if row.get("form") == _FORM:
            return _ReadSoFar(row["head"], row["shallow"], row["commits"], row["acts"])
    return None


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).hexdigest().encode()
