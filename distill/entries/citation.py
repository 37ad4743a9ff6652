"""References to entries: each is noted in the ledger, and restores the entry from the archive.

A citation and its restorations are one commit. A restored entry stands unchanged on top of its section. A live entry
stays as it is. ``distill.entries.decay`` archives unused entries.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_home.clock import parse_time
from agent_home.documents.entry import Entry, section_of
from agent_home.events.recording import record_event
from agent_home.home import MEMORY, Home
from agent_home.store.gateway import Transaction, transaction
from agent_home.store.references import Reference, entry_places, note, quoted_ids, resolve_ids
from agent_home.store.transcript import Turn

from ..learning import evolution

__all__ = ["Cited", "Restored", "cite", "note_mentions", "restore"]

#: Where each entry stands: its paths with its versions, by its id.
_Places = Mapping[str, Sequence[tuple[str, Entry]]]
#: Most ids in a commit's subject. The trailers of a restoring commit name all of them.
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """Result of :func:`cite`. *restored* are those of *ids* that came back from the archive."""

    ids: tuple[str, ...]
    restored: tuple[str, ...] = ()
    commit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """Result of :func:`restore`. *commit* is ``None`` when the entry was live already."""

    id: str
    section: str
    text: str
    commit: str | None = None


def cite(home: Home, ids: Sequence[str], *, now: datetime, session: str = "") -> Cited:
    """Note a reference to each of *ids*, and restore the archived ones to their file.

    Raises:
        NoSuchEntry: one of them is not known. Nothing was written.
        HomeError: see :func:`agent_home.store.gateway.transaction`.
    """
    with transaction(home, actor="cite", message="Cite", session=session, now=now) as edits:
        places = entry_places(home, edits)
        cited = resolve_ids(ids, places)
        edits.message = f"Cite {_enumerate_ids(cited)}"
        restored = _note_and_restore(edits, [_citation(entry_id, now, session) for entry_id in cited], places)
    record_event(home, "citation", session=session, now=now, entries=list(cited), restored=list(restored))
    return Cited(ids=tuple(cited), restored=restored, commit=edits.outcome.commit)


def restore(home: Home, entry_id: str, *, now: datetime) -> Restored:
    """Restore the archived entry unchanged to its section of its file.

    A restoration is a reference, so the entry's age starts again. A live entry stays as it is, and nothing is noted.

    Raises:
        NoSuchEntry: the entry is neither live nor archived.
        HomeError: see :func:`agent_home.store.gateway.transaction`.
    """
    with transaction(home, actor="restore", message="Restore", now=now) as edits:
        places = entry_places(home, edits)
        (known_id,) = resolve_ids([entry_id], places)
        edits.message = f"Restore {known_id}"
        path, entry = places[known_id][0]
        if _is_archived(path):
            _note_and_restore(edits, [_citation(known_id, now, "")], places)
        else:
            _remove_archived_copies(edits, known_id, places)
    return Restored(
        id=known_id, section=_file_and_section(entry)[1], text=entry.render(), commit=edits.outcome.commit
    )  # fmt: skip


def note_mentions(edits: Transaction, turns: Sequence[Turn], restated: Collection[str]) -> tuple[str, ...]:
    """Note, as part of a closing, the entries that the agent named in *turns* and those that the session *restated*.

    Each entry is noted once, at the time of the last turn that named it. Return the ids that came back from the
    archive.
    """
    quoted = [quoted_ids(turn.message.content) if turn.message.role == "assistant" else [] for turn in turns]
    named = {entry_id for ids in quoted for entry_id in ids} | set(restated)
    places = entry_places(edits.home, edits, named) if named else {}
    found: dict[tuple[str, str], Reference] = {}
    for turn, ids in zip(turns, quoted, strict=True):
        ts, session = _time(turn.message.ts, edits.now), turn.message.session
        for entry_id in ids:
            if entry_id in places:
                found[entry_id, "transcript"] = Reference(ts=ts, id=entry_id, by="transcript", session=session)
        found |= {
            (entry_id, "pipeline"): Reference(ts=ts, id=entry_id, by="pipeline", session=session)
            for entry_id in restated
        }
    return _note_and_restore(edits, list(found.values()), places)


def _note_and_restore(edits: Transaction, references: Sequence[Reference], places: _Places) -> tuple[str, ...]:
    """Note *references*, restore the archived entries among them, and return the restored ids."""
    note(edits, references)
    archived = [
        entry_id
        for entry_id in dict.fromkeys(reference.id for reference in references)
        if all(_is_archived(path) for path, _ in places[entry_id])
    ]
    for entry_id in archived:
        _, entry = places[entry_id][-1]
        file, title = _file_and_section(entry)
        edits.write(file, edits.read(file).with_entry(title, entry))
        for path in dict.fromkeys(path for path, _ in places[entry_id]):
            edits.write(path, edits.read(path).without_entry(entry_id))
    return tuple(archived)


def _file_and_section(entry: Entry) -> tuple[str, str]:
    """Return the file and section that *entry* belongs to by its id."""
    own = evolution.section_of(entry.prefix)
    if own:
        return evolution.EVOLUTION, own
    rule = section_of(entry.prefix)
    return MEMORY, rule.title if rule else "Restored"


def _remove_archived_copies(edits: Transaction, entry_id: str, places: _Places) -> None:
    """Remove archived copies that equal the live entry: they remain from a move that never finished."""
    (_, live), *others = places[entry_id]
    for path, copy in others:
        if _is_archived(path) and copy.raw.strip() == live.raw.strip():
            edits.write(path, edits.read(path).without_entry(entry_id))


def _citation(entry_id: str, now: datetime, session: str) -> Reference:
    return Reference(ts=now.isoformat(timespec="seconds"), id=entry_id, by="cite", session=session)


def _is_archived(path: str) -> bool:
    return path.startswith("Archive/")


def _time(ts: str, now: datetime) -> str:
    """Return *ts*, but never later than *now*: a clock that runs ahead must not keep an entry for years."""
    try:
        moment = parse_time(ts)
    except ValueError:
        moment = now
    return min(moment, now).isoformat(timespec="seconds")


def _enumerate_ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _MAX_NAMED} more" if len(ids) > _MAX_NAMED else ""
    return ", ".join(ids[:_MAX_NAMED]) + more
