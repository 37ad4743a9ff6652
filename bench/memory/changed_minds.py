"""Close short conversations in which users change their mind, and read what became of the entry that they told before.

Each conversation has one or two sessions. In half of them the entry should end, in the other half the words are alike
and it should stand. A first sentence that becomes no entry of two sessions is noted, as with ``memory remember``.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from agent_home import storage
from agent_home.creation import create
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry, superseded_by
from agent_home.home import MEMORY, Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.close import close
from distill.entries.notes import remember
from distill.summary.composition import Models
from recall.embedding.embedder import Embedder, NoEmbedder

__all__ = ["Change", "ChangeFate", "close_change", "count_changes", "read_changes"]

#: What becomes of the older entry. *unstated*: it ended, and its new value is no entry. *beside*: both stand.
ChangeFate = Literal["ended", "unstated", "asked", "beside", "standing", "absent"]
_FIRST = datetime(2026, 11, 2, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A conversation. *old* and *new* are words of the older entry and of the one that should replace it, if any.

    *ends* says whether the older entry should end. *half* is ``development`` where the rules were tuned on it.
    """

    id: str
    half: str
    lang: str
    kind: str
    ends: bool
    sessions: tuple[tuple[tuple[str, str], ...], ...]
    old: str
    new: str = ""


def read_changes(path: Path) -> list[Change]:
    """Read conversations, one on each line."""
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip())
    return [
        Change(**{**row, "sessions": tuple(tuple((role, said) for role, said in turns) for turns in row["sessions"])})
        for row in rows
    ]


def count_changes(
    changes: Iterable[Change], embedder: Embedder | NoEmbedder | None = None
) -> Counter[tuple[str, str, bool, ChangeFate]]:
    """Count *changes* by half, kind, whether the entry should end, and its fate."""
    return Counter((change.half, change.kind, change.ends, close_change(change, embedder)) for change in changes)


def close_change(change: Change, embedder: Embedder | NoEmbedder | None = None) -> ChangeFate:
    """Close the sessions of *change* in a new home. Return what became of the older entry."""
    models = Models(embedder=(lambda: embedder) if embedder is not None else None)
    with tempfile.TemporaryDirectory(prefix="change-") as folder:
        home = create(Path(folder) / "home", name="Assistant", now=_FIRST).home
        asked: set[str] = set()
        for number, turns in enumerate(change.sessions):
            start = _FIRST + timedelta(weeks=number)
            messages = [
                Message(
                    session=f"s{number}", id=f"m{place}", ts=(start + timedelta(minutes=place)).isoformat(),
                    role=role, name="", content=said,
                )
                for place, (role, said) in enumerate(turns, 1)
            ]  # fmt: skip
            now = start + timedelta(hours=1)
            transcript.append(home, f"s{number}", messages, actor="import", now=now)
            closed = close(home, f"s{number}", now=now, models=models)
            asked |= {item.id for item in closed.changed if item.asked}
            if number + 1 < len(change.sessions) and not any(change.old in entry.text for entry in _live(home)):
                remember(home, turns[0][1], now=now)
        return _fate(change, home, asked)


def _fate(change: Change, home: Home, asked: set[str]) -> ChangeFate:
    live = _live(home)
    stated = not change.new or any(change.new in entry.text for entry in live)
    old = [entry for entry in live if change.old in entry.text and not (change.new and change.new in entry.text)]
    if old:
        return "asked" if any(entry.id in asked for entry in old) else "beside" if change.new and stated else "standing"
    if not stated:
        return "unstated"
    known = any(change.old in entry.text for entry in parse(storage.read_text(home.root / MEMORY)).entries())
    return "ended" if known or change.new else "absent"


def _live(home: Home) -> list[Entry]:
    entries = list(parse(storage.read_text(home.root / MEMORY)).entries())
    replaced = superseded_by(entries)
    return [entry for entry in entries if not entry.retired and entry.id not in replaced]
