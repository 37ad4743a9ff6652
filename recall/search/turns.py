"""Turns as they were said: whole, and with the turns beside them.

A hit is a passage, and a long turn has several. A reader of the hit wants the whole turn. Turns are read from the
index, so that no transcript has to be opened. Where a long turn was cut into passages, a line break takes the place of
the white space at the cut.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from agent_home.home import Home

from ..index.reader import IndexReader, IndexUnreadable, TurnRow
from ..index.store import index_store

__all__ = ["IndexedTurn", "SurroundingTurns", "turns_around"]

#: Most passages of a turn that is returned whole: more than any prompt has room for.
_MOST_PARTS = 24
#: File and first place of a turn.
_PLACE = itemgetter(0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedTurn:
    """A turn. Two of a session are neighbours when the *first* of one follows the *last* of the other.

    *text* is empty for a turn that is too long to be shown whole.
    """

    source: str
    session: str
    name: str
    role: str
    ts: str
    text: str
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SurroundingTurns:
    """Turns by their address, in order of file and place. *problem* says why there are none."""

    turns: dict[str, IndexedTurn] = field(default_factory=dict)
    problem: str = ""


def turns_around(home: Home, sources: Collection[str], *, audience: str = "owner") -> SurroundingTurns:
    """Return the turns with these addresses and one on each side, as far as *audience* may read them.

    Addresses that are no turns are ignored. The state of the index never raises.
    """
    try:
        with index_store(home).reading(searching=False) as reader:
            found = [] if reader is None else _read(reader, sources)
    except IndexUnreadable as error:
        return SurroundingTurns(problem=f"neighbouring turns are missing: {error}")
    readable = {path: home.may_read(path, audience) for path in {turn.path for turn in found}}
    return SurroundingTurns(turns={turn.turn.source: turn.turn for turn in found if readable[turn.path]})


class _PlacedTurn(NamedTuple):
    """A turn, its *first* place in its file, the *path* of that, and the number of that in the index."""

    file: int
    first: int
    path: str
    turn: IndexedTurn


def _read(reader: IndexReader, sources: Collection[str]) -> list[_PlacedTurn]:
    """Return the turns with these addresses and those beside them. The reader may keep them for the next search."""
    if not reader.resident:
        return _turns(reader.turns(sources))
    known: dict[str, tuple[_PlacedTurn, ...]] = reader.remembered("turns", sources)
    missing = sorted(source for source in sources if source not in known)
    if missing:
        turns = _turns(reader.turns(missing))
        kept = reader.remembered("turn", [turn[:2] for turn in turns])
        turns = [kept.get(turn[:2], turn) for turn in turns]  # each is kept once
        fresh = _with_neighbours(turns, missing)
        known |= fresh
        reader.remember("turn", {turn[:2]: turn for turn in turns})
        reader.remember("turns", fresh)
    found = {id(turn): turn for group in known.values() for turn in group}
    return sorted(found.values(), key=_PLACE)


def _with_neighbours(turns: Sequence[_PlacedTurn], sources: Collection[str]) -> dict[str, tuple[_PlacedTurn, ...]]:
    """Return for each of *sources* its turns among *turns*, which are in order, and the turns beside them."""
    found: dict[str, tuple[_PlacedTurn, ...]] = dict.fromkeys(sources, ())
    for place, turn in enumerate(turns):
        if turn.turn.source in found:
            near = turns[max(0, place - 1) : place + 2]
            beside = (other for other in near if other.file == turn.file and _touch(other.turn, turn.turn))
            found[turn.turn.source] += tuple(beside)
    return found


def _touch(one: IndexedTurn, other: IndexedTurn) -> bool:
    """Return whether both are the same turn or neighbours."""
    return one is other or one.first == other.last + 1 or other.first == one.last + 1


def _turns(rows: Iterable[TurnRow]) -> list[_PlacedTurn]:
    """Return the turns whose passages are *rows*, in order of file and place."""
    turns = []
    for _, group in groupby(rows, key=lambda row: row[:3]):
        parts = list(group)
        file, path, source, first, _, session, name, role, ts = parts[0]
        text = "\n".join(part[4] for part in parts) if len(parts) <= _MOST_PARTS else ""
        turn = IndexedTurn(
            source=source, session=session, name=name, role=role, ts=ts, text=text, first=first, last=parts[-1][3]
        )
        turns.append(_PlacedTurn(file, first, path, turn))
    return turns
