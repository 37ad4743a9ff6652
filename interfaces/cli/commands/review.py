"""Define ``memory review``, with which a person decides about waiting texts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from agent_home.visible import revealed

from ...answers import waiting_answer
from ...indexing import index_changes
from ..columns import Span, cells, fitted, wrapped
from ..command import Command, Group
from ..completion import decided_texts, waiting_texts
from ..invocation import Invocation, options
from ..person import person_if_known, person_option, the_person
from ..render import line_width

if TYPE_CHECKING:
    from agent_home.screening.review_ledger import Decision
    from distill.review.queue import ReviewItem, ReviewOutcome
    from distill.statements.risk import Risk

__all__ = ["review"]

#: Ids of other machines may be longer. They do not push the columns of the others to the right.
_MOST_ID_CHARS = 16


@click.group(
    "review",
    cls=Group,
    invoke_without_command=True,
    examples=(
        ("Decide about one text after another, at a terminal", "memory review"),
        ("List what waits", "memory review list"),
        ("Accept every proposal of low risk", "memory review accept --tier low"),
        ("Take the last decision back", "memory review undo"),
    ),
)
@person_option
@options
@click.pass_context
def review(context: click.Context, invocation: Invocation, person: str) -> None:
    """Decide about texts that wait for a person.

    Without a subcommand, and at a terminal, the command shows one text after another: what it says or changes, its
    evidence, the turns it comes from, its risk. A key accepts, edits, rejects or skips it, shows its details, or takes
    the last decision back. Elsewhere, the command lists what waits.

    Proposed entries, ends of entries that a closing is not sure of, and quarantined texts wait. So do large losses of
    entries by an edit by hand, and texts that recovery set aside. `list` lists them. `show ID` prints a
    text, its origin and the reason why it waits. `accept ID` writes it to its place, or ends the entry. `reject ID`
    drops it, and the same text or end is not proposed again. To accept a loss removes its entries, and to reject it
    keeps them. `undo` takes the last decision back.

    Only a person can decide, at a terminal or with --as PERSON: the owner, or a reviewer who did not say the text. The
    commit and the audit record the name. The agent's name and that of a participant who said the text are refused.
    """
    if context.invoked_subcommand is None:
        at_terminal = os.name == "posix" and not invocation.as_json and sys.stdin.isatty() and sys.stdout.isatty()
        if at_terminal:
            _decide(invocation, person)
        else:
            _list(invocation)
    elif invocation.home_option or invocation.as_json or person:
        raise click.UsageError(f"write options after `{context.invoked_subcommand}`, not before it")


@review.command(
    "list",
    cls=Command,
    examples=(
        ("List what waits, oldest first", "memory review list"),
        ("Print it as JSON", "memory review list --json"),
    ),
)
@click.option("--details", is_flag=True, help="Also print each text in full, with its author, session and evidence.")
@options
def list_(invocation: Invocation, details: bool) -> None:
    """List waiting texts, oldest first.

    Each line has the id, the risk, the kind, the place and the beginning of the text.
    """
    _list(invocation, details=details)


def _decide(invocation: Invocation, person: str) -> None:
    """Run an interactive session."""
    from agent_home.screening.quarantine import unreadable

    from ..review_session.session import ReviewSession

    home = invocation.home
    for damaged in unreadable(home):
        invocation.warn(str(damaged))
    session = ReviewSession(home=home, person=the_person(invocation, person), clock=invocation.clock())
    session.run()
    for problem in index_changes(home, invocation.warn) if session.changed_home else ():
        invocation.warn(problem)


def _list(invocation: Invocation, *, details: bool = False) -> None:
    from agent_home.screening.quarantine import unreadable
    from distill.review.queue import waiting

    found = waiting(invocation.home, invocation.moment)
    for problem in unreadable(invocation.home):
        invocation.warn(str(problem))
    invocation.show_spans({"proposals": [waiting_answer(item) for item in found]}, _rows(found, details=details))


def _rows(found: Sequence[ReviewItem], *, details: bool) -> Iterator[list[Span]]:
    width = line_width()
    id_width = min(max((len(item.id) for item in found), default=0), _MOST_ID_CHARS)
    for item in found:
        yield _row(item, id_width, width)
        yield from _more(item, width) if details else ()
    yield [(f"Next: memory review show {found[0].id}" if found else "nothing waits", "plain")]


@review.command(
    "show",
    cls=Command,
    examples=(
        ("Print a waiting text and the change it would make", "memory review show KD-7F3A"),
        ("Print it as JSON", "memory review show KD-7F3A --json"),
    ),
)
@click.argument("waiting_id", metavar="ID", shell_complete=waiting_texts)
@options
def show(invocation: Invocation, waiting_id: str) -> None:
    """Print one waiting text.

    The command prints the text of ID, its place, its author and the reason why it waits. Characters that a terminal
    hides or obeys are shown as escapes. A proposal that this machine did not make can be accepted after that.
    """
    from distill.errors import NotPlaceable
    from distill.review.queue import find, note_shown, plan

    item = find(invocation.home, waiting_id, invocation.moment)
    try:
        diff = plan(invocation.home, item).diff
    except NotPlaceable as error:
        diff = (f"({error})",)
    invocation.show({"proposals": [{**waiting_answer(item), "diff": list(diff)}]}, _detail_lines(item, diff))
    note_shown(invocation.home, item)


@review.command(
    "originals",
    cls=Command,
    examples=(
        ("List messages whose personal data was redacted", "memory review originals"),
        ("Print the original of one, at a terminal", "memory review originals o-3f9a28bd01"),
    ),
)
@click.argument("original_id", metavar="[ID]", required=False, default="")
@options
def originals(invocation: Invocation, original_id: str) -> None:
    """List originals of redacted messages, or print one.

    Messages that lost personal data are kept on this machine for 30 days (`keep_originals_days` under `[guard]`).
    Messages with a secret are not. A text is printed at a terminal only. `memory forget` erases it. The next
    `memory close`, `import` or `distill` drops what is older.
    """
    from agent_home.screening.originals import original
    from agent_home.screening.originals import originals as kept

    if not original_id:
        items = list(kept(invocation.home, invocation.moment))
        rows = [{"id": item.id, "source": item.source, "ts": item.ts} for item in items]
        lines = [f"{item.id}  {item.ts[:10]}  {revealed(item.source)}" for item in items]
        invocation.show({"originals": rows}, lines or ["No originals are kept"])
        return
    if invocation.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("an original is printed at a terminal only. Run the command there, without --json")
    item = original(invocation.home, original_id, invocation.moment)
    if item is None:
        raise click.UsageError(f"no original {original_id!r} is kept. List them with `memory review originals`")
    invocation.show({}, [revealed(line) for line in item.text.splitlines()])


@review.command(
    "accept",
    cls=Command,
    examples=(
        ("Accept one text", "memory review accept KD-7F3A"),
        ("Show what would be written", "memory review accept KD-7F3A --dry-run"),
        ("Accept proposals up to medium risk, without a terminal", "memory review accept --tier medium --as Grace"),
    ),
)
@click.argument("ids", metavar="[ID...]", nargs=-1, shell_complete=waiting_texts)
@click.option(
    "--tier", type=click.Choice(["low", "medium", "high"]), help="Accept every proposal of this risk or less."
)
@click.option("--as-is", "form", flag_value="as-is", help="Store a quarantined text unchanged (the default).")
@click.option("--redacted", "form", flag_value="redacted", help="Remove the sentences that the guard objects to.")
@click.option("--dry-run", is_flag=True, help="Print what would be written, and write nothing.")
@person_option
@options
def accept(
    invocation: Invocation, ids: Sequence[str], tier: Risk | None, form: str | None, dry_run: bool, person: str
) -> None:  # fmt: skip
    """Write waiting texts to their places.

    Each accepted text is one commit in the name of the person who accepts it. A secret never comes back, because
    quarantined texts have their secrets redacted. A text accepted unchanged passes the guard from then on, in every
    place. --tier accepts every proposal of this machine up to a risk, but never quarantined texts. A proposal that
    came from elsewhere has no tier. `memory review show ID` shows it, and then it is accepted by its ID alone.
    """
    from distill.review.queue import accept as accept_one
    from distill.review.queue import plan, require_decider, undecided, up_to_risk, waiting

    if bool(ids) == (tier is not None):
        raise click.UsageError("name the IDs to accept, or give --tier for all proposals up to a risk")
    home, now = invocation.home, invocation.moment
    items, done = undecided(home, ids, now, "accepted")
    if len(items) > 1 and (foreign := [item.id for item in items if item.foreign]):
        raise click.UsageError(f"{foreign[0]} was not made on this machine. Accept it in a command of its own")
    if tier:
        listed = waiting(home, now)
        items += up_to_risk(listed, tier)
        _say_foreign(invocation, [item.id for item in listed if item.foreign])
    _say_decided(invocation, done, "accepted")
    if form and any(item.kind != "quarantine" for item in items):
        raise click.UsageError(
            "--as-is and --redacted apply to quarantined texts. Use `memory review edit` for a proposal"
        )
    person_name = (person_if_known if dry_run else the_person)(invocation, person) if items else ""
    for item in items if person_name else ():  # all of them before the first is written
        require_decider(home, item, person_name)
    if dry_run:
        outcomes = [plan(home, item, mode=_form(form)) for item in items]
    else:
        outcomes = [accept_one(home, item, person=person_name, now=now, mode=_form(form)) for item in items]
    _finish(invocation, outcomes)


@review.command(
    "edit",
    cls=Command,
    examples=(("Change the text of a proposal", 'memory review edit KD-7F3A --text "Use PostgreSQL 16."'),),
)
@click.argument("waiting_id", metavar="ID", shell_complete=waiting_texts)
@click.option("--text", required=True, help="New text of the proposal.")
@person_option
@options
def edit(invocation: Invocation, waiting_id: str, text: str, person: str) -> None:
    """Change the text of a proposal.

    The proposal ID still waits. The evidence for the old text no longer applies.
    """
    from distill.review.queue import edit as edit_one
    from distill.review.queue import find

    item = find(invocation.home, waiting_id, invocation.moment)
    person_name = the_person(invocation, person)
    _finish(invocation, [edit_one(invocation.home, item, text, person=person_name, now=invocation.moment)])


@review.command(
    "reject",
    cls=Command,
    examples=(
        ("Reject one text", "memory review reject KD-7F3A"),
        ("Reject two texts without a terminal", "memory review reject KD-7F3A LL-2M0Q --as Grace"),
    ),
)
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=waiting_texts)
@person_option
@options
def reject(invocation: Invocation, ids: Sequence[str], person: str) -> None:
    """Drop waiting texts.

    A digest of each text stays in git, so that the same text never waits again on any clone.
    """
    from distill.review.queue import reject as reject_one
    from distill.review.queue import undecided

    home, now = invocation.home, invocation.moment
    items, done = undecided(home, ids, now, "rejected")
    _say_decided(invocation, done, "rejected")
    person_name = the_person(invocation, person) if items else ""
    _finish(invocation, [reject_one(home, item, person=person_name, now=now) for item in items])


@review.command(
    "undo",
    cls=Command,
    examples=(
        ("Take the last decision back", "memory review undo"),
        ("Take the decision about one text back, without a terminal", "memory review undo KD-7F3A --as Grace"),
    ),
)
@click.argument("waiting_id", metavar="[ID]", required=False, default="", shell_complete=decided_texts)
@person_option
@options
def undo(invocation: Invocation, waiting_id: str, person: str) -> None:
    """Take a decision back.

    The decision about ID, or else the last one on this machine, is undone in one commit, and the text waits again. What
    was written since stays. A decision is kept for a day. One that appended a message to a transcript, or wrote to a
    shared project, cannot be undone.
    """
    from distill.review.undo import undo as undo_one
    from distill.review.undo import undo_last

    home, now = invocation.home, invocation.moment
    person_name = the_person(invocation, person)
    if waiting_id:
        done = undo_one(home, waiting_id, person=person_name, now=now)
    else:
        done = undo_last(home, person=person_name, now=now)
    problems = index_changes(home, invocation.warn) if done.commit else []
    for problem in problems:
        invocation.warn(problem)
    item = done.item
    data = {
        "id": item.id, "kind": item.kind, "undone": item.action, "person": done.person, "path": item.path,
        "commit": done.commit, "degraded": problems,
    }  # fmt: skip
    commit = f", commit {done.commit[:7]}" if done.commit else ""
    invocation.show(data, [f"{item.id}: no longer {item.action}{commit}. It waits again: memory review show {item.id}"])


def _form(option: str | None) -> Any:
    return option or "as-is"


def _say_decided(invocation: Invocation, done: Sequence[Decision], action: str) -> None:
    for decision in done:
        invocation.warn(f"{decision.id} was {action} by {decision.by} on {decision.ts[:10]} already")


def _say_foreign(invocation: Invocation, ids: Sequence[str]) -> None:
    if ids:
        advice = f"`memory review show {ids[0]}` shows the first one"
        invocation.warn(f"{len(ids)} of another machine are not among them, because they have no tier. {advice}")


def _finish(invocation: Invocation, outcomes: Sequence[ReviewOutcome]) -> None:
    problems = index_changes(invocation.home, invocation.warn) if any(outcome.commit for outcome in outcomes) else ()
    for problem in problems:
        invocation.warn(problem)
    rows = [_outcome_row(outcome) for outcome in outcomes]
    commit = next((outcome.commit for outcome in reversed(outcomes) if outcome.commit), None)
    lines = list(_outcome_lines(outcomes)) or ["nothing of that kind waits"]
    invocation.show({"proposals": rows, "commit": commit, "degraded": list(problems)}, lines)


def _outcome_row(outcome: ReviewOutcome) -> dict[str, Any]:
    return {
        **waiting_answer(outcome.item),
        "action": outcome.action,
        "person": outcome.person,
        "text": outcome.text or outcome.item.text,
        "path": outcome.path,
        "section": outcome.section or outcome.item.section,
        "entry": outcome.entry or None,
        "commit": outcome.commit,
        "diff": list(outcome.diff),
    }


def _row(item: ReviewItem, id_width: int, width: int) -> list[Span]:
    """Return *item* in one line: id, risk, kind, place, and the beginning of what it says."""
    risky = item.foreign or item.risk == "high"
    tier, kind = ("none", "foreign") if item.foreign else (item.risk, item.kind)
    place = item.section or item.path.rpartition("/")[2]
    told = revealed(" ".join(f"{place}: {_said(item)}".split()))
    begun = f"{item.id:{id_width}}  "
    room = width - cells(begun) - 20
    return [
        (begun, "strong"),
        (f"{tier:6}", "warning" if risky else "plain"),
        (f"  {kind:10}  {fitted(told, max(room, 8))}", "plain"),
    ]


def _said(item: ReviewItem) -> str:
    """Return the statement, or the reason where that is clearer."""
    if item.ends or item.kind not in {"quarantine", "proposal"}:
        return item.reason
    from agent_home.documents.placement import as_entry

    entry = as_entry(item.text)
    return entry.text if entry is not None else item.text


def _more(item: ReviewItem, width: int) -> Iterator[list[Span]]:
    """Yield what the line of *item* has no room for."""
    place = f"{item.path} / {item.section}" if item.section else item.path
    author = f'{item.origin} "{item.speaker}"' if item.speaker else item.origin
    for name, value in (
        ("text", _said(item)), ("place", place), ("waits", item.reason), ("author", author),
        ("session", item.conversation), ("evidence", item.evidence), ("since", item.ts),
    ):  # fmt: skip
        for number, line in enumerate(wrapped(revealed(value.strip()).expandtabs(), width - 14) if value else ()):
            yield [(f"    {name if not number else '':9} ", "faint"), (line, "plain")]


def _detail_lines(item: ReviewItem, diff: Sequence[str]) -> Iterator[str]:
    yield f"{item.id}  {item.kind}, {'of another machine, without a tier' if item.foreign else f'risk {item.risk}'}"
    for name, value in (
        ("place", f"{item.path} / {item.section}" if item.section else item.path),
        ("waits", item.reason or "its section is reviewed before it is committed"),
        ("author", f'{item.origin} "{item.speaker}"' if item.speaker else item.origin),
        ("written by", item.actor),
        ("session", item.conversation),
        ("source", item.source),
        ("evidence", item.evidence),
        ("since", item.ts),
    ):
        if value:
            yield f"  {name + ':':12}{revealed(value)}"
    yield ""
    for line in item.text.rstrip("\n").split("\n"):
        yield f"    {revealed(line)}"
    yield ""
    for line in diff:
        yield revealed(line)
    command = f"`memory review {{}} {item.id}`"
    yield f"Next: {', '.join(command.format(action) for action in ('accept', 'edit', 'reject'))}"


def _outcome_lines(outcomes: Sequence[ReviewOutcome]) -> Iterator[str]:
    for outcome in outcomes:
        commit = f", commit {outcome.commit[:7]}" if outcome.commit else ""
        entry = f" as [{outcome.entry}]" if outcome.entry and not outcome.item.ends else ""
        yield f"{outcome.item.id}: {outcome.action}{entry}, {outcome.path}{commit}"
        if outcome.action in {"would accept", "edited"}:
            yield from (revealed(line) for line in outcome.diff)
