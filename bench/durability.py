"""Measure what durability costs, and that closing costs the same however many sessions were closed before.

    python -m bench.durability [--sizes 50,500,5000] [--runs N] [--folder DIR] [--write-docs]

Each home gets a past of so many closings (``bench.measure.grown_home``). New sessions are then imported, indexed and
closed, and old entries are archived, with the three ways in which git may treat a new object: leave it to the operating
system, git's default, and wait for the disk, as set for homes. The ways take turns, so that other jobs of the machine
disturb all of them alike. ``--folder`` must be on a real disk: a memory file system waits for nothing.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from unittest import mock

from agent_home.creation import create
from agent_home.git import client
from agent_home.home import Home
from agent_home.imports.intake import import_chat
from agent_home.store.transcript import Message
from assembler.prompt import Request, assemble
from distill.close import close
from distill.entries.decay import archive
from recall.index.sync import ensure_fresh, sync
from recall.settings import RecallSettings

from .measure.grown_home import END, give_past, moment_of, talk
from .measure.page import DOCS, markdown, put, stamp

__all__ = ["Cost", "main", "measure"]

#: What ``core.fsync`` is set to, by the name of the column. Git's default is what homes had before.
MODES: Mapping[str, str] = {"no fsync in git": "none", "git's default": "", "now": "as set"}
_STEPS = ("import", "index", "close", "prompt", "archive")
#: Long after the past, so that lessons are archived.
_MUCH_LATER = END + timedelta(days=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One run of one step: seconds that passed, and seconds of processor time with git's."""

    step: str
    sessions: int
    mode: str
    seconds: float
    cpu: float


def measure(home: Home, sessions: int, runs: int) -> Iterator[Cost]:
    """Yield the costs of importing, closing and archiving *runs* sessions in each mode, after one for warming up."""
    number = 0
    for run in range(runs + 1):
        for mode in MODES:
            number += 1
            now = END + timedelta(minutes=20 * number)
            chat = _chat(home, number, now)
            with _fsync(MODES[mode]):
                steps: dict[str, Callable[[], object]] = {
                    "import": partial(import_chat, home, [chat], now=now),
                    "index": partial(ensure_fresh, home, RecallSettings(), None),
                    "close": partial(_closed, home, number, now),
                    "prompt": partial(assemble, home, Request(now=now)),
                }
                for step, action in steps.items():
                    seconds, cpu = _timed(action)
                    if run:
                        yield Cost(step=step, sessions=sessions, mode=mode, seconds=seconds, cpu=cpu)
            chat.unlink()


def measure_archive(home: Home, sessions: int, runs: int) -> Iterator[Cost]:
    """Yield the costs of archiving in copies of *home*: its old daily logs and three lessons."""
    for run in range(runs + 1):
        for mode in MODES:
            copy = Home(home.root.with_name("copy"))
            shutil.copytree(home.root, copy.root, symlinks=True)
            with _fsync(MODES[mode]):
                seconds, cpu = _timed(partial(archive, copy, now=_MUCH_LATER, apply=True, with_regret=False))
            if run:
                yield Cost(step="archive", sessions=sessions, mode=mode, seconds=seconds, cpu=cpu)
            shutil.rmtree(copy.root)


def _chat(home: Home, number: int, now: datetime) -> Path:
    path = home.root.with_name(f"chat-{number}.jsonl")
    messages = [
        *talk(f"new-{number}", now, 90_000 + number),
        Message(session=f"new-{number}", id="m9", ts=now.isoformat(), content=f"Lesson: warm cache {number} first."),
    ]
    rows = ({"session": m.session, "id": m.id, "ts": m.ts, "role": m.role, "content": m.content} for m in messages)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def _closed(home: Home, number: int, now: datetime) -> None:
    if close(home, f"new-{number}", now=now).commit is None:
        raise SystemExit(f"the closing of new-{number} wrote nothing")


@contextmanager
def _fsync(value: str) -> Iterator[None]:
    """Let git commands of the home run with ``core.fsync`` of *value*. An empty one is git's default."""
    settings: tuple[str, ...] = vars(client)["_SETTINGS"]
    kept = tuple(word for word in settings if value == "as set" or not word.startswith("core.fsync"))
    kept += (f"core.fsync={value}",) if value not in {"", "as set"} else ()
    with mock.patch("agent_home.git.client._SETTINGS", kept):
        yield


def _timed(action: Callable[[], object]) -> tuple[float, float]:
    started, spent = time.perf_counter(), _processor_time()
    action()
    return time.perf_counter() - started, _processor_time() - spent


def _processor_time() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def table(costs: Sequence[Cost]) -> str:
    """Return a line for each step and size with medians: milliseconds that passed by mode, and of the processor."""
    groups = defaultdict[tuple[str, int], dict[str, list[Cost]]](lambda: defaultdict(list))
    for cost in costs:
        groups[cost.step, cost.sessions][cost.mode].append(cost)
    lines = []
    for (step, sessions), modes in sorted(groups.items(), key=lambda item: (_STEPS.index(item[0][0]), item[0])):
        waits = [f"{1000 * statistics.median(one.seconds for one in modes[mode]):.0f}" for mode in MODES]
        cpu = 1000 * statistics.median(one.cpu for one in modes["now"])
        lines.append([step, str(sessions), *waits, f"{cpu:.0f}"])
    return markdown(["step", "closings before", *(f"{mode}, ms" for mode in MODES), "processor, ms"], lines,
                    align="lrrrrr")  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table. Return 0 when closing in the oldest home takes at most 1.2 times as much as in the youngest."""
    parser = argparse.ArgumentParser(prog="python -m bench.durability", description="What durability costs.")
    parser.add_argument("--sizes", default="50,500,5000", help="closings before, in each home")
    parser.add_argument("--runs", type=int, default=9, help="runs of each step")
    parser.add_argument("--folder", type=Path, help="folder on the disk to measure")
    parser.add_argument("--data", help="not used: everything is invented")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.sizes.split(",")]
    costs: list[Cost] = []
    for size in sizes:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            started = moment_of(0, size) - timedelta(days=1)
            home = create(Path(folder) / "home", name="Bench", now=started).home
            give_past(home, size)
            sync(home, RecallSettings(), None)
            costs += measure(home, size, options.runs)
            if size == sizes[0]:
                costs += measure_archive(home, size, options.runs)
            print(f"{size} closings measured", file=sys.stderr, flush=True)
    text = f"{table(costs)}\n\n{stamp('python -m bench.durability')}"
    print(text)
    if options.write_docs:
        put(DOCS / "benchmarks.md", {"durability": text})
    spent = [statistics.median(c.cpu for c in costs if c.step == "close" and c.sessions == size) for size in sizes]
    return int(spent[-1] > 1.2 * spent[0])


if __name__ == "__main__":
    sys.exit(main())
