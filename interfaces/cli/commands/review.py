"""``memory review``: what waits for a person."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..frame import Frame, options
from ..person import person_option, the_person
from .sync import follow

if TYPE_CHECKING:
    from distill.review.queue import ReviewItem, ReviewOutcome
    from distill.statements.risk import Risk

__all__ = ["printable", "review"]


@click.group("review", invoke_without_command=True)
@options
@click.pass_context
def review(context: click.Context, frame: Frame) -> None:
    """Decide about what waits for a person: proposed entries, and texts that the guard held back.

    `list`, or no command at all, names what waits, `show ID` says what it is, where it comes from and why it waits,
    `accept ID` writes it where it was meant to stand, `reject ID` forgets it, so that the same is never brought up
    again.

    Decisions are a person's: they are taken at a terminal, or with --as PERSON. The name is recorded in the commit and
    in the audit, and must not be the one that proposed the text.
    """
    if context.invoked_subcommand is None:
        _list(frame)
    elif frame.home_option or frame.as_json:
        raise click.UsageError(f"options were given to `review`; write them after `{context.invoked_subcommand}`")


@review.command("list")
@options
def list_(frame: Frame) -> None:
    """Print what waits, the oldest first: id, risk, kind, place, and the beginning of the text."""
    _list(frame)


def _list(frame: Frame) -> None:
    from agent_home.screening.quarantine import unreadable
    from distill.review.queue import waiting

    found = waiting(frame.home, frame.moment)
    for problem in unreadable(frame.home):
        frame.warn(str(problem))
    lines = [_line(item) for item in found] or ["nothing waits"]
    frame.show({"proposals": [_row(item) for item in found]}, lines)


@review.command("show")
@click.argument("waiting_id", metavar="ID")
@options
def show(frame: Frame, waiting_id: str) -> None:
    """Print what waits as ID: its text, where it is meant to stand, who said it and why it waits.

    Characters that a terminal hides or obeys are shown as escapes.
    """
    from distill.errors import NotPlaceable
    from distill.review.queue import find, plan

    item = find(frame.home, waiting_id, frame.moment)
    try:
        diff = plan(frame.home, item).diff
    except NotPlaceable as error:
        diff = (f"({error})",)
    frame.show({"proposals": [{**_row(item), "diff": list(diff)}]}, _shown(item, diff))


@review.command("accept")
@click.argument("ids", metavar="[ID...]", nargs=-1)
@click.option("--tier", type=click.Choice(["low", "medium", "high"]), help="Every proposal of this risk or less.")
@click.option("--as-is", "form", flag_value="as-is", help="Store a held-back text as it waits (the default).")
@click.option("--redacted", "form", flag_value="redacted", help="Take out the sentences that the guard objects to.")
@click.option("--dry-run", is_flag=True, help="Print what would be written, and write nothing.")
@person_option
@options
def accept(
    frame: Frame, ids: Sequence[str], tier: Risk | None, form: str | None, dry_run: bool, person: str
) -> None:  # fmt: skip
    """Write what waits as ID where it was meant to stand: one commit for each, in the name of the person who accepts.

    A secret never comes back: quarantine keeps texts with their secrets redacted. What was accepted as it is passes the
    guard from then on, wherever it stands. --tier takes every proposal up to a risk at once; texts that the guard held
    back are never among them.
    """
    from distill.review.queue import accept as accept_one
    from distill.review.queue import find, plan, up_to_risk, waiting

    if bool(ids) == (tier is not None):
        raise click.UsageError("name what to accept by ID, or give --tier for all proposals up to a risk")
    home, now = frame.home, frame.moment
    items = up_to_risk(waiting(home, now), tier) if tier else [find(home, waiting_id, now) for waiting_id in ids]
    if form and any(item.kind == "proposal" for item in items):
        raise click.UsageError("--as-is and --redacted are for texts that the guard held back; edit a proposal instead")
    if dry_run:
        done = [plan(home, item, form=_form(form)) for item in items]
    else:
        decider = the_person(frame, person)
        done = [accept_one(home, item, person=decider, now=now, form=_form(form)) for item in items]
    _finish(frame, done)


@review.command("edit")
@click.argument("waiting_id", metavar="ID")
@click.option("--text", required=True, help="What it is to say instead.")
@person_option
@options
def edit(frame: Frame, waiting_id: str, text: str, person: str) -> None:
    """Let the proposal ID say something else. It still waits, and git's word on the old text counts no more."""
    from distill.review.queue import edit as edit_one
    from distill.review.queue import find

    item = find(frame.home, waiting_id, frame.moment)
    decider = the_person(frame, person)
    _finish(frame, [edit_one(frame.home, item, text, person=decider, now=frame.moment)])


@review.command("reject")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@person_option
@options
def reject(frame: Frame, ids: Sequence[str], person: str) -> None:
    """Forget what waits as ID. A digest of it stays, in git: the same text never waits again, on any clone."""
    from distill.review.queue import find
    from distill.review.queue import reject as reject_one

    home, now = frame.home, frame.moment
    items = [find(home, waiting_id, now) for waiting_id in ids]
    decider = the_person(frame, person)
    _finish(frame, [reject_one(home, item, person=decider, now=now) for item in items])


def printable(text: str) -> str:
    """*text* with every character as an escape that a terminal would hide or obey; line ends stay."""
    return "".join(char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in text)


def _form(given: str | None) -> Any:
    return given or "as-is"


def _finish(frame: Frame, done: Sequence[ReviewOutcome]) -> None:
    problems = follow(frame.home, frame) if any(one.commit for one in done) else ()
    for problem in problems:
        frame.warn(problem)
    rows = [_decided_row(one) for one in done]
    commit = next((one.commit for one in reversed(done) if one.commit), None)
    frame.show({"proposals": rows, "commit": commit, "degraded": list(problems)}, _decided_lines(done))


def _row(item: ReviewItem) -> dict[str, Any]:
    return {**dataclasses.asdict(item), "findings": [dict(finding) for finding in item.findings]}


def _decided_row(one: ReviewOutcome) -> dict[str, Any]:
    return {
        **_row(one.item), "action": one.action, "person": one.person, "text": one.text or one.item.text,
        "path": one.path, "section": one.section or one.item.section, "entry": one.entry or None,
        "commit": one.commit, "diff": list(one.diff),
    }  # fmt: skip


def _line(item: ReviewItem) -> str:
    place = f"{item.path} / {item.section}" if item.section else item.path
    text = printable(" ".join(item.text.split()))
    return f"{item.id}  {item.risk:6}  {item.kind:10}  {place}: {text[:80]}{'…' if len(text) > 80 else ''}"


def _shown(item: ReviewItem, diff: Sequence[str]) -> Iterator[str]:
    yield f"{item.id}  {item.kind}, risk {item.risk}"
    for name, value in (
        ("place", f"{item.path} / {item.section}" if item.section else item.path),
        ("waits", item.reason or "its section is reviewed before it is committed"),
        ("said by", item.origin),
        ("written by", item.actor),
        ("session", item.session),
        ("source", item.source),
        ("evidence", item.evidence),
        ("since", item.ts),
    ):
        if value:
            yield f"  {name + ':':12}{printable(value)}"
    yield ""
    for line in item.text.rstrip("\n").split("\n"):
        yield f"    {printable(line)}"
    yield ""
    for line in diff:
        yield printable(line)


def _decided_lines(done: Sequence[ReviewOutcome]) -> Iterator[str]:
    for one in done:
        commit = f", commit {one.commit[:7]}" if one.commit else ""
        entry = f" as [{one.entry}]" if one.entry else ""
        yield f"{one.item.id}: {one.action}{entry}, {one.path}{commit}"
        if one.action in {"would accept", "edited"}:
            yield from (printable(line) for line in one.diff)
