"""Decide which files of a home a backup carries, and find them.

Everything in the home's folder is carried but git's own files and the index. Of the machine state, the tables here say
what is carried, what is carried only between homes of one machine, and what is left out.
``agent_home.backup.inner_repositories`` judges the repositories inside the home.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from ..git_folder import WORKTREE_STATE
from ..home import STATE_SHOWN, Home
from .safe_paths import link_problem, path_problem

__all__ = [
    "CARRIED",
    "LEFT_OUT",
    "OF_ONE_MACHINE",
    "RECORDS",
    "HomeFiles",
    "LeftOut",
    "home_files",
    "is_known_state",
    "is_record",
]

#: Machine state that is carried: patterns of paths in its folder, and what they hold.
CARRIED: Mapping[str, str] = {
    "appended.jsonl": "how far each transcript was written",
    "audit*.jsonl": "the audit",
    "branch": "the branch that memory is kept on",
    "closings.jsonl": "which turns of which sessions are closed",
    "endpoint-tokens.json": "tokens that the language model has spent",
    "events*.jsonl": "the event log",
    "nightly.json": "the mark of a nightly run that was interrupted",
    "promised-closings/*.json": "closings that a service has promised",
    "quarantine/*": "quarantined texts and originals",
    "recovered/*": "texts that wait in `memory review` after a merge or a loss",
    "redo.json": "a write that was interrupted",
    "rewritten.json": "commits of a purge that was interrupted",
    "rules/*": "rule files that a person agreed to",
    "salt": "the salt, by which forgotten texts and known messages are recognised",
    "slack/record.jsonl": "threads in Slack, and where memory is off there",
    "staging/*": "texts of a write that was interrupted",
    "unread.json": "parts of sessions that the language model will read again",
    "unverified/*": "interrupted writes that this machine did not sign",
}
#: Machine state that counts only in a home of the machine and user that made the backup.
OF_ONE_MACHINE: Mapping[str, str] = {
    "hosts/*": "events of chat hosts that wait, with paths on that machine",
    "hot-state.db": "the working context of sessions, which prompts show",
    "refused-settings.json": "settings that a person refused",
    "seen-head.json": "the commit that was seen last",
    "settings.json": "settings that a person agreed to",
    "shared-links.json": "links to shared projects that a person agreed to",
    "shared-texts/*": "texts that wait for a shared project",
    "status-files.jsonl": "STATUS.md files on that machine that name outputs",
    "shown-proposals.json": "proposals that a person has seen",
    "trusted-keys.json": "keys whose signed commits count",
    "vouched-decisions.json": "decisions of others that count",
}
#: Those of them that are signed for the folder they lie in, as patterns without their ending.
RECORDS = frozenset({
    "refused-settings", "seen-head", "settings", "shared-links", "shared-texts/*", "shown-proposals", "trusted-keys",
    "vouched-decisions",
})  # fmt: skip
#: Machine state that stays behind, and why.
LEFT_OUT: Mapping[str, str] = {
    "*.lock": "locks",
    "*.tmp": "files that are being written",
    "archived.json": "computed again",
    "backups.json": "where the backups of this home are",
    "checked.json": "computed again",
    "closings.checked": "computed again",
    "committing": "the mark of a commit that runs",
    "decided.json": "decisions of the last day, so that they can be undone",
    "entry-events.json": "computed again",
    "hosts.json": "which settings of chat hosts name this folder. Run `memory install` for the new one",
    "hot-state-key.json": "the key of the hot state in Redis. Another folder makes one of its own",
    "hot-state-outage.json": "since when Redis does not answer",
    "hot-state.db-*": "is in hot-state.db",
    "index.*": "the index, computed again",
    "last-prompts.json": "computed again",
    "lease.json": "the lease of this host. The restored home is no fleet's",
    "lease/*": "what this host has published in a fleet",
    "moved": "a mark of this version",
    "page-access.json": "browsers that are signed in to the page. Make new links with `memory page`",
    "packed.json": "when git's objects were packed",
    "packing": "the mark of a packing that runs",
    "prompts/*": "prompts of runs",
    "screened.json": "computed again",
    "service.*": "the socket of the service",
    "tokens.json": "access of programs over HTTP. Make new ones with `memory token`",
    "worktrees/*": "the state of other work trees",
}
#: Levels of folders that are looked into.
_MOST_LEVELS = 200
_HIDDEN_OUTPUT = "outputs/"
_GIT = ".git"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file or folder that is not carried, and the *reason*. *unread* means that it should have been."""

    path: str
    reason: str
    unread: bool = False


@dataclass(slots=True)
class HomeFiles:
    """The files of a home by path, the targets of its links, its empty folders, and what is left out.

    *repositories* are the folders inside the home that have a ``.git``, the outer ones first.
    """

    files: dict[str, Path] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    repositories: list[str] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def home_files(home: Home, *, pending: bool = False) -> HomeFiles:
    """Return what a backup carries of *home*, ordered by path. *pending* includes a write that was interrupted."""
    found = HomeFiles()
    _add_folder(found, home.root, "")
    if home.machine.is_dir():
        _add_state(found, home.machine, pending=pending)
    return found


def is_known_state(path: str, *, own: bool) -> bool:
    """Return whether machine state with that *path* in its folder is carried. *own* is a backup of this machine."""
    if any(fnmatchcase(path, pattern) for pattern in LEFT_OUT) and not _is_waiting(path):
        return False
    patterns = (*CARRIED, *(OF_ONE_MACHINE if own else ()))
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def is_record(path: str) -> bool:
    """Return whether the machine state *path* is signed for the folder that it lies in."""
    return any(fnmatchcase(path, f"{pattern}.json") for pattern in RECORDS)


def _is_waiting(path: str) -> bool:
    """Return whether *path* belongs to a write that was interrupted."""
    return path == "redo.json" or path.startswith("staging/")


def _add_folder(found: HomeFiles, folder: Path, inside: str) -> None:
    """Add what is below *folder*, whose path in the home is *inside*, with ``/`` at its end.

    Records of outputs come before their contents. So the contents of each record that is found are there.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:  # it went meanwhile
        return
    except OSError as error:
        found.left_out.append(LeftOut(path=inside or ".", reason=error.strerror or "cannot be read", unread=True))
        return
    entries = [entry for entry in entries if not _is_passed_over(f"{inside}{entry.name}")]
    if inside and all(entry.name == _GIT for entry in entries):
        found.folders.append(inside.removesuffix("/"))
    for entry in entries:
        with suppress(FileNotFoundError):  # it went meanwhile
            _add_entry(found, entry, f"{inside}{entry.name}")


def _add_entry(found: HomeFiles, entry: os.DirEntry[str], path: str) -> None:
    place, _, name = path.rpartition("/")
    if name == _GIT and not path_problem(place):
        found.repositories.append(place)
    elif problem := path_problem(path):
        found.left_out.append(LeftOut(path=path, reason=problem))
    elif entry.is_symlink():
        _add_link(found, path, Path(entry.path))
    elif entry.is_dir(follow_symlinks=False) and path.count("/") >= _MOST_LEVELS:
        found.left_out.append(LeftOut(path=path, reason=f"is a folder {_MOST_LEVELS} levels deep", unread=True))
    elif entry.is_dir(follow_symlinks=False):
        _add_folder(found, Path(entry.path), f"{path}/")
    elif stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
        found.files[path] = Path(entry.path)
    else:
        found.left_out.append(LeftOut(path=path, reason="is no file"))


def _is_passed_over(path: str) -> bool:
    """Return whether nobody misses *path*: git's own folder, the index, and what writers of outputs leave."""
    if path in {".git", WORKTREE_STATE}:
        return True
    return path.startswith(_HIDDEN_OUTPUT) and path.rpartition("/")[2].startswith(".")


def _add_link(found: HomeFiles, path: str, place: Path) -> None:
    target = str(place.readlink())
    if problem := link_problem(path, target):
        found.left_out.append(LeftOut(path=path, reason=problem))
    else:
        found.links[path] = target


def _add_state(found: HomeFiles, machine: Path, *, pending: bool) -> None:
    for folder, folders, names in os.walk(machine):
        folders[:] = sorted(name for name in folders if Path(folder, name) != machine / "lease")
        for name in sorted(names):
            place = Path(folder, name)
            path = place.relative_to(machine).as_posix()
            left_out = not pending if _is_waiting(path) else any(fnmatchcase(path, pattern) for pattern in LEFT_OUT)
            if left_out:
                continue
            shown = f"{STATE_SHOWN}{path}"
            if place.is_symlink() or not place.is_file():
                found.left_out.append(LeftOut(path=shown, reason="is no file"))
            elif is_known_state(path, own=True):
                found.files[shown] = place
            else:
                found.left_out.append(LeftOut(path=shown, reason="is unknown to this version", unread=True))
