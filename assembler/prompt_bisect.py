"""Which memory commit changed what the prompt says: a binary search over prompts of the past.

A prompt of the past is made of the files of that revision, the entries of its MEMORY.md chosen for the message by their
words; conversations and knowledge are left out, because the index knows the present only. The day whose log it shows is
the commit's own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent_home.documents.daily_log import daily_path
from agent_home.git import history
from agent_home.home import Home

from .prompt import Request, assemble

__all__ = ["Turning", "commit_time", "turning_point"]

#: When the two ends agree, this many of the newest commits that touched the words are looked at one by one.
_MOST_LOOKED_AT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Turning:
    """The commit from which on the prompt says the text, or no longer does.

    *says* is whether it does from *commit* on. Where none was found *commit* is empty, and *says* is what holds all the
    time that was looked at. *looked_at* counts prompts, *commits* what there was to search.
    """

    says: bool
    commit: str = ""
    ts: str = ""
    subject: str = ""
    session: str = ""
    entries: tuple[str, ...] = ()
    looked_at: int = 0
    commits: int = 0
    degraded: tuple[str, ...] = ()


def commit_time(home: Home, revision: str) -> datetime:
    """When the commit was made.

    Raises:
        HistoryError: there is no such revision.
    """
    commit = history.resolve(home.root, revision)
    return datetime.fromisoformat(history.ask(home.root, "show", "-s", "--format=%cI", commit).strip())


def turning_point(home: Home, request: Request, expected: str, *, since: str = "", until: str = "HEAD") -> Turning:
    """The last commit between *since* (default: the first one) and *until* at which the prompt for *request* began or
    ceased to say *expected*, compared without case and spacing.

    With several such commits, the binary search finds one of them. Where the prompt says the same at both ends, the
    commits that touched those very words are looked at, the newest first.

    Raises:
        HistoryError: there is no such revision.
    """
    commits = _commits(home, since, until)
    wanted = _plain(expected)
    seen: dict[str, bool] = {}
    degraded: dict[str, None] = {}

    def says(commit: str) -> bool:
        if commit not in seen:
            receipt = assemble(home, replace(request, at=commit, now=commit_time(home, commit)))
            degraded.update(dict.fromkeys(receipt.degraded))
            seen[commit] = wanted in _plain(receipt.text)
        return seen[commit]

    at = _turn(commits, says) if commits else None
    if at is None and commits:
        at = _turn_by_words(home, commits, says, expected)
    found = Turning(says=bool(commits) and says(commits[at if at is not None else -1]), looked_at=len(seen),
                    commits=len(commits), degraded=tuple(degraded))  # fmt: skip
    return found if at is None else _told(home, found, commits[at])


def _commits(home: Home, since: str, until: str) -> list[str]:
    """The commits that touched what a prompt is made of, oldest first; *since* itself is the first."""
    last = history.resolve(home.root, until)
    span = [f"{history.resolve(home.root, since)}..{last}"] if since else [last]
    files = [file.file for file in home.manifest.context]
    folder = daily_path("").partition("/")[0]
    listed = history.ask(home.root, "rev-list", "--reverse", "--first-parent", *span, "--", *files, folder).split()
    return [*([history.resolve(home.root, since)] if since else []), *listed]


def _turn(commits: Sequence[str], says: Callable[[str], bool]) -> int | None:
    """The index of a commit that says something else than the one before it; ``None`` when both ends say the same."""
    low, high = 0, len(commits) - 1
    if says(commits[low]) == says(commits[high]):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if says(commits[middle]) == says(commits[high]):
            high = middle
        else:
            low = middle
    return high


def _turn_by_words(home: Home, commits: Sequence[str], says: Callable[[str], bool], expected: str) -> int | None:
    touched = history.ask(home.root, "log", "--first-parent", "--format=%H", f"-S{expected}", commits[-1], "--").split()
    index = {commit: at for at, commit in enumerate(commits)}
    for commit in touched[:_MOST_LOOKED_AT]:
        at = index.get(commit, 0)
        if at > 0 and says(commits[at]) != says(commits[at - 1]):
            return at
    return None


def _told(home: Home, found: Turning, commit: str) -> Turning:
    trailers = "".join(f"%x1f%(trailers:key={name},valueonly,separator=%x2C)" for name in ("Session", "Entries"))
    output = history.ask(home.root, "show", "-s", f"--format=%cI%x1f%s{trailers}", commit)
    ts, subject, session, entries = output.strip("\n").split("\x1f")
    ids = tuple(entry.strip() for entry in entries.split(",") if entry.strip())
    return replace(found, commit=commit, ts=ts, subject=subject, session=session.strip(), entries=ids)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
