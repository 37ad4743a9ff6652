"""Simulate a year of sessions: ``python -m bench.year [--sessions 300] [--seed 1]``.

The run checks that memory stays small, that only unused entries leave, and that they are found again. It makes a home
in a temporary folder. Its clock runs as fast as the sessions are closed. The sessions hold topics that recur and topics
that do not, reversed decisions, corrections, citations and protected entries. Each month somebody restores an archived
entry, and old entries are archived. The expected archive is computed a second time from the plan alone.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent_home import storage
from agent_home.creation import create
from agent_home.documents import check
from agent_home.documents.document import parse
from agent_home.documents.entry import superseded_by
from agent_home.home import MEMORY, Home
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from agent_home.store.transcript import Message
from agent_home.tokens import count_tokens
from distill.close import close
from distill.entries.citation import cite, restore
from distill.entries.decay import archive
from distill.entries.regret import Regret, measure_regret
from recall.index.sync import sync
from recall.search.hybrid import search
from recall.settings import RecallSettings

__all__ = ["CAP_TOKENS", "Year", "main", "simulate"]

#: Cap on the tokens of memory at any time: the whole budget of a model with a window of 64 000 tokens.
CAP_TOKENS = 30_000
START = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)
AGE_DAYS = 90
_RECURRING = (
    "check the budget state in the middle of the quarter", "run the migration on a copy before the real table",
    "ask legal before a contract term is changed", "lock the parser version in the build",
    "sort the forecast by risk and not by size", "warm the cache before the load test",
    "滑单要在季度中间就检查预算状态", "发布之前先看一遍回滚脚本",
)  # fmt: skip
_WORDS = (
    "amber", "basalt", "cedar", "delta", "ember", "fjord", "granite", "harbor", "indigo", "juniper", "krill", "lagoon",
    "maple", "nectar", "onyx", "pepper", "quartz", "raven", "saffron", "tundra", "umber", "velvet", "walnut", "yarrow",
)  # fmt: skip
#: Who says it first, what, and with what the user takes it back two months later: words that name what they replace,
#: another day, another preference, a correction, in English and Chinese.
_REVERSED = (
    ("user", "Decision: we deploy billing on Monday.", "Decision: we deploy billing on Thursday instead of Monday."),
    ("user", "Decision: search is deployed on Tuesdays.", "Decision: search is deployed on Fridays."),
    ("user", "From now on always answer in English.", "From now on always answer in German."),
    ("assistant", "Conclusion: the intake is at 40 percent.", "No, the intake is at 55 percent, not 40 percent."),
    ("user", "决定:周会定在星期二。", "决定:周会定在星期四。"),
    ("user", "决定:缓存放在内存里。", "决定:缓存从内存改为磁盘。"),
)
#: Date that a closing adds to a weekday.
_DATE = re.compile(r"\s?[(（]\d{4}-\d{2}-\d{2}[)）]")
#: Days of the year on which they are first said, and on which their replacements are said.
_FIRST, _LATER = 0.2, 0.4


@dataclass(slots=True)
class Year:
    """The result of a simulated year.

    *wrongly_archived*, *left_behind*, *not_found* and *not_exact* are ids and should be empty. *tokens* is the size of
    MEMORY.md after each session. *everything* is its size if no entry ever left.
    """

    home: Home
    tokens: list[int] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)
    wrongly_archived: list[str] = field(default_factory=list)
    left_behind: list[str] = field(default_factory=list)
    not_found: list[str] = field(default_factory=list)
    not_exact: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    everything: int = 0
    days_archived: int = 0
    taken_back: int = 0
    superseded: int = 0
    regret: Regret = field(default_factory=Regret)
    seconds: float = 0.0


@dataclass(slots=True)
class _Plan:
    """The simulation's own record: when each entry was last written, restated, quoted, cited or restored."""

    chance: random.Random
    sessions: int
    touched: dict[str, datetime] = field(default_factory=dict)
    protected: set[str] = field(default_factory=set)
    cited: list[str] = field(default_factory=list)


def simulate(root: Path, *, sessions: int, seed: int = 1) -> Year:
    """Simulate a year of *sessions* sessions in a new home at *root*. The same seed gives the same year."""
    started = time.perf_counter()
    year = Year(home=create(root, name="Year", now=START).home)
    plan = _Plan(sessions=sessions, chance=random.Random(seed))  # noqa: S311 - a plan that can be repeated
    month = START.month
    for number in range(sessions):
        now = START + timedelta(days=364 * number / sessions)
        if now.month != month:
            month = now.month
            _month_end(year, plan, now)
        _session(year, plan, number, now)
        year.tokens.append(count_tokens(storage.read_text(year.home.root / MEMORY)))
    _month_end(year, plan, START + timedelta(days=365))
    _look_back(year)
    year.seconds = time.perf_counter() - started
    return year


def _session(year: Year, plan: _Plan, number: int, now: datetime) -> None:
    """Say something, close, and sometimes cite or protect what is there."""
    session = f"s{number:04d}"
    rows = list(_talk(plan, number))
    messages = [
        Message(session=session, id=f"m{n}", ts=(now + timedelta(minutes=n)).isoformat(), role=role, content=content)
        for n, (role, content) in enumerate(rows)
    ]
    later = now + timedelta(hours=1)
    transcript.append(year.home, session, messages, actor="year", now=now)
    closed = close(year.home, session, now=later)
    for entry in (*closed.entries, *closed.merged):
        plan.touched[entry.id] = now
    for quoted in plan.cited:
        if any(quoted in content for role, content in rows if role == "assistant"):
            plan.touched[quoted] = now
    lessons = [entry.id for entry in closed.entries if entry.id.startswith("LL")]
    if lessons and number % 15 == 3:
        plan.cited.append(lessons[0])
    if lessons and number % 20 == 7:
        _protect(year.home, lessons[0], later)
        plan.protected.add(lessons[0])
    if plan.cited and number % 4 == 0:
        _cite(year, plan, plan.chance.choice(plan.cited), later)


def _talk(plan: _Plan, number: int) -> Iterator[tuple[str, str]]:
    chance = plan.chance
    # With hyphens it would look like a generated passphrase, and the guard redacts some of those.
    topic = f"{chance.choice(_WORDS).title()} {chance.choice(_WORDS)} {number}"
    yield "user", f"Let us look at {topic} today."
    yield "assistant", f"Lesson: {topic} needs {chance.choice(_WORDS)} before {chance.choice(_WORDS)}{number}."
    yield (
        "assistant",
        f"Conclusion: {topic} is {number} percent ready and waits for {chance.choice(_WORDS)}.",
    )
    if number % 3 == 0:
        yield "user", f"Decision: use {chance.choice(_WORDS)}{number} for {topic}."
    if number % 2 == 0:
        yield "assistant", f"Lesson: {chance.choice(_RECURRING)}."
    if number % 10 == 5:
        yield "user", f"No, {topic} is {number + 7} percent ready, not {number} percent."
    if number % 25 == 9:
        yield "user", f"From now on always show {topic} first."
    if plan.cited and number % 6 == 1:
        yield "assistant", f"As {chance.choice(plan.cited)} says, we have been here before."
    for place, (speaker, first, later) in enumerate(_REVERSED):
        if number == int(plan.sessions * _FIRST) + place:
            yield speaker, first
        if number == int(plan.sessions * _LATER) + place:
            yield "user", later


def _cite(year: Year, plan: _Plan, entry_id: str, now: datetime) -> None:
    cite(year.home, [entry_id], now=now)
    plan.touched[entry_id] = now


def _protect(home: Home, entry_id: str, now: datetime) -> None:
    with transaction(home, actor="year", message=f"Protect {entry_id}", source="user", now=now) as edits:
        memory = edits.read(MEMORY)
        entry = memory.entry(entry_id)
        if entry is not None:
            fields = {**entry.fields, "Protected": "named by the plan"}
            edits.write(MEMORY, memory.with_entry_changed(entry.changed(fields=fields)))


def _month_end(year: Year, plan: _Plan, now: datetime) -> None:
    """Archive, compare with the plan, and sometimes want one of the archived back."""
    before = {entry.id: entry.raw for entry in parse(storage.read_text(year.home.root / MEMORY)).entries()}
    superseded = superseded_by(parse(storage.read_text(year.home.root / MEMORY)).entries())
    expected = {
        entry_id
        for entry_id in before
        if (entry_id[:2] in {"LL", "RC"} or (entry_id.startswith("KD") and entry_id in superseded))
        and entry_id not in plan.protected
        and (now.date() - plan.touched[entry_id].date()).days >= AGE_DAYS
    }
    done = archive(year.home, now=now, apply=True)
    moved = {candidate.id for candidate in done.candidates}
    year.archived += sorted(moved)
    year.days_archived += len(done.daily)
    year.wrongly_archived += sorted(moved - expected)
    year.left_behind += sorted(expected - moved)
    for entry_id in sorted(moved)[:: max(1, len(moved))]:
        text = restore(year.home, entry_id, now=now).text
        plan.touched[entry_id] = now
        if text != before[entry_id]:
            year.not_exact.append(entry_id)


def _look_back(year: Year) -> None:
    """Search everything that left by its words and return the result of the year."""
    sync(year.home, RecallSettings(), None)
    live = {entry.id for entry in parse(storage.read_text(year.home.root / MEMORY)).entries()}
    everything = storage.read_text(year.home.root / MEMORY)
    for path in check.entry_files(year.home):
        if not path.startswith("Archive/"):
            continue
        text = storage.read_text(year.home.root / path)
        everything += text
        for entry in parse(text).entries():
            hits = search(
                year.home, entry.text, settings=RecallSettings(), k=10, mode="lexical", layers=["archive"]
            ).hits
            if f"{path}#{entry.id}" not in {source for hit in hits for source in (hit.source, *hit.also)}:
                year.not_found.append(entry.id)
            if entry.id in live:
                year.problems.append(f"{entry.id} is live and archived")
    year.everything = count_tokens(everything)
    year.problems += [f"{problem.file}:{problem.line} {problem.rule}" for problem in check.problems(year.home)]
    year.regret = measure_regret(year.home.root)
    year.taken_back, year.superseded = _reversed(everything)


def _reversed(everything: str) -> tuple[int, int]:
    """Count the planted statements that were reversed, and those of them that an entry marks as superseded."""
    entries = list(parse(everything).entries())
    superseded = superseded_by(entries)
    planted = [re.split(r": |:|From now on ", first)[-1].rstrip(".。") for _, first, _ in _REVERSED]
    said = {entry.id: _DATE.sub("", entry.text).casefold().rstrip(".。") for entry in entries}
    older = [name for name, text in said.items() if any(text.endswith(one.casefold()) for one in planted)]
    return len(older), sum(1 for entry_id in older if entry_id in superseded)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the year. Return 0 when nothing went wrong and memory stayed under its cap."""
    parser = argparse.ArgumentParser(prog="python -m bench.year", description="A simulated year of sessions.")
    parser.add_argument("--sessions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        year = simulate(Path(folder) / "home", sessions=options.sessions, seed=options.seed)
    wrong = {
        "wrongly archived": year.wrongly_archived, "left behind": year.left_behind, "not found": year.not_found,
        "not exact": year.not_exact, "problems": year.problems,
    }  # fmt: skip
    print(f"| sessions | {len(year.tokens)} |\n|---|---|")
    print(f"| MEMORY.md, tokens at most (cap {CAP_TOKENS}) | {max(year.tokens)} |")
    print(f"| MEMORY.md at the end, and if nothing had left | {year.tokens[-1]}, {year.everything} |")
    print(f"| entries archived, daily logs archived | {len(year.archived)}, {year.days_archived} |")
    print(f"| {', '.join(wrong)} | {', '.join(str(len(found)) for found in wrong.values())} |")
    print(
        f"| regret: wanted again of archived | {year.regret.wanted} of {year.regret.archived}, {year.regret.rate:.1%} |"
    )
    print(f"| reversed statements, of them superseded | {year.taken_back}, {year.superseded} |")
    print(f"| seconds | {year.seconds:.0f} |")
    for name, found in wrong.items():
        if found:
            print(f"{name}: {', '.join(found[:10])}", file=sys.stderr)
    return int(any(wrong.values()) or max(year.tokens) > CAP_TOKENS or year.superseded < year.taken_back)


if __name__ == "__main__":
    sys.exit(main())
