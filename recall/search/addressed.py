"""Look up the passage at an address, which a search has returned before."""

from __future__ import annotations

from agent_home.home import Home

from ..index.reader import IndexUnreadable
from ..index.store import index_store
from .hybrid import Hit
from .standing import EntryStandings

__all__ = ["passage_at"]


def passage_at(home: Home, source: str, *, audience: str = "owner") -> Hit | None:
    """Return the passage at *source* with all of its parts, or ``None``: there is none that *audience* may read.

    The score is 0. An index that cannot be read has none.
    """
    plain = source.encode("utf-8", "replace").decode("utf-8")  # no store can look for a lone surrogate
    try:
        with index_store(home).reading(searching=False) as reader:
            if reader is None:
                return None
            found = [row for row in reader.passages_at(plain) if home.may_read(row[-1], audience)]
            if not found:
                return None
            _, ts, session, name, role, heading, layer, path = found[0]
            text = "\n".join(row[0] for row in found if row[-1] == path)
            standing = EntryStandings(reader).of(text, layer)
    except IndexUnreadable:
        return None
    return Hit(
        source=source, score=0.0, text=text, layer=layer, ts=ts, path=path, session=session, name=name, role=role,
        heading=heading, standing=standing,
    )  # fmt: skip
