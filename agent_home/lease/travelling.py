"""Decide which files of a home go to its remote beside the git history, and find them.

Git carries memory. The remote of a fleet's home also gets transcripts, outputs and the machine state that is named
here. So another host can go on where this one ended, even when this one is lost.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ..git.client import home_client
from ..home import Home

__all__ = [
    "RECORDS",
    "STAYS",
    "TRAVELS",
    "TravellingFile",
    "edited_files",
    "stays_behind",
    "travelling_files",
    "travels",
]

#: Machine state that travels: patterns of paths in its folder, and what they hold.
TRAVELS: Mapping[str, str] = {
    "appended.jsonl": "how far each transcript was written",
    "audit*.jsonl": "the audit",
    "branch": "the branch that memory is kept on",
    "closings.jsonl": "which turns of which sessions are closed",
    "decided.json": "decisions of the last day, so that they can be undone",
    "endpoint-tokens.json": "tokens that the language model has spent",
    "events*.jsonl": "the event log",
    "nightly.json": "the mark of a nightly run that was interrupted",
    "promised-closings/*.json": "closings that a service has promised",
    "quarantine/*": "quarantined texts and originals",
    "recovered/*": "texts that wait in `memory review` after a merge or a loss",
    "rewritten.json": "commits of a purge that was interrupted",
    "rules/*": "rule files that a person agreed to",
    "salt": "the salt, by which forgotten texts and known messages are recognised",
    "slack/record.jsonl": "threads in Slack, and where memory is off there",
    "unread.json": "parts of sessions that the language model will read again",
    "unverified/*": "interrupted writes that nobody signed",
}
#: Records that are signed for the folder they lie in, and are signed anew for the next one.
RECORDS: Mapping[str, str] = {
    "hot-state-key.json": "the key of the hot state in Redis, which all hosts share",
    "refused-settings.json": "settings that a person refused",
    "seen-head.json": "the commit that was seen last",
    "settings.json": "settings that a person agreed to",
    "shown-proposals.json": "proposals that a person has seen",
    "tokens.json": "access of programs over HTTP",
    "trusted-keys.json": "keys whose signed commits count",
    "vouched-decisions.json": "decisions of others that count",
}
#: Machine state that stays on its host, and why.
STAYS: Mapping[str, str] = {
    "*.lock": "locks",
    "*.tmp": "files that are being written",
    "archived.json": "computed again",
    "backups.json": "where the backups on that host are",
    "checked.json": "computed again",
    "closings.checked": "computed again",
    "committing": "the mark of a commit that runs",
    "entry-events.json": "computed again",
    "hosts/*": "events of chat hosts, with paths on that host",
    "hosts.json": "which settings of chat hosts name that folder",
    "hot-state-outage.json": "since when Redis does not answer there",
    "hot-state.db": "the working context of sessions, which lasts an hour. Keep it in Redis in a fleet",
    "hot-state.db-*": "is in hot-state.db",
    "index.*": "the index, computed again",
    "last-prompts.json": "computed again",
    "lease.json": "the lease of that host",
    "lease/*": "what that host has published",
    "moved": "a mark of this version",
    "page-access.json": "browsers that are signed in to the page. Make new links with `memory page`",
    "packed.json": "when git's objects were packed",
    "packing": "the mark of a packing that runs",
    "prompts/*": "prompts of runs",
    "redo.json": "a write that was interrupted, which was not acknowledged",
    "screened.json": "computed again",
    "service.*": "the socket of the service",
    "shared-links.json": "links to folders on that host",
    "shared-texts/*": "texts for folders on that host",
    "staging/*": "texts of a write that was interrupted",
    "status-files.jsonl": "STATUS.md files on that host",
    "worktrees/*": "the state of other work trees",
}
#: Folders of the work tree that git does not track by default.
_FOLDERS = ("sessions", "outputs")
_GIT, _INDEX = ".git", ".memory"
#: How git marks what it ignores.
_IGNORED = "!!"


@dataclass(frozen=True, slots=True, kw_only=True)
class TravellingFile:
    """A file that travels. *path* is its place in the tree of the state: ``home/...`` or ``machine/...``."""

    path: str
    place: Path


def travelling_files(home: Home) -> Iterator[TravellingFile]:
    """Yield transcripts, outputs and machine state, ordered within each folder."""
    for name in _FOLDERS:
        for path in _files_below(home.root / name):
            if not path.name.startswith(".") and path.suffix != ".lock":  # what writers of outputs leave
                yield TravellingFile(path=f"home/{path.relative_to(home.root).as_posix()}", place=path)
    for path in _files_below(home.machine, without=("lease", "worktrees")):
        name = path.relative_to(home.machine).as_posix()
        if travels(name):
            yield TravellingFile(path=f"machine/{name}", place=path)


def travels(name: str) -> bool:
    """Return whether machine state with that *name* in its folder travels."""
    if any(fnmatchcase(name, pattern) for pattern in STAYS):
        return False
    return any(fnmatchcase(name, pattern) for pattern in (*TRAVELS, *RECORDS))


def edited_files(home: Home) -> tuple[list[TravellingFile], list[str]]:
    """Return the files with edits by hand that are not committed, and the paths of files that were removed so.

    Raises:
        HistoryError: git is absent or refused.
    """
    found, removed = [], []
    for _, path in _changed(home):
        place = home.root / path
        if not os.path.lexists(place):
            removed.append(path)
        elif stat.S_ISREG(place.lstat().st_mode):
            found.append(TravellingFile(path=f"home/{path}", place=place))
    return found, removed


def stays_behind(home: Home) -> list[str]:
    """Return what a person put into the home and no move takes along: files that git ignores, and links.

    Raises:
        HistoryError: git is absent or refused.
    """
    return [path for state, path in _changed(home, "--ignored") if state == _IGNORED or (home.root / path).is_symlink()]


def _changed(home: Home, *options: str) -> Iterator[tuple[str, str]]:
    """Yield what differs from the newest commit, with git's two letters for it. Private folders are left out."""
    asked = ("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", *options)
    for row in filter(None, home_client(home.root).text(*asked).split("\0")):
        if row[3:].partition("/")[0] not in {_GIT, _INDEX, *_FOLDERS}:
            yield row[:2], row[3:]


def _files_below(folder: Path, *, without: Sequence[str] = ()) -> Iterator[Path]:
    """Yield the regular files below *folder*, *without* some of its folders.

    Links are not followed, and git repositories are not entered.
    """
    left_out = {os.path.join(folder, name) for name in without}  # noqa: PTH118 - as os.walk spells them
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != _GIT and os.path.join(top, name) not in left_out)  # noqa: PTH118
        for name in sorted(names):
            path = Path(top, name)
            try:
                status = path.lstat()
            except OSError:  # it went meanwhile
                continue
            if stat.S_ISREG(status.st_mode):
                yield path
