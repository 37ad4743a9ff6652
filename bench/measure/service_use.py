"""Use the service for weeks in minutes, and show whether the process grows: sessions open, talk and close.

    python -m bench.measure.service_use [--days 24] [--sessions 12] [--json]

On each day every session gets a prompt for its first message, appends its turns one by one, searches, notes something
and is closed in a job. Commands and hooks of other processes use the socket meanwhile. What is said repeats after some
days, as memory grows slower than the record of what was said. From then on the resident memory of the service, its
open files, threads and children must stay as they are. They stand behind each day, with the size of the index.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from agent_home.clock import now
from agent_home.creation import create
from agent_home.home import Home
from interfaces.service.http.tokens import add_token

from .service_load import ServiceProcess, allow_many_requests

_THINGS = ("invoice", "importer", "ledger", "router", "harbour", "orchard", "report", "queue", "migration", "backup")
_STATES = ("is late", "is done", "fails on Mondays", "needs a review", "moved to Brno", "costs 40 euros", "has a test")
_SAID = (
    "The {thing} of team {number} {state}.",
    "Decision: the {thing} of team {number} stays as it is, because it {state}.",
    "I prefer to hear about the {thing} of team {number} in the morning.",
    "Remember that the {thing} of team {number} {state}.",
)
_TURNS = 8
#: Days after which the sessions say the same again.
_NEW_DAYS = 6
_AT_ONCE = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of each day. Return 1 when a request failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.measure.service_use", description=__doc__)
    parser.add_argument("--days", type=int, default=24)
    parser.add_argument("--sessions", type=int, default=12, help="sessions of a day")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        home = create(Path(folder) / "home", name="Day", now=now()).home
        allow_many_requests(home)
        token = add_token(home, "day", scopes=("read", "write"), audience="owner", now=now())
        service = ServiceProcess(home, token)
        try:
            days = [_day(service, number, options.sessions, options.days) for number in range(options.days)]
            print("\n".join(service.defects), end="", file=sys.stderr)
        finally:
            service.stop()
    failed = sum(day["failed"] for day in days)
    if options.json:
        print(json.dumps({"days": days, "failed": failed}, indent=2))
    else:
        print("\n".join(_row(day) for day in days))
    return 1 if failed else 0


def _day(service: ServiceProcess, number: int, sessions: int, days: int) -> dict[str, Any]:
    """Run the sessions of a day, and return what the service has then."""
    begun = time.perf_counter()
    at = now() - timedelta(days=days - number)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        failed = sum(pool.map(lambda place: _session(service, number, place, at), range(sessions)))
        failed += sum(pool.map(lambda command: _command(service.home, command), _commands(service.home)))
    process = Path(f"/proc/{service.process.pid}")
    return {
        "day": number, "failed": failed, "seconds": round(time.perf_counter() - begun, 1),
        "megabytes": round(service.kilobytes / 1024, 1), "files": len(list((process / "fd").iterdir())),
        "threads": len(list((process / "task").iterdir())), "children": service.children,
        "index_megabytes": round(service.home.index.stat().st_size / 1e6, 1),
    }  # fmt: skip


def _session(service: ServiceProcess, day: int, place: int, at: datetime) -> int:
    """Append, search and close, and return how many requests failed."""
    name = f"d{day}-s{place}"
    words = random.Random(f"{day % _NEW_DAYS} {place}")  # noqa: S311 - the same day in each run
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/prompt", {"message": f"What about the {words.choice(_THINGS)}?", "session": name})
    ]
    for turn in range(_TURNS):
        text = words.choice(_SAID).format(
            thing=words.choice(_THINGS), state=words.choice(_STATES), number=words.randrange(1000)
        )
        role = "assistant" if turn % 2 else "user"
        said = (at + timedelta(minutes=place, seconds=turn)).isoformat(timespec="seconds")
        body = {"messages": [{"role": role, "content": text, "id": f"{name}-{turn}", "ts": said}]}
        asked.append((f"/sessions/{name}/messages", body))
    asked += [("/memory/search", {"query": f"{words.choice(_THINGS)} {words.choice(_STATES)}"}) for _ in range(3)]
    asked.append(("/entries", {"text": f"The {words.choice(_THINGS)} of table {place} {words.choice(_STATES)}"}))
    failed = 0
    for path, body in asked:
        status, answer = service.ask(path, body)
        if status != 200:
            failed += 1
            print(f"{path}: {status} {answer}", file=sys.stderr)
    status, job = service.ask(f"/sessions/{name}/close", {})
    return failed + (status != 202 or _ended(service, job["job"]) != "done")


def _ended(service: ServiceProcess, job: str) -> str:
    """Return the state of *job* when it has ended."""
    while True:
        answer = service.get(f"/jobs/{job}")[1]
        if answer["state"] == "failed":
            print(f"closing: {answer['result']}", file=sys.stderr)
        if answer["state"] in {"done", "failed"}:
            return str(answer["state"])
        time.sleep(0.1)


def _commands(home: Home) -> list[list[str]]:
    where = ["--home", str(home.root)]
    return [["prompt", "--message", "the ledger", *where], ["search", "harbour", *where], ["brief", *where]]


def _command(home: Home, command: Sequence[str]) -> bool:
    """Run a command as a process of its own. Return whether it failed."""
    done = subprocess.run(
        [sys.executable, "-m", "interfaces.cli", *command], capture_output=True, check=False,
        env={**os.environ, "AGENT_HOME": str(home.root)},
    )  # fmt: skip
    if done.returncode:
        print(f"{command[0]}: {done.stderr.decode('utf-8', 'replace')}", file=sys.stderr)
    return done.returncode != 0


def _row(day: dict[str, Any]) -> str:
    return "  ".join(f"{name} {value}" for name, value in day.items())


if __name__ == "__main__":
    sys.exit(main())
