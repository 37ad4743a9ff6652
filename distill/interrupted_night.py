"""Remember that a nightly run is under way, so that the next one reports what a killed one did.

The mark ``nightly.json`` in the machine state names the commit that a run began at. A run removes it when its report is
written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

from agent_home import storage
from agent_home.errors import HistoryError
from agent_home.git import history
from agent_home.home import Home
from guard.lazy_regex import lazy_regex

__all__ = ["REPORT", "begin", "end", "interrupted"]

#: Subject of the commit of a report. What was done before it is reported.
REPORT = "Report of the night"
_MARK = "nightly.json"
_ACTORS = frozenset({"archive", "close", "distill", "evolution", "verify"})
_HASH = lazy_regex(r"[0-9a-f]{40,64}")
#: The commit, its author in memory, the ids of its entries, and its subject.
_FORMAT = "%h%x1f%(trailers:key=Actor,valueonly,separator=)%x1f%(trailers:key=Entries,valueonly,separator=%x2C)%x1f%s"


def begin(home: Home, now: datetime) -> None:
    """Mark that a run begins at HEAD, unless the mark of a killed one is there. Call with the nightly lock held."""
    if interrupted_at(home):
        return
    staged = home.machine / "nightly.tmp"
    storage.stage(staged, json.dumps({"head": history.head(home.root), "ts": now.isoformat()}).encode())
    storage.replace(staged, home.machine / _MARK)


def end(home: Home) -> None:
    """Remove the mark: everything is reported."""
    storage.remove(home.machine / _MARK)


def interrupted(home: Home) -> tuple[str, ...]:
    """Return what was done since a killed run began: short hashes of commits, with the ids of their entries."""
    start = interrupted_at(home)
    if not start or not history.descends(home.root, "HEAD", start):
        return ()
    try:
        output = history.query(home.root, "log", f"--format={_FORMAT}", f"{start}..HEAD")
    except HistoryError:
        return ()
    return tuple(reversed(list(_unreported(output))))


def interrupted_at(home: Home) -> str:
    """Return the commit that a killed run began at, or an empty string."""
    try:
        start = str(json.loads(storage.read_state(home.machine / _MARK))["head"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return start if _HASH.fullmatch(start) else ""


def _unreported(output: str) -> Iterator[str]:
    """Yield the commits of nightly steps, newest first, up to the last report."""
    for line in output.splitlines():
        commit, actor, entries, subject = line.split("\x1f", 3)
        if subject == REPORT:
            return
        if actor in _ACTORS:
            yield f"{commit} ({entries})" if entries else commit
