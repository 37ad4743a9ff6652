"""``memory archive``."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from ..frame import Frame, home_command
from .sync import follow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distill import ArchiveReport

__all__ = ["archive"]

_MAX_TITLE_CHARS = 60


@home_command("archive")
@click.option("--apply", is_flag=True, help="Move them; without it nothing changes.")
def archive(frame: Frame, apply: bool) -> None:
    """Show what nobody refers to any more, and with --apply move it to Archive/, where search still finds it.

    Entries leave whose section lets them (lessons and recent context; open threads with a line "State: resolved";
    decisions that another one superseded) when nobody referred to them for 90 days (archive-after-days in [distill]),
    counted from their date or their last reference; and before that, the least fit first, when their section or the
    whole of MEMORY.md has no room (section-entries, room, memory-tokens). Preferences and corrections never leave, nor
    does an entry with a line "Protected: why". Daily logs leave when they are as old and all sessions in them are
    closed. `memory cite ID` keeps an entry, `memory restore ID` brings one back.

    Regret is the part of all archived entries that was wanted again: it says whether 90 days are too few.
    """
    from distill import archive as move

    home = frame.home
    found = move(home, now=frame.moment, apply=apply)
    problems = follow(home, frame) if found.commit else []
    for problem in problems:
        frame.warn(problem)
    frame.show({**_data(found, apply), "degraded": problems}, _lines(found, apply))


def _data(found: ArchiveReport, apply: bool) -> dict[str, Any]:
    rows = [dataclasses.asdict(candidate) for candidate in found.candidates]
    for row in rows:
        row["last_reference"] = row["last_reference"] or None
    return {
        "candidates": rows,
        "daily": list(found.daily),
        "settled": list(found.settled),
        "crowded": list(found.crowded),
        "examined": found.examined,
        "regret": {"archived": found.regret.archived, "wanted": found.regret.wanted, "rate": found.regret.rate},
        "applied": apply,
        "commit": found.commit,
    }


def _lines(found: ArchiveReport, apply: bool) -> Iterator[str]:
    verb = "archived" if apply else "would archive"
    yield f"{verb} {len(found.candidates)} of {found.examined} entries"
    for one in found.candidates:
        title = one.title if len(one.title) <= _MAX_TITLE_CHARS else f"{one.title[: _MAX_TITLE_CHARS - 1].rstrip()}…"
        yield f"  [{one.id}] {one.date} {title} ({one.reason})"
    if found.daily:
        what = "daily log" if len(found.daily) == 1 else "daily logs"
        yield f"{'moved' if apply else 'would move'} {len(found.daily)} {what}"
        yield from (f"  {path}" for path in found.daily)
    if found.settled:
        yield f"in memory and in the archive, {'now' if apply else 'to be left'} in one: {', '.join(found.settled)}"
    yield from (f"too full, with nothing in it that may leave: {what}" for what in found.crowded)
    regret = found.regret
    yield f"regret: {regret.wanted} of {regret.archived} archived entries were wanted again ({regret.rate:.1%})"
    if found.commit:
        yield f"commit {found.commit[:7]}"
    elif not apply and (found.candidates or found.daily or found.settled):
        yield "nothing was changed; `memory archive --apply` does it"
