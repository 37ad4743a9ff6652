"""Copy the repositories inside a home into a backup, each on its own.

A repository that git cannot read fails nothing else. It is named, and the copy that an earlier backup has of it stays.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from ..errors import HistoryError
from ..git.fetching import remote_addresses, submodule_address
from ..home import Home
from .carried import HomeFiles, LeftOut
from .content_store import ContentStore
from .copied_history import copy_history, is_partial
from .inner_repositories import InnerRepository, inner_repositories
from .manifest import BackupFile, BackupHistory, BackupManifest, BackupRepository, repository_problem

__all__ = ["RepositoryCopies"]

#: Nanoseconds for which a file's times do not tell whether it changes. Some file systems count in twos of seconds.
_UNSURE_NS = 3 * 10**9
#: Files of a git folder that change when something changes that a backup carries. Refs are looked at as well.
_STATE = ("HEAD", "config", "index", "packed-refs", "shallow", "logs/refs/stash", "info/exclude")
#: Remotes of one repository that are noted, and the longest address.
_MOST_REMOTES, _MAX_ADDRESS = 20, 2_000

#: Times and sizes of files by their names.
_State = frozenset[tuple[str, int, int, int]]


@dataclass(frozen=True, slots=True)
class _Copied:
    """A repository as it was copied, with what was left out of it, and the state of its git folder then."""

    repository: BackupRepository
    left_out: tuple[LeftOut, ...]
    state: _State


class RepositoryCopies:
    """The copies of the repositories inside *home*, of which the manifest *old* has earlier ones.

    Without a *store* nothing is written.
    """

    def __init__(self, home: Home, old: BackupManifest | None, store: ContentStore | None) -> None:
        self._home, self._store = home, store
        self._old = {} if old is None else old.repositories
        self._copied: dict[str, _Copied] = {}

    def copy(self, found: HomeFiles) -> tuple[dict[str, BackupRepository], list[LeftOut]]:
        """Copy what changed since the last call, and return all repositories by place, and what is left out.

        Raises:
            GitMissing: git is not installed.
            OSError: the backup cannot be written.
        """
        inner, left_out = inner_repositories(self._home, found.repositories, self._old)
        copied = dict[str, BackupRepository]()
        for one in inner:
            made = self._copy(one)
            left_out += made.left_out if isinstance(made, _Copied) else (made,)
            if isinstance(made, _Copied):
                copied[one.place] = made.repository
        kept = self._kept(copied, [*left_out, *found.left_out])
        left_out = [_with_copy(item) if item.path.removesuffix("/.git") in kept else item for item in left_out]
        return self._acceptable(copied | kept, left_out), left_out

    def _copy(self, one: InnerRepository) -> _Copied | LeftOut:
        state, began_ns = _state(one.folder), time.time_ns()
        known = self._copied.get(one.place)
        if known and known.state == state and all(changed < began_ns - _UNSURE_NS for _, _, changed, _ in state):
            return known
        base, packs = self._base(one.place)
        copied = copy_history(one.root, base, packs, self._store, one.place)
        if copied.is_earlier and known and not known.left_out:
            said = f"{copied.problem}. The copy of a moment ago stays"
            return replace(known, left_out=(_left_out(one.place, said, "refs"),))
        if copied.is_earlier or copied.history is None:
            lacks = ". It is a partial clone. Put a whole clone there" if is_partial(one.root) else ""
            return _left_out(one.place, f"{copied.problem}{lacks}")
        repository = BackupRepository(
            place=one.place, history=copied.history, packs=copied.packs, of=one.of, name=one.name,
            excluded=one.excluded, remotes=_remotes(one.root),
            url=submodule_address(self._home.root / one.of, one.name)[:_MAX_ADDRESS] if one.name else "",
        )  # fmt: skip
        left_out = tuple[LeftOut, ...]()
        if copied.staged_alone:
            said = f"what is staged cannot be read ({copied.problem}). The rest of the repository is in the backup"
            left_out = (_left_out(one.place, said, "index"),)
        elif copied.problem:
            left_out = (_left_out(one.place, copied.problem, "refs"),)
        self._copied[one.place] = _Copied(repository, left_out, state)
        return self._copied[one.place]

    def _base(self, place: str) -> tuple[BackupHistory | None, tuple[BackupFile, ...]]:
        """Return the history of the last whole copy of the repository at *place*, with its packs."""
        known = self._copied.get(place)
        base = known.repository if known and not known.left_out else self._old.get(place)
        return (None, ()) if base is None else (base.history, base.packs)

    def _kept(self, copied: Collection[str], left_out: Collection[LeftOut]) -> dict[str, BackupRepository]:
        """Return the earlier copies of repositories that cannot be read now. They may be the last ones."""
        unread = {item.path.removesuffix("/") for item in left_out if item.unread}
        folders = tuple("" if path == "." else f"{path}/" for path in unread)
        return {
            place: repository for place, repository in self._old.items()
            if place not in copied and (f"{place}/.git" in unread or place in unread or place.startswith(folders))
        }  # fmt: skip

    def _acceptable(
        self, copied: Mapping[str, BackupRepository], left_out: list[LeftOut]
    ) -> dict[str, BackupRepository]:
        """Return the repositories that a manifest can name together, and add the others to *left_out*.

        An earlier copy takes the place of such a one. A submodule of a repository that is not there is one of its own.
        """
        kept = dict[str, BackupRepository]()
        for place, repository in sorted(copied.items()):
            problem = ""
            for candidate in filter(None, (repository, self._old.get(place))):
                one = candidate if candidate.of in {"", *kept} else replace(candidate, of="", name="")
                said = repository_problem(one, kept)
                if not said:
                    kept[place] = one
                    break
                problem = problem or said
            if problem:
                left_out.append(_left_out(place, problem))
        return kept


def _remotes(root: Path) -> dict[str, str]:
    try:
        known = remote_addresses(root).items()
    except HistoryError:  # they are no part of the history
        return {}
    return dict(islice(((name, url) for name, url in known if len(name) + len(url) < _MAX_ADDRESS), _MOST_REMOTES))


def _left_out(place: str, reason: str, inside: str = "") -> LeftOut:
    return LeftOut(path=f"{place}/.git/{inside}".removesuffix("/"), reason=reason, unread=True)


def _with_copy(item: LeftOut) -> LeftOut:
    return replace(item, reason=f"{item.reason.removesuffix('.')}. The earlier copy of the repository stays")


def _state(folder: Path) -> _State:
    """Return what changes when git changes something in its *folder* that a backup carries."""

    def seen(path: str) -> Iterator[tuple[str, int, int, int]]:
        with suppress(OSError):
            status = os.lstat(path)
            yield path, status.st_mtime_ns, status.st_ctime_ns, status.st_size

    found = {row for name in _STATE for row in seen(f"{folder}/{name}")}
    for place, _, names in os.walk(folder / "refs"):
        found.update(row for path in (place, *(f"{place}/{name}" for name in names)) for row in seen(path))
    return frozenset(found)
