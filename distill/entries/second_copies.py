"""Entries that stand in two places: archived by one machine and changed by another one, or archived by both.

No version is lost. What can be merged field by field is merged into one entry. A version with other words keeps them in
the archive, under an id of its own and superseded by the entry that stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_home.documents.document import Document
from agent_home.documents.entry import Entry
from agent_home.documents.entry_merge import conflicting_version, merged_entry
from agent_home.home import MEMORY
from agent_home.store.gateway import Transaction
from agent_home.store.references import entry_places

__all__ = ["second_copies", "settle_second_copies"]

Places = Mapping[str, Sequence[tuple[str, Entry]]]


@dataclass(frozen=True, slots=True)
class _Copies:
    """An entry that stays at *path*, and its other versions, which are all in the archive."""

    path: str
    entry: Entry
    others: tuple[tuple[str, Entry], ...]


def second_copies(places: Places) -> list[str]:
    """Return the ids of entries that :func:`settle_second_copies` leaves in one place.

    One exact copy in memory and one in the archive are none of them: ``distill.entries.decay`` decides which one stays.
    """
    return list(_copies_by_id(places))


def settle_second_copies(edits: Transaction) -> tuple[str, ...]:
    """Leave each entry in one place, without losing a version, and return the ids."""
    places = entry_places(edits.home, edits)
    taken = {entry_id: found[0][1] for entry_id, found in places.items()}
    settled = _copies_by_id(places)
    for entry_id, copies in settled.items():
        entry = copies.entry
        for path, other in copies.others:
            before = edits.read(path)
            document = before.without_entry(entry_id)
            merged = merged_entry(None, entry, other)
            if merged is None:
                section = _section_title(before, entry_id)
                version = _superseded_version(entry_id, other, taken)
                taken[version.id] = version
                document = document.with_entry(section, version)
            edits.write(path, document)
            entry = merged or _ended_as(entry, other)
        if entry.render() != copies.entry.render():
            edits.write(copies.path, edits.read(copies.path).with_entry_changed(entry))
    return tuple(settled)


def _copies_by_id(places: Places) -> dict[str, _Copies]:
    return {entry_id: copies for entry_id, found in places.items() if (copies := _copies(found)) is not None}


def _copies(places: Sequence[tuple[str, Entry]]) -> _Copies | None:
    """Return the versions in *places*, or ``None`` where there is one, or more than one outside the archive."""
    live = [place for place in places if not place[0].startswith("Archive/")]
    archived = [place for place in places if place[0].startswith("Archive/")]
    if len({path for path, _ in places}) < max(len(places), 2) or len(live) > 1 or any(p != MEMORY for p, _ in live):
        return None
    if live and {entry.raw.strip() for _, entry in places} == {live[0][1].raw.strip()} and len(archived) == 1:
        return None
    path, entry = live[0] if live else archived[-1]
    return _Copies(path, entry, tuple(archived if live else archived[:-1]))


def _ended_as(entry: Entry, other: Entry) -> Entry:
    """Return *entry* with the end that a machine gave its *other* version: it does not begin again by a merge."""
    if not (other.resolved or other.retired) or entry.fields.get("State"):
        return entry
    return entry.changed(fields={**entry.fields, "State": other.fields["State"]})


def _superseded_version(entry_id: str, entry: Entry, taken: Mapping[str, Entry]) -> Entry:
    """Return *entry* under a new id, superseded by the entry that stays. The same version gives the same id."""
    version = conflicting_version(entry_id, entry, taken)
    return version.changed(fields={**entry.fields, "Superseded-By": entry_id})


def _section_title(document: Document, entry_id: str) -> str:
    titles = (section.title for section in document.sections(level=2))
    return next(title for title in titles if any(entry.id == entry_id for entry in document.section_entries(title)))
