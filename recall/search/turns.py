"""Turns as they were said: whole, and with the turns beside them.

A hit is a passage, and a long turn has several. A reader of the hit wants the whole turn. Turns are read from the
index, so that no transcript has to be opened. Where a long turn was cut into passages, a line break takes the place of
the white space at the cut.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import apsw

from agent_home.home import Home

from ..index import damage, schema
from ..index.own_index import reading_own
from ..index.passage_store import LAYER_CODES
from ..index.passage_table import PassageTable, resident_table

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


# The plus sign keeps SQLite from looking through a whole file for a turn that it can find by its address.
_SELECT = """
WITH found AS (
    SELECT file, source, min(ordinal) AS first, max(ordinal) AS last FROM passages
    WHERE source IN (SELECT value FROM json_each(?)) AND +layer = ? GROUP BY file, source
), surrounding AS (
    SELECT file, source FROM found UNION
    SELECT p.file, p.source FROM found JOIN passages p ON p.file = found.file AND p.ordinal = found.first - 1 UNION
    SELECT p.file, p.source FROM found JOIN passages p ON p.file = found.file AND p.ordinal = found.last + 1
)
SELECT p.file, f.path, p.source, p.ordinal, p.text, p.session, p.name, p.role, p.ts
FROM surrounding w JOIN passages p ON p.source = w.source AND +p.file = w.file JOIN files f ON f.id = p.file
ORDER BY p.file, p.ordinal
"""


def turns_around(home: Home, sources: Collection[str], *, audience: str = "owner") -> SurroundingTurns:
    """Return the turns with these addresses and one on each side, as far as *audience* may read them.

    Addresses that are no turns are ignored. The state of the index never raises.
    """
    index = home.index
    try:
        with reading_own(home, index) as conn:
            if conn is None:
                return SurroundingTurns()
            found = _read(conn, resident_table(conn, index, searching=False), sources)
    except schema.IndexCorrupt as error:
        return SurroundingTurns(problem=f"neighbouring turns are missing: {error}")
    except schema.CORRUPTION_ERRORS as error:
        return SurroundingTurns(problem=f"neighbouring turns are missing: {damage.mark(home.index, error)}")
    except schema.UNAVAILABLE_ERRORS as error:
        return SurroundingTurns(problem=f"neighbouring turns are missing: {error}")
    readable = {path: home.may_read(path, audience) for path in {turn.path for turn in found}}
    return SurroundingTurns(turns={turn.turn.source: turn.turn for turn in found if readable[turn.path]})


class _PlacedTurn(NamedTuple):
    """A turn, its *first* place in its file, the *path* of that, and the number of that in the index."""

    file: int
    first: int
    path: str
    turn: IndexedTurn


def _read(conn: apsw.Connection, table: PassageTable | None, sources: Collection[str]) -> list[_PlacedTurn]:
    """Return the turns with these addresses and those beside them. A *table* keeps them for the next search."""
    if table is None:
        return _turns(schema.rows(conn, _SELECT, (json.dumps(sorted(sources)), LAYER_CODES["sessions"])))
    known: dict[str, tuple[_PlacedTurn, ...]] = table.remembered("turns", sources)
    missing = sorted(source for source in sources if source not in known)
    if missing:
        turns = _turns(schema.rows(conn, _SELECT, (json.dumps(missing), LAYER_CODES["sessions"])))
        kept = table.remembered("turn", [turn[:2] for turn in turns])
        turns = [kept.get(turn[:2], turn) for turn in turns]  # each is kept once
        fresh = _with_neighbours(turns, missing)
        known |= fresh
        table.remember("turn", {turn[:2]: turn for turn in turns})
        table.remember("turns", fresh)
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


def _turns(rows: Iterable[tuple[Any, ...]]) -> list[_PlacedTurn]:
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
