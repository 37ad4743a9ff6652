"""``memory forget``."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ..frame import FINDINGS, Frame, home_command

if TYPE_CHECKING:
    from agent_home.forgetting.erasure import Place
    from distill.forget import ForgetResult

__all__ = ["forget"]

#: Places that a person is shown for each kind; the rest is counted.
_SHOWN = 12
_KINDS = {
    "memory": "memory",
    "transcript": "transcripts",
    "output": "outputs",
    "quarantine": "quarantine",
    "machine": "this machine's records",
    "index": "search index",
    "history": "git history",
}


@home_command("forget")
@click.argument("text", metavar="ID|TEXT|-")
@click.option("--apply", "do_it", is_flag=True, help="Do it; without this, only the places are shown.")
@click.option("--purge", is_flag=True, help="Make git's history anew without it as well, on every branch.")
@click.option("--exact-id", is_flag=True, help="TEXT is an identifier: spelled just so, and standing alone.")
@click.option("--actor", default="forget", show_default=True, help="Who asks, for the tombstone and the commit.")
@click.pass_context
def forget(
    context: click.Context, frame: Frame, text: str, do_it: bool, purge: bool, exact_id: bool, actor: str
) -> None:
    """Take an entry, or a text, out of everything that the home keeps, and prove that it is gone.

    ID is an entry's: the entry goes, and so does what it says wherever else that stands; where it says but a word or
    two, those stay in other texts. TEXT is found whatever its case, spacing and Unicode form, and written with escapes;
    a mark that says nothing stands in its place. With - the text is read from standard input, so that no shell
    remembers it.

    Looked through are memory and archive, ledgers, transcripts, outputs, quarantine, this machine's records, the index
    and every object of git's. Without --apply nothing is changed. Without --purge git's history keeps it; --purge
    gives new hashes to every commit since it first stood there, and drops reflogs and unreachable objects. Afterwards
    everything is searched again. ledger/forgotten.jsonl says that something was forgotten, and not what: importing the
    same chat again does not bring it back on this machine.

    Exit code 1 when it still stands somewhere, git's history included.
    """
    from distill.forget import StructuralWord, TextTooShort, places, redaction_target
    from distill.forget import forget as forget_it

    wanted_text = sys.stdin.read() if text == "-" else text
    say = _progress()
    home = frame.home
    try:
        if do_it:
            done = forget_it(
                home, wanted_text, now=frame.moment, exact=exact_id, history_too=purge, actor=actor, progress=say
            )
            _show_done(frame, done, purge=purge)
            context.exit(FINDINGS if done.remaining else 0)
        wanted = redaction_target(home, wanted_text, exact=exact_id)
        found = places(home, wanted, progress=say)
    except (StructuralWord, TextTooShort) as error:
        raise click.UsageError(str(error)) from error
    frame.show({"applied": False, "id": wanted.entry_id, "places": _rows(found)}, _plan(found, purge=purge))


def _show_done(frame: Frame, done: ForgetResult, *, purge: bool) -> None:
    for warning in done.warnings:
        frame.warn(warning)
    data = {
        "applied": True,
        "name": done.name,
        "commit": done.commit,
        "purged": None if done.purged is None else {"blobs": done.purged.blobs, "commits": len(done.purged.commits)},
        "places": _rows(done.before),
        "remaining": _rows(done.remaining),
        "warnings": list(done.warnings),
    }
    frame.show(data, _result(done, purge=purge))


def _plan(found: Sequence[Place], *, purge: bool) -> Iterator[str]:
    if not found:
        yield "it stands nowhere in this home, git's objects included"
        return
    yield from _table(found)
    kept = "" if purge else "; git's history keeps it unless --purge is given"
    yield f"nothing was changed: --apply takes it out{kept}"


def _result(done: ForgetResult, *, purge: bool) -> Iterator[str]:
    counts = Counter(place.kind for place in done.before)
    stood = ", ".join(f"{count} in {_KINDS[kind]}" for kind, count in counts.items())
    yield f"{done.name}: it stood in {len(done.before)} places ({stood})" if stood else f"{done.name}: it stood nowhere"
    if done.commit:
        yield f"commit {done.commit[:7]}"
    if done.purged is not None:
        yield f"history: {done.purged.blobs} texts and {len(done.purged.commits)} commits were made anew"
    if not done.remaining:
        yield "searched again, git's objects included: it stands nowhere"
        return
    if done.in_history and not purge:
        commits = len({place.commit for place in done.in_history if place.commit})
        yield f"git's history still holds it, in {commits} commits; `memory forget ... --purge --apply` takes it out"
    others = done.remaining if purge else [place for place in done.remaining if place.kind != "history"]
    if others:
        yield "it still stands here:"
        yield from _table(others)


def _table(found: Iterable[Place]) -> Iterator[str]:
    """The places by kind, in the order in which they were found."""
    groups: dict[str, list[Place]] = {}
    for place in found:
        groups.setdefault(place.kind, []).append(place)
    for kind, group in groups.items():
        yield f"{_KINDS[kind]}: {len(group)}"
        yield from (f"  {_address(place)}" for place in group[:_SHOWN])
        if len(group) > _SHOWN:
            yield f"  and {len(group) - _SHOWN} more; --json lists them"


def _address(place: Place) -> str:
    where = f"{place.path}:{place.line}" if place.line else place.path
    where = f"{place.commit[:7]}:{where}" if place.commit else where
    return f"{where} - {place.note}" if place.note else where


def _rows(found: Iterable[Place]) -> list[dict[str, object]]:
    return [dataclasses.asdict(place) for place in found]


def _progress() -> Callable[[str], None] | None:
    """Says each step on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        return None
    return lambda what: click.echo(f"{what} ...", err=True)
