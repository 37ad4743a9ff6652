"""Measure the cost of a night as a home grows: ``python -m bench.nightly [--sizes 300,1000,3000,10000] [--new 30]``.

One home grows session by session. Its content is made with the parts of a closing (summary, daily section, placement in
MEMORY.md) without its transactions, with a commit for each day, and archived once a week. Closing ten thousand sessions
one by one would take hours and measure the same. At each size thirty new sessions wait. One real ``memory distill`` is
timed step by step, with the words of the index, then a second one that finds nothing to do. A column shows the cost of
a part that reads every daily log.

The transcripts are invented. A session has thirty turns with one conclusion. Some sessions have a lesson (a third of
the lessons recurs), a decision (most of them about a subject of an earlier decision), a correction or a preference.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agent_home import storage
from agent_home.creation import create
from agent_home.documents import daily_log
from agent_home.documents.document import Document, parse
from agent_home.documents.entry import new_id
from agent_home.home import MEMORY, Home
from agent_home.store.transcript import Message
from agent_home.tokens import count_tokens
from distill.entries.decay import archive
from distill.entries.promotion import PromotionCandidate, find_candidates, place_candidates
from distill.nightly import NightlyRun, distill_home
from distill.settings import DistillSettings
from distill.summary.composition import NO_MODELS, compose
from distill.summary.daily_section import render_body
from recall.index.sync import ensure_fresh, sync
from recall.settings import RecallSettings

from .measure.page import DOCS, markdown, put, stamp

__all__ = ["NightMeasurement", "grow", "main", "measure"]

START = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)
A_DAY = 30
TURNS = 30
#: Subjects of recurring decisions, and the possible decisions.
_SUBJECTS = 240
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_WORDS = (
    "amber", "basalt", "cedar", "delta", "ember", "fjord", "granite", "harbor", "indigo", "juniper", "krill", "lagoon",
    "maple", "nectar", "onyx", "pepper", "quartz", "raven", "saffron", "tundra", "umber", "velvet", "walnut", "yarrow",
    "atlas", "beacon", "canyon", "dynamo", "eclipse", "falcon", "glacier", "horizon", "island", "jigsaw", "kernel",
)  # fmt: skip
_DOINGS = (
    "warms the cache before the load test", "locks the parser version in the build", "asks legal before a term changes",
    "reads the rollback script before a release", "sorts the forecast by risk", "runs the migration on a copy first",
    "checks the budget in the middle of the quarter", "keeps the old index until the new one answers",
)  # fmt: skip


@dataclass(slots=True)
class NightMeasurement:
    """One size: seconds by step, of the idle second run, of reading every daily log, and the tokens of MEMORY.md.

    *share* is MEMORY.md's part of MEMORY.md, daily logs and archive. *share_all* is its part of these and the
    transcripts, in bytes.
    """

    sessions: int
    steps: dict[str, float] = field(default_factory=dict)
    night_s: float = 0.0
    idle_s: float = 0.0
    reading_all_s: float = 0.0
    tokens: int = 0
    entries: int = 0
    share: float = 0.0
    share_all: float = 0.0


def talk(number: int, chance: random.Random) -> list[Message]:
    """Return the turns of session *number*."""
    said = list(_said(number, chance))
    now = moment_of(number)
    rows = [("user", f"Let us look at {chance.choice(_WORDS)} {number} today, and at what is left of it.")]
    for at in range(TURNS - len(said) - 1):
        a, b, c, d = chance.sample(_WORDS, 4)
        took = f"took {chance.randrange(2, 90)} minutes and printed what we know about {d} since last week"
        rows.append(("assistant" if at % 2 == 0 else "user", f"I looked at {a} and {b}; the run for {c} {took}."))
    return [
        Message(session=name_of(number), id=f"m{n}", ts=(now + timedelta(seconds=20 * n)).isoformat(), role=role,
                content=content)
        for n, (role, content) in enumerate([*rows, *said])
    ]  # fmt: skip


def _said(number: int, chance: random.Random) -> Iterator[tuple[str, str]]:
    one, two = chance.sample(_WORDS, 2)
    topic = f"{one}-{two}-{number}"
    yield "assistant", f"Conclusion: {topic} is {number % 97} percent ready and waits for {chance.choice(_WORDS)}."
    if number % 3 == 0:
        yield "user", f"Decision: {_decision(number // 3, topic)}"
    if number % 2 == 0:
        recurring = number % 6 == 0
        what = f"team {chance.choice(_WORDS)} {chance.choice(_DOINGS)}" if recurring else f"{topic} needs {one}{number}"
        yield "assistant", f"Lesson: {what}."
    if number % 25 == 5:
        yield "user", f"No, {topic} is {number % 89} percent ready, not {number % 97} percent."
    if number % 100 == 9:
        yield "user", f"From now on always show {topic} first."


def _decision(number: int, topic: str) -> str:
    """Return a decision.

    One in five is about something new and lasts. The others are about a subject that is decided again.
    """
    if number % 5 == 0:
        return f"use {topic} for the new part."
    round_, subject = divmod(number, _SUBJECTS)
    name = f"{_WORDS[subject % len(_WORDS)]} {_WORDS[(subject // len(_WORDS) + 7) % len(_WORDS)]}"
    day, before = _DAYS[round_ % len(_DAYS)], _DAYS[(round_ - 1) % len(_DAYS)]
    return f"we deploy {name} on {day} instead of {before}." if round_ else f"we deploy {name} on {day}."


def name_of(number: int) -> str:
    return f"n{number:05d}"


def moment_of(number: int) -> datetime:
    """Return the start of session *number*: thirty a day, twenty minutes apart."""
    return START + timedelta(days=number // A_DAY, minutes=20 * (number % A_DAY))


def write_transcript(home: Home, number: int, chance: random.Random) -> tuple[list[Message], int]:
    """Write the session's transcript as an import leaves it. Return its messages and its size in bytes."""
    messages = talk(number, chance)
    lines = "".join(
        json.dumps({
            "session": m.session, "id": m.id, "ts": m.ts, "role": m.role, "name": "", "content": m.content,
            "source": m.origin,
        }) + "\n"
        for m in messages
    )  # fmt: skip
    path = home.sessions / f"{moment_of(number):%Y/%m}" / f"{name_of(number)}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines, "utf-8")
    return messages, len(lines.encode())


def grow(home: Home, first: int, last: int, chance: random.Random) -> None:
    """Let sessions *first* to *last* have been closed: transcripts, daily logs, MEMORY.md, a weekly look at age."""
    settings = DistillSettings()
    memory = parse(storage.read_text(home.root / MEMORY))
    taken = {entry.id for entry in memory.entries()}
    for day in range(first // A_DAY, (last - 1) // A_DAY + 1):
        numbers = range(max(first, day * A_DAY), min(last, (day + 1) * A_DAY))
        memory = _day(home, numbers, memory, taken, settings, chance)
        (home.root / MEMORY).write_text(memory.render(), "utf-8")
        _git(home, "add", "--all")
        _git(home, "-c", "gc.auto=0", "commit", "--quiet", "--no-verify", "-m", f"Day {day}")
        if day % 7 == 6:
            archive(home, now=START + timedelta(days=day, hours=14), apply=True, with_regret=False)
            memory = parse(storage.read_text(home.root / MEMORY))


def _day(
    home: Home, numbers: range, memory: Document, taken: set[str], settings: DistillSettings, chance: random.Random
) -> Document:
    """Write one day's sessions into its daily log and *memory*."""

    def fresh_id(prefix: str, seed: str) -> str:
        found = new_id(prefix, seed, taken)
        taken.add(found)
        return found

    texts: dict[str, str] = {}
    record = ""
    found: list[PromotionCandidate] = []
    for number in numbers:
        messages, size = write_transcript(home, number, chance)
        now = moment_of(number) + timedelta(hours=1)
        summary = compose(home, messages, [], settings=settings, models=NO_MODELS, now=now).summary
        closing = daily_log.Closing(
            session=name_of(number), date=messages[-1].ts[:10], time=messages[-1].ts[11:16], title=summary.title,
            first=1, last=len(messages), start=0, end=size,
        )  # fmt: skip
        record += json.dumps({"session": closing.session, "start": 0, "end": size}) + "\n"
        section = daily_log.render_closing(closing, render_body(summary, {}, settings.max_items))
        text = texts.get(closing.path) or storage.read_text(home.root / closing.path) or f"# {closing.date}\n"
        texts[closing.path] = f"{text.rstrip()}\n\n{section}"
        found += find_candidates(summary.items, {}, {m.source: m.origin for m in messages}, closing.date)
    placed = place_candidates(
        found, {MEMORY: memory}, new_id=fresh_id, address="",
        max_per_section=len(found),
    )  # fmt: skip
    with (home.machine / "closings.jsonl").open("a", encoding="utf-8") as file:
        file.write(record)
    for path, text in texts.items():
        (home.root / path).parent.mkdir(exist_ok=True)
        (home.root / path).write_text(text, "utf-8")
    return placed.documents[MEMORY]


def measure(home: Home, sessions: int, new: int, chance: random.Random) -> NightMeasurement:
    """Time a night's work on *new* waiting sessions in a home of *sessions*.

    The index has the words of the other sessions.
    """
    sync(home, RecallSettings(), None)
    for number in range(sessions, sessions + new):
        write_transcript(home, number, chance)
    now = moment_of(sessions + new - 1) + timedelta(hours=6)
    row = NightMeasurement(sessions=sessions)
    started = time.perf_counter()
    night, row.steps = _timed_night(home, now)
    between = time.perf_counter()
    ensure_fresh(home, RecallSettings(), None)
    row.steps["index"] = time.perf_counter() - between
    row.night_s = time.perf_counter() - started
    if len(night.sessions) != new or night.failed:
        raise SystemExit(f"the night closed {len(night.sessions)} of {new} sessions, {night.failed}")
    started = time.perf_counter()
    if not distill_home(home, now=now).idle:
        raise SystemExit("a second night found something to do")
    row.idle_s = time.perf_counter() - started
    started = time.perf_counter()
    for path in daily_log.daily_files(home):
        daily_log.parse_closings(storage.read_text(path), path.stem)
    row.reading_all_s = time.perf_counter() - started
    _sizes(home, row)
    return row


def _timed_night(home: Home, now: datetime) -> tuple[NightlyRun, dict[str, float]]:
    steps: dict[str, float] = defaultdict(float)
    last = [time.perf_counter()]

    def told(step: str, _done: int, _total: int) -> None:
        at = time.perf_counter()
        steps[step] += at - last[0]
        last[0] = at

    return distill_home(home, now=now, progress=told), dict(steps)


def _sizes(home: Home, row: NightMeasurement) -> None:
    text = storage.read_text(home.root / MEMORY)
    row.tokens, row.entries = count_tokens(text), sum(1 for _ in parse(text).entries())
    memory = len(text.encode())
    folders = ("DailyActivity", "Archive", "sessions")
    sizes = {name: sum(p.stat().st_size for p in (home.root / name).rglob("*") if p.is_file()) for name in folders}
    row.share = memory / (memory + sizes["DailyActivity"] + sizes["Archive"])
    row.share_all = memory / (memory + sum(sizes.values()))


def _git(home: Home, *arguments: str) -> None:
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    subprocess.run(["git", *identity, *arguments], cwd=home.root, check=True, capture_output=True)


def table(rows: Sequence[NightMeasurement], new: int) -> str:
    """Return one line for each size."""
    steps = list(dict.fromkeys(step for row in rows for step in row.steps))
    head = ["sessions", f"run with {new} new, s", *steps, "second run, s", "reading all daily logs, s",
            "entries, tokens", "MEMORY.md / all text", "MEMORY.md / all text and transcripts"]  # fmt: skip
    lines = [
        [str(row.sessions), f"{row.night_s:.1f}", *(f"{row.steps.get(step, 0):.1f}" for step in steps),
         f"{row.idle_s:.1f}", f"{row.reading_all_s:.1f}", f"{row.entries}, {row.tokens}", f"{row.share:.1%}",
         f"{row.share_all:.1%}"]
        for row in rows
    ]  # fmt: skip
    return markdown(head, lines, align="r" * len(head))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the curve. Return 0 when the largest home's night took under a minute and MEMORY.md holds under 5 %."""
    parser = argparse.ArgumentParser(prog="python -m bench.nightly", description="What a night costs as a home grows.")
    parser.add_argument("--sizes", default="300,1000,3000,10000", help="sessions at which a night is timed")
    parser.add_argument("--new", type=int, default=A_DAY, help="sessions that wait each time")
    parser.add_argument("--data", help="not used: everything is invented")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/nightly.md")
    options = parser.parse_args(arguments)
    rows: list[NightMeasurement] = []
    chance = random.Random(1)  # noqa: S311 - the same home each time
    with tempfile.TemporaryDirectory() as folder:
        home: Home = create(Path(folder) / "home", name="Nightly", now=START).home
        at = 0
        for size in map(int, options.sizes.split(",")):
            started = time.perf_counter()
            grow(home, at, size, chance)
            made: Any = f"{size} sessions made in {time.perf_counter() - started:.0f} s"
            rows.append(measure(home, size, options.new, chance))
            print(f"{made}; {rows[-1]}", file=sys.stderr, flush=True)
            at = size + options.new
    text = f"{table(rows, options.new)}\n\n{stamp('python -m bench.nightly')}"
    print(text)
    if options.write_docs:
        put(DOCS / "nightly.md", {"nightly": text})
    return int(rows[-1].night_s > 60 or rows[-1].share >= 0.05)


if __name__ == "__main__":
    sys.exit(main())
