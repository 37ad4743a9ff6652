"""Define ``memory distill``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from ...counts import counted
from ..exit_codes import FINDINGS, exit_code
from ..invocation import Invocation, homes_command
from ..progress import ProgressMeter
from ..surroundings import surroundings

if TYPE_CHECKING:
    from collections.abc import Callable

    from distill.nightly import NightlyRun

__all__ = ["distill"]

_COUNTED = ("sessions", "added", "merged", "superseded", "archived", "proposed")


@dataclass(slots=True, kw_only=True)
class _HomeResult:
    """Result of one home: its nightly run, or the error that prevented it."""

    home: str
    night: NightlyRun | None = None
    error: str = ""
    degraded: list[str] = field(default_factory=list)


@homes_command(
    "distill",
    examples=(
        ("Run the maintenance of this home", "memory distill"),
        ("Show what it would do and why", "memory distill --dry-run"),
        ("Maintain two homes, for example from cron", "memory distill --home ~/agent --home ~/work-agent"),
    ),
)
@click.option("--dry-run", is_flag=True, help="Show what would change and why, and change nothing.")
@click.pass_context
def distill(context: click.Context, invocations: Sequence[Invocation], dry_run: bool) -> None:
    """Run the nightly maintenance.

    The maintenance keeps memory small and true, in every home given. It closes sessions with new turns. It checks
    evidence again where code moved. It merges entries that say the same and supersedes contradicted ones. It archives
    entries that nobody refers to, and proposes rules for recurring corrections. Catalogues and index follow. The
    report, in ids and numbers, is committed as ledger/nights/DATE.md. A second run in the same night changes nothing.
    Run it from cron on as many machines as you like: `git pull` merges clones entry by entry (see
    `memory merge-driver`).

    --dry-run shows the home as it is, without the entries that unclosed sessions would add. The exit code is 1 when
    something failed or the guard quarantined a text. A home that fails does not stop the others.
    """
    progress, alone = _progress(len(invocations)), len(invocations) == 1
    results = [_maintain(invocation, progress, apply=not dry_run, alone=alone) for invocation in invocations]
    for result in results:
        for problem in _problems(result):
            invocations[0].warn(f"{result.home}: {problem}" if len(results) > 1 else problem)
    rows = [_data(result, dry_run=dry_run) for result in results]
    totals = {key: sum(row[key] for row in rows) for key in _COUNTED}
    report = rows[0]["report"] if len(rows) == 1 else [row["report"] for row in rows]
    invocations[0].show(
        {**totals, "report": report, "dry_run": dry_run, "homes": rows}, _lines(results, dry_run=dry_run)
    )
    quarantined = any(closed.quarantined for home in results if home.night for closed in home.night.closed)
    context.exit(FINDINGS if quarantined or any(map(_problems, results)) else 0)


def _maintain(
    invocation: Invocation, progress: Callable[[str, str, int, int], None], *, apply: bool, alone: bool
) -> _HomeResult:
    """Run the maintenance of one home. An expected error is returned, unless this is the only home."""
    from ...nightly_run import maintain

    name = invocation.home_option or "."
    try:
        home = invocation.home
        name = str(home.root)
        night, degraded = maintain(
            home, now=invocation.moment, environ=surroundings().environ, warn=invocation.warn, apply=apply,
            progress=lambda step, at, total: progress(name, step, at, total),
        )  # fmt: skip
        return _HomeResult(home=name, night=night, degraded=degraded)
    except Exception as error:
        if alone or exit_code(error) is None:  # a defect of the program ends the command
            raise
        return _HomeResult(home=name, error=" ".join(str(error).split()))


def _progress(homes: int) -> Callable[[str, str, int, int], None]:
    """Return what says on a terminal how far each step is."""
    meter = ProgressMeter()
    return lambda home, step, at, total: meter(f"{home} {step}" if homes > 1 else step, at, total)


def _problems(result: _HomeResult) -> list[str]:
    failed = [f"{failure.session}: {failure.error}" for failure in result.night.failed] if result.night else []
    return [*([result.error] if result.error else []), *failed, *result.degraded]


def _data(result: _HomeResult, *, dry_run: bool) -> dict[str, Any]:
    night = result.night
    if night is None:
        return {"home": result.home, **dict.fromkeys(_COUNTED, 0), "report": "", "failed": [result.error]}
    return {
        "home": result.home,
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
        "failed": _problems(result),
        "commits": list(night.commits),
        "packed": night.packed,
        "pruned": list(night.pruned),
    }


def _lines(results: Sequence[_HomeResult], *, dry_run: bool) -> Iterator[str]:
    for result in results:
        night = result.night
        lead = f"{result.home}: " if len(results) > 1 else ""
        if night is None:
            yield f"{lead}nothing was done"
            continue
        counts = ", ".join(
            counted(len(getattr(night, key)), "session") if key == "sessions" else f"{len(getattr(night, key))} {key}"
            for key in _COUNTED
        )
        yield f"{lead}{'Dry run: ' if dry_run else ''}{'nothing to do' if night.idle else counts}"
        yield from _named(night)
        if night.pruned:
            yield f"  {'would drop' if dry_run else 'dropped'} {len(night.pruned)} old outputs of tools"
        if night.packed:
            yield f"  {'would pack ' if dry_run else ''}git: {night.packed}"
        if night.report and not dry_run:
            yield f"  report: {night.report}"
        if dry_run and not night.idle:
            yield "  Nothing was changed. Run `memory distill` to do it"


def _named(night: NightlyRun) -> Iterator[str]:
    """Yield the sessions and entries that changed, each with the reason."""
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
        yield f"  [{entry_id}] was in both memory and archive"
    for proposal in night.proposed:
        yield f"  [{proposal.id}] proposed as {proposal.kind}: {proposal.reason}"
