"""Look up the passage at an address, which a search has returned before."""

from __future__ import annotations

from agent_home.home import Home

from ..index import schema
from ..index.own_index import open_own_or_none
from .hybrid import Hit
from .standing import EntryStandings

__all__ = ["passage_at"]

_SELECT = """
SELECT p.text, p.ts, p.session, p.name, p.role, p.heading, f.layer, f.path FROM passages p JOIN files f ON f.id = p.file
WHERE p.source = ? ORDER BY f.path, p.ordinal, p.part
"""


def passage_at(home: Home, source: str, *, audience: str = "owner") -> Hit | None:
    """Return the passage at *source* with all of its parts, or ``None``: there is none that *audience* may read.

    The score is 0. An index that cannot be read has none.
    """
    conn = open_own_or_none(home)
    if conn is None:
        return None
    try:
        found = [row for row in schema.rows(conn, _SELECT, (source,)) if home.may_read(row[-1], audience)]
        if not found:
            return None
        _, ts, session, name, role, heading, layer, path = found[0]
        text = "\n".join(row[0] for row in found if row[-1] == path)
        standing = EntryStandings(conn).of(text, layer)
    except (*schema.CORRUPTION_ERRORS, *schema.UNAVAILABLE_ERRORS):
        return None
    finally:
        conn.close()
    return Hit(
        source=source, score=0.0, text=text, layer=layer, ts=ts, path=path, session=session, name=name, role=role,
        heading=heading, standing=standing,
    )  # fmt: skip
