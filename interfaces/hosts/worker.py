"""Import what hosts wrote and close sessions that ended: ``python -m interfaces.hosts.worker HOME``.

Hooks start it in a session of its own. One worker runs at a time. What it cannot save stays in its record, and the next
worker tries again.
"""

from __future__ import annotations

import hashlib
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
from agent_home.home_location import MANIFEST
from agent_home.imports import host_messages, import_host, salt_of, strip_injected
from agent_home.imports.host_memory import copy_notes
from agent_home.lock import hold
from agent_home.screening.service import ScreeningService
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
            last_message=event["last_message"] or (before.last_message if before else ""),
            said="" if event["last_message"] or not before else before.said,
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
            imported = _imported(home, item, ends=ends)
            if ends:
                _append_last(home, imported)
                closed += _closed(home, item.session)
            else:
                left[key] = replace(imported, failures=0, problem="")
        except (HomeError, DistillError, OSError, ValueError) as error:
            left[key] = replace(item, failures=item.failures + 1, problem=_reason(error))
    write_open(home.root, {key: _screened(home, item) for key, item in left.items()}, time.time())
    return closed


def _imported(home: Home, item: OpenSession, *, ends: bool) -> OpenSession:
    """Append what the host's file holds of the session, and return *item* without a last message that the file has.

    A file of another session feeds nothing: what it says belongs there. The log names its host, for `memory doctor`.
    """
    path = Path(item.transcript)
    if not item.transcript or not path.is_file():
        return item
    if ends or not item.said:
        _wait_for(home, path, item)
    done = import_host(home, item.host, path, session=item.session, cwd=item.cwd)
    if not host_messages(item.host, path, item.session):
        if ends and done.skipped["other-session"]:
            moment = time.strftime("%Y-%m-%dT%H:%M:%S")
            queue.note_error(home.root, f"{moment} {item.host} named the file of another session at the end of one")
        return item
    if item.host == "claude-code":
        project = main_worktree(Path(item.cwd)).name if item.cwd else path.parent.name
        copy_notes(home, item.host, project, path.parent / "memory", now=now())
    return replace(item, last_message="", said="") if _holds(home, path, item) else item


def _wait_for(home: Home, path: Path, item: OpenSession) -> None:
    """Wait until the host has written the last message, which hooks get before."""
    until = time.monotonic() + _LAG_S
    while item.last_message.strip() and not _holds(home, path, item) and time.monotonic() < until:
        time.sleep(_LOOK_S)


def _holds(home: Home, path: Path, item: OpenSession) -> bool:
    """Return whether the host's file has the last message. It also does where there is none."""
    if not item.last_message.strip() and not item.said:
        return True
    salt = salt_of(home)
    said = item.said or _digest(item.last_message, salt)
    return any(_digest(message.content, salt) == said for message in host_messages(item.host, path, item.session))


def _screened(home: Home, item: OpenSession) -> OpenSession:
    """Return *item* as it may lie in the record: its last message as the guard would store it, or without one."""
    if item.said or not item.last_message.strip():
        return item
    try:
        said = _digest(item.last_message, salt_of(home))
        verdict = ScreeningService(home).verdict("sessions/last.jsonl", item.last_message.replace("\0", ""), "agent")
    except HomeError:  # a guard that cannot run stores nothing
        return replace(item, last_message="")
    return replace(item, last_message=verdict.text if verdict.stored else "", said=said)


def _digest(text: str, salt: str) -> str:
    return hashlib.blake2b(
        _as_imported(text).encode("utf-8", "replace"), digest_size=16, key=salt.encode()[:64]
    ).hexdigest()


def _as_imported(text: str) -> str:
    """Return *text* as an import keeps it, as far as the queue has it."""
    return strip_injected(text.replace("\0", ""))[0].strip()[: queue.MOST_CHARS // 2]


def _append_last(home: Home, item: OpenSession) -> None:
    """Append the last message to the session, if there is one that the host's file lacks.

    It is appended as it would lie in the record, so that a second try adds nothing. What the guard holds back is not in
    the record, and is quarantined now.
    """
    if not item.last_message.strip():
        return
    kept = _screened(home, item)
    ts = datetime.fromtimestamp(item.at, UTC).isoformat(timespec="seconds")
    content = kept.last_message or item.last_message
    row = {"role": "assistant", "content": content, "id": f"last-{kept.said[:12]}", "ts": ts, "cwd": item.cwd}
    AgentHome(home).append(item.session, [row])


def _closed(home: Home, session: str) -> list[str]:
    """Close *session*, and return its name. One without a turn, as one that was opened and left, is no failure."""
    try:
        return [AgentHome(home).close(session).session]
    except (NoSuchSession, EmptySession):
        return []


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def main(root: Path) -> None:
    """Work for the home *root*, unless it was moved or deleted since a hook named it: nothing is made there then."""
    if (root / MANIFEST).is_file():
        work(Home(root))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
