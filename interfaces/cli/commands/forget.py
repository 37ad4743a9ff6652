"""Define ``memory forget``."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ...counts import counted
from ..completion import entries
from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command
from ..render import write_line

if TYPE_CHECKING:
    from agent_home.forgetting.erasure import Occurrence
    from distill.entry_target import RemovalPlan, Turns
    from distill.forget import ForgetResult

__all__ = ["forget"]

#: Places listed for each kind. The rest is counted.
_MAX_LISTED = 12
_KINDS = {
    "memory": "files",
    "transcript": "transcripts",
    "output": "outputs",
    "quarantine": "quarantine",
    "machine": "this machine's records",
    "index": "search index",
    "history": "git history",
    "git": "branches, tags and hooks",
}


@home_command(
    "forget",
    examples=(
        ("List every place that holds an entry", "memory forget KD-7F3A"),
        ("Erase the entry, in git's history as well", "memory forget KD-7F3A --apply --purge"),
        ("Erase a text without leaving it in the shell's history", "memory forget - --apply --purge < text.txt"),
    ),
)
@click.argument("text", metavar="ID|TEXT|-", shell_complete=entries)
@click.option("--apply", "do_it", is_flag=True, help="Erase it (default: only list the places).")
@click.option("--purge", is_flag=True, help="Rewrite git's history without it as well, on every branch.")
@click.option("--exact-id", is_flag=True, help="TEXT is an identifier: match it exactly and as a whole word.")
@click.option("--whole-turns", is_flag=True, help="Erase all of each turn that the entry cites.")
@click.option("--keep-turns", is_flag=True, help="Erase nothing else of the turns that the entry cites.")
@click.option("--actor", default="forget", show_default=True, help="Name for the tombstone and the commit.")
@click.pass_context
def forget(
    context: click.Context,
    invocation: Invocation,
    text: str,
    do_it: bool,
    purge: bool,
    exact_id: bool,
    whole_turns: bool,
    keep_turns: bool,
    actor: str,
) -> None:
    """Erase an entry or a text everywhere in the home.

    ID names an entry: the entry goes, and its text is erased in other places too, unless it is only a word or two. The
    sentences that say it go from the turns that it cites. Without --apply the command shows them. If the turns say it
    in other words, choose --whole-turns or --keep-turns.

    TEXT is found in any case, spacing and Unicode form, with dashes or underscores between its words, with its last
    word first, with escapes, in base64 and in hexadecimal digits. It has at least four characters, or two in Chinese,
    Japanese or Korean. A placeholder replaces it. With - the text is read from standard
    input, so that no shell remembers it.

    The command searches memory and archive, ledgers, transcripts, outputs, quarantine, this machine's records, the
    index and every git object. Without --apply it changes nothing. Without --purge, git's history keeps the text.
    --purge rewrites every commit since the text first appeared, and drops reflogs and unreachable objects. Afterwards
    the command searches everything again. ledger/forgotten.jsonl records that something was forgotten, but not the
    text. Importing the same chat again does not bring the text back on this machine.

    The exit code is 1 when the text is still somewhere, git's history included.
    """
    from distill.forget import NOT_SEARCHED, StructuralWord, TextTooShort, places, removal_plan
    from distill.forget import forget as forget_it

    if whole_turns and keep_turns:
        raise click.UsageError("--whole-turns and --keep-turns exclude each other. Give one of them")
    turns: Turns = "whole" if whole_turns else "keep" if keep_turns else "sentences"
    target_text = sys.stdin.read() if text == "-" else text
    progress = _progress()
    home = invocation.home
    try:
        if do_it:
            done = forget_it(
                home,
                target_text,
                now=invocation.moment,
                exact=exact_id,
                history_too=purge,
                turns=turns,
                actor=actor,
                progress=progress,
            )
            _show_done(invocation, done, purge=purge)
            context.exit(FINDINGS if done.remaining else 0)
        plan = removal_plan(home, target_text, exact=exact_id, turns=turns)
        found = places(home, plan.target, progress=progress)
    except (StructuralWord, TextTooShort) as error:
        raise click.UsageError(str(error)) from error
    data = {"applied": False, "id": plan.target.entry_id, "places": _rows(found), "turns": _turns(plan)}
    data |= {"missing": list(plan.missing), "not_searched": list(NOT_SEARCHED)}
    invocation.show(data, [*_plan(found, plan, purge=purge), _not_searched()])


def _show_done(invocation: Invocation, done: ForgetResult, *, purge: bool) -> None:
    from distill.forget import NOT_SEARCHED

    for warning in done.warnings:
        invocation.warn(warning)
    data = {
        "applied": True,
        "name": done.name,
        "commit": done.commit,
        "purged": None if done.purged is None else {"blobs": done.purged.blobs, "commits": len(done.purged.commits)},
        "places": _rows(done.before),
        "remaining": _rows(done.remaining),
        "turns": [{key: turn[key] for key in ("source", "path", "line", "unclear")} for turn in _turns(done.plan)],
        "warnings": list(done.warnings),
        "not_searched": list(NOT_SEARCHED),
    }
    invocation.show(data, [*_result(done, purge=purge), _not_searched()])


def _not_searched() -> str:
    from distill.forget import NOT_SEARCHED

    return f"Not looked for: {', '.join(NOT_SEARCHED)}"


def _plan(found: Sequence[Occurrence], plan: RemovalPlan, *, purge: bool) -> Iterator[str]:
    if not found and not plan.unclear:
        yield "found nowhere in this home, git's objects included"
        return
    yield from _table(found)
    yield from _told(plan)
    kept = "" if purge else ", and --purge to erase it in git's history too"
    yield f"Nothing was changed. Add --apply to erase it{kept}"


def _told(plan: RemovalPlan) -> Iterator[str]:
    """Yield what goes from each turn that the entry cites."""
    if plan.turns:
        yield f"turns that the entry cites: {len(plan.turns)}"
    for turn in plan.turns:
        yield f"  {turn.source} ({turn.path}:{turn.line}): {'' if turn.passages else 'nothing goes'}".rstrip()
        yield from (f"    {' '.join(passage.split())}" for passage in turn.passages)
    if plan.unclear:
        yield "The turns say it in other words. Add --whole-turns to erase them, or --keep-turns to keep them"
    if plan.missing:
        yield f"not on this machine: {', '.join(plan.missing)}"


def _result(done: ForgetResult, *, purge: bool) -> Iterator[str]:
    remaining = {(place.kind, place.path) for place in done.remaining}
    erased = [place for place in done.before if _is_erased(place, remaining, purge=purge)]
    counts = Counter(place.kind for place in erased)
    found = ", ".join(f"{count} in {_KINDS[kind]}" for kind, count in counts.items())
    if found:
        yield f"{done.name}: erased from {counted(len(erased), 'place')} ({found})"
    else:
        yield f"{done.name}: {'erased from no place' if done.before else 'found nowhere'}"
    if done.commit:
        yield f"commit {done.commit[:7]}"
    if done.purged is not None:
        yield f"history: {done.purged.blobs} texts and {len(done.purged.commits)} commits were rewritten"
    if not done.remaining:
        yield "searched again, git's objects included: found nowhere"
        return
    unclear = bool(done.plan.unclear)
    if unclear:
        yield "The turns that the entry cites say it in other words, so they and git's history are kept. Run"
        command = f"memory forget {done.plan.target.entry_id} --apply --purge"
        yield f"`{command} --whole-turns` to erase them, or give --keep-turns instead"
    elif done.in_history and not purge:
        commits = len({place.commit for place in done.in_history if place.commit})
        places = counted(commits, "commit")
        yield f"git's history still holds it in {places}. Run it again with --purge --apply to erase it"
    others = done.remaining if purge and not unclear else [place for place in done.remaining if place.kind != "history"]
    if others:
        yield "still found here:"
        yield from _table(others)


def _is_erased(place: Occurrence, remaining: Collection[tuple[str, str]], *, purge: bool) -> bool:
    """Return whether *place*, which held the text before, is free of it. Only a purge touches git's history."""
    return (purge or place.kind != "history") and (place.kind, place.path) not in remaining


def _table(found: Iterable[Occurrence]) -> Iterator[str]:
    """Yield the places by kind, in the order in which they were found."""
    groups: dict[str, list[Occurrence]] = {}
    for place in found:
        groups.setdefault(place.kind, []).append(place)
    for kind, group in groups.items():
        yield f"{_KINDS[kind]}: {len(group)}"
        yield from (f"  {_address(place)}" for place in group[:_MAX_LISTED])
        if len(group) > _MAX_LISTED:
            yield f"  and {len(group) - _MAX_LISTED} more. --json lists them"


def _address(place: Occurrence) -> str:
    where = f"{place.path}:{place.line}" if place.line else place.path
    where = f"{place.commit[:7]}:{where}" if place.commit else where
    return f"{where} - {place.note}" if place.note else where


def _turns(plan: RemovalPlan) -> list[dict[str, object]]:
    return [dataclasses.asdict(turn) for turn in plan.turns]


def _rows(found: Iterable[Occurrence]) -> list[dict[str, object]]:
    return [dataclasses.asdict(place) for place in found]


def _progress() -> Callable[[str], None] | None:
    """Return a function that prints each step on standard error, or ``None`` if that is not a terminal."""
    if not sys.stderr.isatty():
        return None
    return lambda step: write_line(f"{step} ...", error=True)
