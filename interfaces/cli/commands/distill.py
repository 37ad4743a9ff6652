"""``memory distill``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from ..frame import FINDINGS, Frame, exit_code, homes_command
from ..models import opened_models
from .sync import follow

if TYPE_CHECKING:
    from collections.abc import Callable

    from distill import NightlyRun

__all__ = ["distill"]

_COUNTED = ("sessions", "added", "merged", "superseded", "archived", "proposed")


@dataclass(slots=True, kw_only=True)
class _Done:
    """What came of one home: its night, or why there was none."""

    home: str
    night: NightlyRun | None = None
    error: str = ""
    degraded: list[str] = field(default_factory=list)


@homes_command("distill")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and to whom and why; change nothing.")
@click.pass_context
def distill(context: click.Context, frames: Sequence[Frame], dry_run: bool) -> None:
    """Do the night's work: everything that keeps memory small and true, in every home given.

    In each home: sessions that were never closed are closed; evidence is checked again where code moved; entries that
    say the same become one, contradicted ones are superseded; what nobody refers to goes to the archive; what recurring
    corrections call for is proposed; the catalogues and the index follow. What was done stands in
    ledger/nights/DATE.md, committed, in ids and numbers. A second run in the same night changes nothing. Run it from
    cron, on as many machines as you like: clones are merged by `git pull` entry by entry, see `memory merge-driver`.

    --dry-run looks at the home as it is: what the sessions that wait would bring is not counted. Exit code 1 when
    something failed or waits because the guard held it back; one home that fails does not stop the others.
    """
    with _bar(frames) as told:
        done = [_one(frame, told, apply=not dry_run, alone=len(frames) == 1) for frame in frames]
    for one in done:
        for problem in _problems(one):
            frames[0].warn(f"{one.home}: {problem}" if len(done) > 1 else problem)
    rows = [_data(one, dry_run=dry_run) for one in done]
    whole = {key: sum(row[key] for row in rows) for key in _COUNTED}
    report = rows[0]["report"] if len(rows) == 1 else [row["report"] for row in rows]
    frames[0].show({**whole, "report": report, "dry_run": dry_run, "homes": rows}, _lines(done, dry_run=dry_run))
    held = any(one.quarantined for o in done if o.night for one in o.night.closed)
    context.exit(FINDINGS if held or any(map(_problems, done)) else 0)


def _one(frame: Frame, told: Callable[[str, str, int, int], None], *, apply: bool, alone: bool) -> _Done:
    """The night of one home. What is expected to go wrong is told of, unless it is the only home."""
    from distill import distill_home

    name = frame.home_option or "."
    try:
        home = frame.home
        name = str(home.root)
        night = distill_home(
            home, now=frame.moment, models=opened_models(home, frame), apply=apply,
            progress=lambda step, at, total: told(name, step, at, total),
        )  # fmt: skip
        degraded = follow(home, frame) if apply and night.commits else []
        return _Done(home=name, night=night, degraded=degraded)
    except Exception as error:
        if alone or exit_code(error) is None:  # a defect is no home's fault: it ends the command, and is reported
            raise
        return _Done(home=name, error=" ".join(str(error).split()))


@contextmanager
def _bar(frames: Sequence[Frame]) -> Iterator[Callable[[str, str, int, int], None]]:
    """Progress as a bar on standard error, a line for each step; nothing where that is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _home, _step, _at, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:

        def told(home: str, step: str, at: int, total: int) -> None:
            line = f"{home} {step}" if len(frames) > 1 else step
            task = tasks.get(line)
            if task is None:
                task = tasks[line] = progress.add_task(line, total=total)
            progress.update(task, completed=at, total=total)

        yield told


def _problems(one: _Done) -> list[str]:
    failed = [f"{failure.session}: {failure.error}" for failure in one.night.failed] if one.night else []
    return [*([one.error] if one.error else []), *failed, *one.degraded]


def _data(one: _Done, *, dry_run: bool) -> dict[str, Any]:
    night = one.night
    if night is None:
        return {"home": one.home, **dict.fromkeys(_COUNTED, 0), "report": "", "failed": [one.error]}
    return {
        "home": one.home,
        **{key: len(getattr(night, key)) for key in _COUNTED},
        "report": night.report,
        "dry_run": dry_run,
        "session_ids": list(night.sessions),
        "added_ids": list(night.added),
        "merged_links": [{"older": o.older, "newer": o.newer, "reason": o.reason} for o in night.merged],
        "superseded_links": [{"older": o.older, "newer": o.newer, "reason": o.reason} for o in night.superseded],
        "archived_entries": [{"id": o.id, "reason": o.reason, "age_days": o.age_days} for o in night.archived],
        "archived_days": list(night.archived_days),
        "evidence": [{"id": o.id, "was": o.was, "now": o.now, "line": o.line} for o in night.rechecked],
        "settled": list(night.settled),
        "proposals": [{"id": o.id, "kind": o.kind, "reason": o.reason} for o in night.proposed],
        "failed": _problems(one),
        "commits": list(night.commits),
    }


def _lines(done: Sequence[_Done], *, dry_run: bool) -> Iterator[str]:
    for one in done:
        night = one.night
        lead = f"{one.home}: " if len(done) > 1 else ""
        if night is None:
            yield f"{lead}nothing was done"
            continue
        counts = ", ".join(f"{len(getattr(night, key))} {key}" for key in _COUNTED)
        yield f"{lead}{'would be: ' if dry_run else ''}{'nothing to do' if night.idle else counts}"
        yield from _named(night)
        if night.report and not dry_run:
            yield f"  report: {night.report}"
        if dry_run and not night.idle:
            yield "  nothing was changed; `memory distill` does it"


def _named(night: NightlyRun) -> Iterator[str]:
    """Who and why."""
    for session in night.sessions:
        yield f"  close {session}"
    for link in night.merged:
        yield f"  [{link.newer}] {f'takes in {link.older}: ' if link.older else ''}{link.reason}"
    for link in night.superseded:
        yield f"  [{link.older}] superseded by {link.newer}{f': {link.reason}' if link.reason else ''}"
    for checked in night.rechecked:
        yield f"  [{checked.id}] {checked.was} -> {checked.line}"
    for candidate in night.archived:
        yield f"  [{candidate.id}] to the archive: {candidate.reason}"
    for path in night.archived_days:
        yield f"  {path} to the archive"
    for entry_id in night.settled:
        yield f"  [{entry_id}] stood in memory and in the archive"
    for proposal in night.proposed:
        yield f"  [{proposal.id}] proposed as {proposal.kind}: {proposal.reason}"
