"""Define ``memory remember``."""

from __future__ import annotations

import shlex
from datetime import date
from typing import TYPE_CHECKING

import click

from ...answers import remembered_answer
from ...indexing import index_changes
from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from distill.entries.notes import NoteType, Remembered

__all__ = ["remember"]

#: Types of a note, which ``distill.entries.notes`` maps to sections.
TYPES = ("preference", "decision", "lesson", "correction", "thread", "fact")


@home_command(
    "remember",
    examples=(
        ("Remember a fact", 'memory remember "Leo has a severe peanut allergy" --about Leo'),
        ("Remember how the user wants things", 'memory remember "Answer in German" --type preference'),
        ("Remember something for a while", 'memory remember "Ana is on leave" --until 2026-12-31'),
        ("Show how an entry would be replaced", 'memory remember "We meet on Friday" --replaces RC-7F3A --dry-run'),
    ),
)
@click.argument("text", metavar="TEXT")
@click.option(
    "--type", "kind", type=click.Choice(TYPES), help="Section of the entry (default: what the words of TEXT suggest)."
)
@click.option("--about", default="", metavar="WHO/WHAT", help="Person or thing that the entry is about.")
@click.option("--until", default="", metavar="DATE", help="Last day on which it holds, like 2026-12-31.")
@click.option("--replaces", default="", metavar="ID", help="Entry of MEMORY.md that it supersedes.")
@click.option("--by", type=click.Choice(["user", "agent"]), default="user", show_default=True, help="Who says it.")
@click.option("--dry-run", is_flag=True, help="Show the entry and write nothing.")
@click.pass_context
def remember(
    context: click.Context,
    invocation: Invocation,
    text: str,
    kind: NoteType | None,
    about: str,
    until: str,
    replaces: str,
    by: Literal["user", "agent"],
    dry_run: bool,
) -> None:
    """Write something to memory on purpose.

    TEXT becomes an entry of MEMORY.md in one commit, after the guard has screened it. A preference, decision or fact
    that it contradicts is superseded. A TEXT that an entry says already adds nothing, and counts as a use of that
    entry. An agent that notes something on its own adds --by agent. Such a note supersedes nothing of the user's.
    With --replaces, TEXT supersedes the entry ID, in the same section unless --type names another.

    An entry with --until leaves memory after that day. The exit code is 1 when the guard held the text back.
    """
    from distill.entries.notes import remember as write

    if not text.strip():
        raise click.UsageError("TEXT is empty. Write what to remember in quotation marks")
    last_day = _day(until, invocation) if until else ""
    home = invocation.home
    done = write(
        home, text, now=invocation.moment, kind=kind, about=about, until=last_day, replaces=replaces, origin=by,
        dry_run=dry_run,
    )  # fmt: skip
    problems = index_changes(home, invocation.warn) if done.commit else []
    for problem in problems:
        invocation.warn(problem)
    data = remembered_answer(done, problems, dry_run=dry_run)
    invocation.show(data, _lines(done, dry_run=dry_run))
    context.exit(FINDINGS if done.waits else 0)


def _day(text: str, invocation: Invocation) -> str:
    """Return *text* as an ISO date that is not over.

    Raises:
        BadParameter: it is none.
    """
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no date. Write it like 2026-12-31", param_hint="--until") from error
    if day < invocation.moment.date():
        raise click.BadParameter(f"{text} is in the past. Name today or a later day", param_hint="--until")
    return day.isoformat()


def _lines(done: Remembered, *, dry_run: bool) -> Iterator[str]:
    if done.known:
        yield f"[{done.id}] says that already, in {done.section}: {done.text}"
        yield from _superseded(done)
        return
    if done.quarantined:
        yield f"held back by the guard: {done.quarantined[0].reason}. `memory review list` shows it"
        return
    if done.waits:
        yield f"it would not be written: {done.waits}"
        return
    where = "dry run, nothing is written" if dry_run else f"commit {done.commit[:7]}" if done.commit else "unchanged"
    yield f"[{done.id}] {done.section}: {done.text} ({where})"
    yield from _superseded(done)
    for entry_id, text in done.doubted.items():
        yield f"  [{entry_id}] perhaps says the opposite, and stands: {text}"
        yield f"  if it is over: memory remember {shlex.quote(done.text)} --replaces {entry_id}"
    if done.forgotten:
        yield f"  {done.forgotten!r} was forgotten with `memory forget` and stays out of memory"
    elif done.redacted:
        yield f"  guard: {done.redacted} redacted"


def _superseded(done: Remembered) -> Iterator[str]:
    for link in done.superseded:
        yield f"  [{link.older}] is superseded by it: {link.reason}"
