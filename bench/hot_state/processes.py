"""Time whole commands, and what a server costs that does not answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from agent_home.creation import create
from agent_home.home import Home
from recall.hot_state import HotState
from recall.hot_state.redis_server import redis_server
from recall.servers import REDIS_VARIABLE

from ..measure import servers
from .operations import percentiles, using

__all__ = ["OUTAGE_HEAD", "PROCESS_HEAD", "outage_rows", "process_rows"]

OUTAGE_HEAD = ("the server", "first read", "next reads", "first set", "next sets")
PROCESS_HEAD = ("process", "no server named", "Redis", "Redis, stopped by SIGSTOP")
_ENDED = "is gone: the socket refuses"
_SILENT = "accepts and says nothing (SIGSTOP)"


def outage_rows(folder: Path, *, runs: int = 200) -> Iterator[Sequence[str]]:
    """Yield rows of :data:`OUTAGE_HEAD`: milliseconds, of next ones p50 / p95."""
    for number, what in enumerate((_ENDED, _SILENT)):
        place = folder / f"away-{number}"
        url = servers.redis(place)
        home = create(folder / f"outage-{number}", now=datetime.now(UTC)).home
        with using(url):
            HotState(home).set_context("s", {f"k{n}": n for n in range(50)})
            if what == _ENDED:
                servers.stop(place)
            else:
                _signal(place, signal.SIGSTOP)
            cells = []
            for work in (_read(home), _set(home)):
                redis_server(url).backoff.succeeded()
                cells += [_once(work), percentiles(work, runs)]
        yield (what, *cells)
        if what == _SILENT:
            _signal(place, signal.SIGCONT)
            servers.stop(place)


def process_rows(folder: Path, *, runs: int = 15) -> Iterator[Sequence[str]]:
    """Yield rows of :data:`PROCESS_HEAD`: p50 / p95 milliseconds of whole commands that ask no service."""
    place = folder / "commands"
    url = servers.redis(place)
    home = create(folder / "commands-home", now=datetime.now(UTC)).home
    for address in ("", url):
        with using(address):
            HotState(home).set_context("s", {f"k{n}": n for n in range(50)})
    rows: dict[str, list[str]] = {"`memory context get`": [], "`memory prompt --session s`": []}
    commands = {"`memory context get`": ["context", "get", "k1", "--session", "s"]}
    commands["`memory prompt --session s`"] = ["prompt", "--session", "s"]
    for address, stopped in (("", False), (url, False), (url, True)):
        if stopped:
            _signal(place, signal.SIGSTOP)
        for name, words in commands.items():
            rows[name].append(percentiles(_command(home, words, address), runs))
    _signal(place, signal.SIGCONT)
    servers.stop(place)
    yield from ((name, *cells) for name, cells in rows.items())


def _read(home: Home) -> Callable[[int], object]:
    state = HotState(home)
    return lambda _number: state.items_of(["s", ""])


def _set(home: Home) -> Callable[[int], object]:
    state = HotState(home)
    return lambda number: state.set_value("s", "task", number)


def _command(home: Home, words: Sequence[str], url: str) -> Callable[[int], object]:
    command = [sys.executable, "-c", "from interfaces.entry import main; main()", *words, "--home", str(home.root)]
    environment = {**os.environ, "AGENT_HOME_SERVICE": "0", REDIS_VARIABLE: url}
    return lambda _number: subprocess.run(command, capture_output=True, check=False, env=environment)


def _once(work: Callable[[int], object]) -> str:
    began = time.perf_counter()
    work(0)
    return f"{(time.perf_counter() - began) * 1e3:.2f}"


def _signal(place: Path, number: int) -> None:
    os.kill(int((place / "redis.pid").read_text(encoding="utf-8")), number)
