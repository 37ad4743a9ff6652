"""``memory verify``."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from ..frame import FINDINGS, Frame, home_command
from .sync import follow

if TYPE_CHECKING:
    from distill import Verification

__all__ = ["verify"]

_MAX_TITLE_CHARS = 60


@home_command("verify")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="Ask about every entry, also where no repository moved.")
@click.option("--apply", is_flag=True, help="Write what changed; without it nothing changes.")
@click.pass_context
def verify(context: click.Context, frame: Frame, ids: tuple[str, ...], everything: bool, apply: bool) -> None:
    """Ask git again about the work that entries of MEMORY.md claim, where the code has moved on since.

    An entry that git confirmed once and confirms no longer (its file was deleted, its commit reverted or rewritten, its
    function gone) is marked stale, with the reason, on its line "Evidence:"; an entry that git confirms by now is
    marked verified. Where git gives no answer, where a repository or a transcript is not on this machine, and where a
    repository has another branch checked out, the line stays as it is.

    Only entries are asked about whose repositories have a new HEAD, branch or tag since the last `memory verify
    --apply`; --all asks about every entry, and IDs about just these. Exit code 1 when an entry holds no longer.
    """
    from distill import verify as ask

    home = frame.home
    wanted = [name.strip().strip("[]").upper() for name in ids]
    found = ask(home, wanted, now=frame.moment, everything=everything, apply=apply, progress=_progress(frame))
    problems = follow(home, frame) if found.commit else []
    for problem in problems:
        frame.warn(problem)
    data = {
        "entries": [{**dataclasses.asdict(one), "changed": bool(one.line)} for one in found.entries],
        "checked": len(found.entries),
        "unmoved": found.unmoved,
        "applied": apply,
        "commit": found.commit,
        "degraded": problems,
    }
    frame.show(data, _lines(found, apply))
    context.exit(FINDINGS if any(one.fell for one in found.entries) else 0)


def _progress(frame: Frame) -> Callable[[str, int, int], None]:
    def show(entry_id: str, number: int, total: int) -> None:
        if total > 1 and sys.stderr.isatty():
            frame.warn(f"asking git, {number} of {total}: {entry_id}")

    return show


def _lines(found: Verification, apply: bool) -> Iterator[str]:
    yield f"asked about {len(found.entries)} entries, {found.unmoved} have not moved"
    for one in found.entries:
        title = one.title if len(one.title) <= _MAX_TITLE_CHARS else f"{one.title[: _MAX_TITLE_CHARS - 1].rstrip()}…"
        if one.line:
            yield f"  [{one.id}] {title}: {one.was} -> {one.line}"
        elif one.now == "unchecked":
            yield f"  [{one.id}] {title}: left {one.was}, {one.detail or 'nobody can say'}"
    if found.commit:
        yield f"commit {found.commit[:7]}"
    elif found.changed and not apply:
        yield "nothing was changed; `memory verify --apply` does it"
