"""Own the binary search for the memory commit that changed what the prompt says.

A past prompt is made from the files of its revision. Words choose the entries of its MEMORY.md for the message.
Conversations and knowledge are left out, because the index knows only the present. The daily log is the one of the
commit's day.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent_home.documents.daily_log import daily_path
from agent_home.git import history
from agent_home.home import Home
from assembler.prompt import Request, assemble
from recall.text.normalise import normalise

__all__ = ["BisectResult", "bisect_prompt", "commit_time"]

#: Commits compared one by one, newest first, when the prompts at both ends agree.
_MAX_COMPARED = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectResult:
    """The commit since which the prompt says the text, or no longer says it.

    *says* is whether the prompt says it since *commit*. If no commit changed that, *commit* is empty, and *says* holds
    for the whole range. *looked_at* counts the prompts compared, and *commits* the commits in the range.
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
    """Return the time of a commit.

    Raises:
        HistoryError: if there is no such revision.
    """
    commit = history.resolve(home.root, revision)
    return datetime.fromisoformat(history.query(home.root, "show", "-s", "--format=%cI", commit).strip())


def bisect_prompt(home: Home, request: Request, expected: str, *, since: str = "", until: str = "HEAD") -> BisectResult:
    """Find a commit that changed whether the prompt for *request* says *expected*.

    The search runs from *since*, or the first commit, to *until*. Case and spacing are ignored. With several such
    commits, the binary search finds one of them. If the prompts at both ends agree, the commits that touched these
    words are compared, newest first.

    Raises:
        HistoryError: if there is no such revision.
    """
    commits = _commits(home, since, until)
    expected_words = _plain(expected)
    results: dict[str, bool] = {}
    degraded: dict[str, None] = {}

    def says(commit: str) -> bool:
        if commit not in results:
            receipt = assemble(home, replace(request, at=commit, now=commit_time(home, commit)))
            degraded.update(dict.fromkeys(receipt.degraded))
            results[commit] = expected_words in _plain(receipt.text)
        return results[commit]

    at = _binary_search(commits, says) if commits else None
    if at is None and commits:
        at = _search_by_words(home, commits, says, expected)
    found = BisectResult(says=bool(commits) and says(commits[at if at is not None else -1]), looked_at=len(results),
                    commits=len(commits), degraded=tuple(degraded))  # fmt: skip
    return found if at is None else _with_commit(home, found, commits[at])


def _commits(home: Home, since: str, until: str) -> list[str]:
    """Return the commits that touched files of a prompt, oldest first. *since* itself is the first."""
    last = history.resolve(home.root, until)
    span = [f"{history.resolve(home.root, since)}..{last}"] if since else [last]
    files = [file.file for file in home.manifest.context]
    folder = daily_path("").partition("/")[0]
    listed = history.query(home.root, "rev-list", "--reverse", "--first-parent", *span, "--", *files, folder).split()
    return [*([history.resolve(home.root, since)] if since else []), *listed]


def _binary_search(commits: Sequence[str], says: Callable[[str], bool]) -> int | None:
    """Return the index of a commit whose prompt differs from the one before it, or ``None`` if both ends agree."""
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


def _search_by_words(home: Home, commits: Sequence[str], says: Callable[[str], bool], expected: str) -> int | None:
    touched = history.query(
        home.root, "log", "--first-parent", "--format=%H", f"-S{expected}", commits[-1], "--"
    ).split()
    index = {commit: at for at, commit in enumerate(commits)}
    for commit in touched[:_MAX_COMPARED]:
        at = index.get(commit, 0)
        if at > 0 and says(commits[at]) != says(commits[at - 1]):
            return at
    return None


def _with_commit(home: Home, found: BisectResult, commit: str) -> BisectResult:
    trailers = "".join(f"%x1f%(trailers:key={name},valueonly,separator=%x2C)" for name in ("Session", "Entries"))
    output = history.query(home.root, "show", "-s", f"--format=%cI%x1f%s{trailers}", commit)
    ts, subject, session, entries = output.strip("\n").split("\x1f")
    ids = tuple(entry.strip() for entry in entries.split(",") if entry.strip())
    return replace(found, commit=commit, ts=ts, subject=subject, session=session.strip(), entries=ids)


def _plain(text: str) -> str:
    return " ".join(normalise(text).casefold().split())
