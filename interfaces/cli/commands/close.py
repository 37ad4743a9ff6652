"""Define ``memory close``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from ...answers import closed_all_answer, closed_answer
from ...indexing import index_changes
from ..completion import sessions
from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command
from ..progress import ProgressMeter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_home.home import Home
    from distill.closing_result import ChangedEntry, Closed, ClosingFailure

__all__ = ["close"]

#: How a line names what became of an entry.
_PAST = {"resolve": "resolved", "retract": "retracted", "supersede": "superseded", "revise": "revised"}


@home_command(
    "close",
    examples=(
        ("Close one session", "memory close s-1a2b"),
        ("Close every session with new turns, oldest first", "memory close --all"),
        ("Close a session again after its commit was reverted", "memory close s-1a2b --again"),
    ),
)
@click.argument("session", required=False, shell_complete=sessions)
@click.option("--all", "every", is_flag=True, help="Close every session with new turns, oldest first.")
@click.option("--again", is_flag=True, help="Close turns again whose closing was reverted in git.")
@click.pass_context
def close(context: click.Context, invocation: Invocation, session: str | None, every: bool, again: bool) -> None:
    """Turn finished sessions into memory.

    Closing SESSION writes a section of the daily log and entries of MEMORY.md in one commit. Claims about commits,
    files and symbols are checked against the git repositories that the session worked in. Claims that git contradicts
    stay in the daily log, marked. Closing a session again adds only its new turns. A closing that was undone with
    `git revert` stays undone on this machine, unless --again is given. The exit code is 1 when the guard quarantined a
    text, or when a session of --all could not be closed or the transcripts of closed sessions are missing.
    """
    from agent_home.store.machine_state import drop_expired
    from distill.close import close as close_one
    from distill.close import close_all

    if every == (session is not None):
        raise click.UsageError("name one SESSION, or give --all for every session with new turns")
    if every and again:
        raise click.UsageError("--again applies to one SESSION. Name it instead of --all")
    home = invocation.home
    failed: Sequence[ClosingFailure] = ()
    absent = ""
    meter = ProgressMeter()
    if every:
        done = close_all(
            home,
            now=invocation.moment,
            models=invocation.models(home),
            progress=lambda session, number, total: meter("sessions closed", number - 1, total, note=session),
        )
        closed, failed, absent = done.closed, done.failed, done.absent
    else:
        drop_expired(home, invocation.moment)
        closed = (
            close_one(
                home,
                session or "",
                now=invocation.moment,
                models=invocation.models(home),
                again=again,
            ),
        )
    problems: Sequence[str] = (
        index_changes(home, invocation.warn, meter) if any(outcome.commit for outcome in closed) else ()
    )
    problems = [
        *problems,
        *([absent] if absent else []),
        *dict.fromkeys(problem for outcome in closed for problem in outcome.degraded),
    ]
    for problem in (*problems, *(f"session {failure.session} was not closed: {failure.error}" for failure in failed)):
        invocation.warn(problem)
    data = closed_all_answer(closed, failed) if every else closed_answer(closed[0])
    invocation.show(
        {**data, "degraded": list(problems)}, _lines(closed, failed, home, every=every, absent=bool(absent))
    )
    quarantined = any(outcome.quarantined for outcome in closed)
    context.exit(FINDINGS if failed or quarantined or absent else 0)


def _lines(
    closed: Sequence[Closed], failed: Sequence[ClosingFailure], home: Home, *, every: bool, absent: bool = False
) -> Iterator[str]:
    from agent_home.store.speakers import owner_advice

    if every and not closed:
        done = "nothing closed: transcripts are missing" if absent else "no new turns: every session is closed"
        yield f"nothing closed: {len(failed)} failed" if failed else done
    for outcome in closed:
        if outcome.commit is None:
            why = ". Its closing was reverted in git, and --again repeats it" if outcome.taken_back else ""
            yield f"{outcome.session}: no new turns since it was closed{why}"
            continue
        yield f"{outcome.session}: {outcome.daily}#{outcome.anchor}, commit {outcome.commit[:7]}"
        written = list(_written(outcome))
        yield from written
        if not written and not outcome.proposed:
            yield "  remembered nothing new"
        yield from _not_written(outcome)
        if outcome.unowned:
            people = ", ".join(outcome.unowned)
            yield f"  several people speak, and nobody is taken for the owner: {people}. {owner_advice(home)}"


def _written(outcome: Closed) -> Iterator[str]:
    for entry in outcome.entries:
        yield f"  [{entry.id}] {entry.section}: {entry.text} ({entry.evidence})"
    for entry in outcome.merged:
        yield f"  [{entry.id}] was known already, and has one more source"
    for link in outcome.superseded:
        yield f"  [{link.older}] is superseded by [{link.newer}]: {link.reason}"
    for changed in outcome.changed:
        if changed.applied:
            detail = f"now [{changed.detail}] {changed.replacement}" if changed.replacement else f"({changed.detail})"
            yield f"  [{changed.id}] {_PAST[changed.kind]}: {changed.text} {detail}"
    if outcome.use and outcome.use.requests:
        yield (
            f"  read by the model: {outcome.use.tokens} tokens, {outcome.use.accepted} accepted, "
            f"{outcome.use.proposed} wait for a person, {len(outcome.use.dropped)} dropped, "
            f"{outcome.use.confirmed} reports found in commits"
        )
    if outcome.learned:
        yield f"  corrections in EVOLUTION.md: {', '.join(outcome.learned)}"
    for path in outcome.projects:
        yield f"  project notes: {path}"
    if outcome.restored:
        yield f"  restored from the archive: {', '.join(outcome.restored)}"


def _acceptance(changed: ChangedEntry) -> str:
    """Return the command that does what nobody was sure of, where too much waits to ask about it."""
    if changed.kind in {"supersede", "revise"}:
        return f"memory remember {shlex.quote(changed.text)} --replaces {changed.id}"
    return f"memory done {changed.id}"


def _not_written(outcome: Closed) -> Iterator[str]:
    for claim in outcome.claims:
        if claim.evidence.state == "contradicted":
            yield f"  not remembered, because git contradicts it: {claim.text} ({claim.evidence.detail})"
    for changed in outcome.changed:
        if changed.unsure:
            command = f"memory review accept {changed.id}" if changed.asked else _acceptance(changed)
            yield f"  [{changed.id}] is perhaps {_PAST[changed.kind]}, `{command}` if so: {changed.text}"
        elif not changed.applied:
            yield f"  [{changed.id}] not {_PAST[changed.kind]}, because {changed.detail}: {changed.text}"
    for proposal in outcome.proposed:
        yield f"  [{proposal.id}] waits for a person, risk {proposal.risk}: {proposal.text}"
    if outcome.proposed or any(changed.asked for changed in outcome.changed):
        yield "  `memory review` lists what waits"
    if outcome.dropped:
        yield f"  {outcome.dropped} not written: rejected by a person, or in review already"
    if outcome.left_in_log:
        yield f"  {outcome.left_in_log} more stay in the daily log, because one closing adds only so many to a section"
    if outcome.redacted or outcome.quarantined:
        yield f"  guard: {outcome.redacted} redacted, {len(outcome.quarantined)} quarantined"
