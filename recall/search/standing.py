"""Standing of the entries that a search finds: live, superseded, resolved, retracted or archived.

The index holds the entries as their files do, so nothing has to be opened. Links between entries count both ways,
whichever of the two names the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from agent_home.documents.entry import Entry, parse_entry, superseded_by
from agent_home.documents.standing import Standing, standing_of
from agent_home.home import Home

from ..index.reader import IndexReader, IndexUnreadable
from ..index.store import index_store

__all__ = ["ENTRY_LAYERS", "EntryStandings", "FoundEntry", "ended_entries"]

#: Layers whose files have entries.
ENTRY_LAYERS = ("memory", "archive")
#: Texts that a process keeps as entries: about a kilobyte each.
_KEPT = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEntry:
    """An entry of the index, looked up by its id."""

    source: str
    text: str
    ts: str
    heading: str
    layer: str
    path: str
    standing: Standing


def ended_entries(home: Home) -> tuple[Entry, ...]:
    """Return the entries of the index that ended or superseded one. An index that cannot be read has none."""
    try:
        with index_store(home).reading(searching=False) as reader:
            texts = () if reader is None else reader.entry_texts(ended=True)
    except IndexUnreadable:
        return ()  # the search of the same prompt reports it
    return tuple(entry for text in texts if (entry := _entry(text)) is not None)


class EntryStandings:
    """The standings of all entries in the index. The links are read when the first entry is asked about."""

    def __init__(self, reader: IndexReader) -> None:
        self._reader = reader
        self._linked: list[Entry] | None = None
        self._newer: dict[str, str] = {}
        self._dates: dict[str, str] = {}

    def of(self, text: str, layer: str) -> Standing | None:
        """Return the standing of the entry that *text* is, or ``None`` if it is none."""
        entry = _entry(text) if layer in ENTRY_LAYERS else None
        if entry is None:
            return None
        self._load()
        by = self._newer.get(entry.id, "")
        if by and by not in self._dates:
            found = self._reader.entry(by)
            self._dates[by] = found[2] if found else ""
        return standing_of(entry, self._newer, self._dates, archived=layer == "archive")

    def successors(self, standing: Standing | None) -> list[str]:
        """Return the ids of the entries that superseded an entry, newest first."""
        if standing is None or standing.ended != "superseded":
            return []
        self._load()
        found, last = list[str](), standing.by
        while last and last not in found:
            found.append(last)
            last = self._newer.get(last, "")
        return found[::-1]

    def newest(self, standing: Standing | None) -> FoundEntry | None:
        """Return the last entry of the chain that superseded an entry, if its statement still holds."""
        if standing is None or standing.ended != "superseded":
            return None
        last = standing.by
        while last in self._newer:
            last = self._newer[last]
        row = self._reader.entry(last)
        found = self.of(row[1], row[4]) if row else None
        if row is None or found is None or found.ended:
            return None
        source, text, ts, heading, layer, path = row
        return FoundEntry(source=source, text=text, ts=ts, heading=heading, layer=layer, path=path, standing=found)

    def _load(self) -> None:
        if self._linked is None:
            self._linked = [
                entry for text in self._reader.entry_texts(ended=False) if (entry := _entry(text)) is not None
            ]
            self._newer = superseded_by(self._linked)
            self._dates = {entry.id: entry.date for entry in self._linked}


@lru_cache(maxsize=_KEPT)
def _entry(text: str) -> Entry | None:
    """Return the entry that *text* is. Entries are not changed, and a process searches the same ones again."""
    return parse_entry(text if text.endswith("\n") else text + "\n")
