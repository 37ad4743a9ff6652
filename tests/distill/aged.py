"""Entries of chosen age for tests of archiving."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry, section_of
from agent_home.home import Home
from agent_home.store.gateway import Transaction, transaction

__all__ = ["archived_ids", "keep", "live_ids", "put"]


def keep(
    home: Home, entry_id: str, day: str, *, title: str = "", fields: Mapping[str, str] | None = None, body: str = ""
) -> Entry:
    """Put an entry of that *day* into its section of ``MEMORY.md``."""
    now = datetime.fromisoformat(f"{day or '2026-01-01'}T12:00:00+00:00")
    with transaction(home, actor="test", message="Add an entry", now=now) as edits:
        return put(edits, entry_id, day, title=title, fields=fields, body=body)


def put(
    edits: Transaction, entry_id: str, day: str, *, title: str = "", fields: Mapping[str, str] | None = None,
    body: str = "",
) -> Entry:  # fmt: skip
    """Do the same in a transaction, which may put several: each commit takes its time."""
    rule = section_of(entry_id[:2])
    assert rule is not None
    entry = Entry(id=entry_id, date=day, title=title or f"title of {entry_id}", body=body, fields=fields or {})
    edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry(rule.title, entry))
    return entry


def live_ids(home: Home) -> list[str]:
    """Return the ids in ``MEMORY.md``, in file order."""
    return [entry.id for entry in parse(storage.read_text(home.root / "MEMORY.md")).entries()]


def archived_ids(home: Home) -> list[str]:
    """Return the ids in the archive, in the order of its files."""
    files = sorted((home.root / "Archive").glob("MEMORY-*.md"))
    return [entry.id for file in files for entry in parse(storage.read_text(file)).entries()]
