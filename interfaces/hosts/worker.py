"""Import what hosts wrote and close sessions that ended: ``python -m interfaces.hosts.worker HOME``.

Hooks start it in a session of its own. One worker runs at a time. What it cannot save stays in its record, and the next
worker tries again.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent_home.clock import now
from agent_home.errors import HomeError, Locked
from agent_home.git_folder import main_worktree
from agent_home.home import Home
from agent_home.home_location import MANIFEST
from agent_home.imports import host_messages, import_host, strip_injected
from agent_home.imports.host_memory import copy_notes
from agent_home.lock import hold
from distill.errors import DistillError, EmptySession, NoSuchSession
from interfaces.api import AgentHome

from . import queue
from .captured import OpenSession, read_open, write_open

__all__ = ["main", "work"]

#: Seconds without an event after which a session counts as ended: its terminal was closed.
_QUIET_S = 3 * 3600.0
#: Seconds to wait for a transcript that lags behind the last message.
_LAG_S, _LOOK_S = 3.0, 0.2


def work(home: Home) -> list[str]:
    """Import and close what waits, and return the names of the sessions that were closed.

    Does nothing while another worker runs, which looks into the queue again before it ends.

    Raises:
        OSError: what waits can be neither saved nor written down. The events stay in the queue.
    """
    closed: list[str] = []
    again = True
    while again:
        try:
            with hold(queue.folder(home.root) / "worker.lock", 0):
                closed += _work_once(home)
        except Locked:
            break
        again = queue.waits(home.root)  # an event that came while the lock was given back
    return closed


def _work_once(home: Home) -> list[str]:
    """Settle what the queue and the record hold. Without an event, the record alone."""
    events = queue.take(home.root)
    closed = _settle(home, _with_events(read_open(home.root), events))
    queue.drop(home.root)
    return closed


def _with_events(known: Mapping[str, OpenSession], events: Sequence[Mapping[str, Any]]) -> dict[str, OpenSession]:
    """Return *known* with what the events tell. An event after the end opens the session again."""
    found = dict(known)
    for event in events:
        key = f"{event['host']}\0{event['session']}"
        before = found.get(key)
        found[key] = OpenSession(
            host=event["host"],
            session=event["session"],
            transcript=event.get("transcript") or (before.transcript if before else ""),
            cwd=event["cwd"].replace("\0", "") or (before.cwd if before else ""),
            at=event["at"],
            ended=event["kind"] == "session-end",
            last_message=event.get("last_message") or (before.last_message if before else ""),
            failures=before.failures if before else 0,
            problem=before.problem if before else "",
        )
    return found


def _settle(home: Home, sessions: Mapping[str, OpenSession]) -> list[str]:
    """Import every session, close those that ended, and write down the others."""
    closed, left = [], {}
    for key, item in sessions.items():
        try:
            ends = item.ended or time.time() - item.at > _QUIET_S
            names = _imported(home, item, ends=ends)
            if ends:
                closed += _closed(home, dict.fromkeys(names or [item.session]))
            else:
                left[key] = replace(item, failures=0, problem="")
        except (HomeError, DistillError, OSError, ValueError) as error:
            left[key] = replace(item, failures=item.failures + 1, problem=_reason(error))
    write_open(home.root, left, time.time())
    return closed


def _imported(home: Home, item: OpenSession, *, ends: bool) -> list[str]:
    """Append what the host's file holds, and return the names of its sessions.

    The last message is added when the session *ends* and the file does not have it, because the file lags.
    """
    path = Path(item.transcript)
    if not item.transcript or not path.is_file():
        return _append_last(home, item, item.session) if ends and item.last_message.strip() else []
    if ends:
        _wait_for(path, item)
    done = import_host(home, item.host, path, cwd=item.cwd)
    if item.host == "claude-code":
        project = main_worktree(Path(item.cwd)).name if item.cwd else path.parent.name
        copy_notes(home, item.host, project, path.parent / "memory", now=now())
    names = list(done.sessions) or list(dict.fromkeys(found.session for found in host_messages(item.host, path)))
    if ends and item.last_message.strip() and not _holds(path, item):
        return [*names, *_append_last(home, item, names[0] if names else item.session)]
    return names


def _wait_for(path: Path, item: OpenSession) -> None:
    """Wait until the host has written the last message, which hooks get before."""
    until = time.monotonic() + _LAG_S
    while item.last_message.strip() and not _holds(path, item) and time.monotonic() < until:
        time.sleep(_LOOK_S)


def _holds(path: Path, item: OpenSession) -> bool:
    last = _as_imported(item.last_message)
    return any(_as_imported(message.content) == last for message in host_messages(item.host, path))


def _as_imported(text: str) -> str:
    """Return *text* as an import keeps it, as far as the queue has it."""
    return strip_injected(text.replace("\0", ""))[0].strip()[: queue.MOST_CHARS // 2]


def _append_last(home: Home, item: OpenSession, session: str) -> list[str]:
    ts = datetime.fromtimestamp(item.at, UTC).isoformat(timespec="seconds")
    name = f"last-{hashlib.sha256(item.last_message.encode('utf-8', 'replace')).hexdigest()[:12]}"
    row = {"role": "assistant", "content": item.last_message, "id": name, "ts": ts, "cwd": item.cwd}
    AgentHome(home).append(session, [row])
    return [session]


def _closed(home: Home, names: Iterable[str]) -> list[str]:
    """Close the sessions *names*. One without a turn, as a session that was opened and left, is no failure."""
    closed = []
    for name in names:
        try:
            closed.append(AgentHome(home).close(name).session)
        except (NoSuchSession, EmptySession):
            continue
    return closed


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def main(root: Path) -> None:
    """Work for the home *root*, unless it was moved or deleted since a hook named it: nothing is made there then."""
    if (root / MANIFEST).is_file():
        work(Home(root))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
