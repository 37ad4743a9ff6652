"""Import what hosts wrote and close sessions that ended: ``python -m interfaces.hosts.worker HOME``.

Hooks start it in a session of its own. One worker runs at a time. What it cannot save stays in its record, and the next
worker tries again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent_home.clock import now
from agent_home.errors import HomeError, Locked
from agent_home.git_folder import main_worktree
from agent_home.home import Home
from agent_home.imports import host_messages, import_host
from agent_home.imports.host_memory import copy_notes
from agent_home.lock import hold
from distill.errors import DistillError, EmptySession, NoSuchSession
from interfaces.api import AgentHome

from . import queue
from .captured import OpenSession, read_open, write_open

__all__ = ["work"]

#: Seconds without an event after which a session counts as ended: its terminal was closed.
_QUIET_S = 3 * 3600.0
#: Seconds to wait for a transcript that lags behind the last message.
_LAG_S, _LOOK_S = 3.0, 0.2


def work(home: Home) -> list[str]:
    """Import and close what waits, and return the names of the sessions that were closed.

    Does nothing while another worker runs, which looks into the queue again before it ends.
    """
    closed: list[str] = []
    try:
        with hold(queue.folder(home.root) / "worker.lock", 0):
            while events := queue.take(home.root):
                closed += _settle(home, _with_events(read_open(home.root), events))
                queue.drop(home.root)
            closed += _settle(home, read_open(home.root))
    except Locked:
        return []
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
            cwd=event.get("cwd") or (before.cwd if before else ""),
            at=event["at"],
            ended=event["kind"] == "session-end",
            last_message=event.get("last_message") or (before.last_message if before else ""),
        )
    return found


def _settle(home: Home, sessions: Mapping[str, OpenSession]) -> list[str]:
    """Import every session, close those that ended, and write down the others."""
    closed, left = [], {}
    for key, item in sessions.items():
        try:
            names = _imported(home, item)
            if item.ended or time.time() - item.at > _QUIET_S:
                closed += _closed(home, names or [item.session])
            else:
                left[key] = replace(item, failures=0, problem="")
        except (HomeError, DistillError, OSError, ValueError) as error:
            left[key] = replace(item, failures=item.failures + 1, problem=_reason(error))
    write_open(home.root, left, time.time())
    return closed


def _imported(home: Home, item: OpenSession) -> list[str]:
    """Append what the host's file holds, and the last message if the file does not have it yet."""
    path = Path(item.transcript)
    if not item.transcript or not path.is_file():
        if item.last_message:
            return _append_last(home, item)
        return []
    _wait_for(path, item)
    done = import_host(home, item.host, path, cwd=item.cwd)
    if item.host == "claude-code":
        project = main_worktree(Path(item.cwd)).name if item.cwd else path.parent.name
        copy_notes(home, item.host, project, path.parent / "memory", now=now())
    if item.last_message.strip() and not _holds(path, item):
        return [*done.sessions, *_append_last(home, item)]
    return list(done.sessions)


def _wait_for(path: Path, item: OpenSession) -> None:
    """Wait until the host has written the last message, which hooks get before."""
    until = time.monotonic() + _LAG_S
    while item.last_message.strip() and not _holds(path, item) and time.monotonic() < until:
        time.sleep(_LOOK_S)


def _holds(path: Path, item: OpenSession) -> bool:
    last = item.last_message.strip()
    return any(message.content.strip() == last for message in host_messages(item.host, path))


def _append_last(home: Home, item: OpenSession) -> list[str]:
    ts = datetime.fromtimestamp(item.at, UTC).isoformat(timespec="seconds")
    row = {"role": "assistant", "content": item.last_message, "id": f"last-{int(item.at)}", "ts": ts, "cwd": item.cwd}
    return list(AgentHome(home).append(item.session, [row]).sessions)


def _closed(home: Home, names: Sequence[str]) -> list[str]:
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


if __name__ == "__main__":
    work(Home(Path(sys.argv[1])))
