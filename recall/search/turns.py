"""Turns as they were said: whole, and with the turns beside them.

A hit is a passage, and a long turn has several. A reader of the hit wants the whole turn. Turns are read from the
index, so that no transcript has to be opened. Where a long turn was cut into passages, a line break takes the place of
the white space at the cut.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import groupby

from agent_home.home import Home

from ..index import damage, schema
from ..index.own_index import open_own
from ..index.passage_store import LAYER_CODES

__all__ = ["IndexedTurn", "SurroundingTurns", "turns_around"]

#: Most passages of a turn that is returned whole: more than any prompt has room for.
_MOST_PARTS = 24


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
SELECT f.path, p.source, p.ordinal, p.text, p.session, p.name, p.role, p.ts
FROM surrounding w JOIN passages p ON p.source = w.source AND +p.file = w.file JOIN files f ON f.id = p.file
ORDER BY p.file, p.ordinal
"""


def turns_around(home: Home, sources: Collection[str], *, audience: str = "owner") -> SurroundingTurns:
    """Return the turns with these addresses and one on each side, as far as *audience* may read them.

    Addresses that are no turns are ignored. The state of the index never raises.
    """
    try:
        conn = open_own(home)
        if conn is None:
            return SurroundingTurns()
        try:
            rows = schema.rows(conn, _SELECT, (json.dumps(sorted(sources)), LAYER_CODES["sessions"]))
        finally:
            conn.close()
    except schema.IndexCorrupt as error:
        return SurroundingTurns(problem=f"neighbouring turns are missing: {error}")
    except schema.CORRUPTION_ERRORS as error:
        return SurroundingTurns(problem=f"neighbouring turns are missing: {damage.mark(home.index, error)}")
    except schema.UNAVAILABLE_ERRORS as error:
        return SurroundingTurns(problem=f"neighbouring turns are missing: {error}")
    readable: dict[str, bool] = {}
    turns: dict[str, IndexedTurn] = {}
    for (path, source), group in groupby(rows, key=lambda row: (row[0], row[1])):
        parts = list(group)
        if readable.setdefault(path, home.may_read(path, audience)):
            _, _, first, _, session, name, role, ts = parts[0]
            text = "\n".join(part[3] for part in parts) if len(parts) <= _MOST_PARTS else ""
            turns[source] = IndexedTurn(
                source=source, session=session, name=name, role=role, ts=ts, text=text, first=first, last=parts[-1][2]
            )
    return SurroundingTurns(turns=turns)
