"""An entry is referred to: the ledger remembers it, and an entry that had been archived comes back.

Whatever happens, it is one commit. An entry comes back to the letter, on top of its section; one that is live already
stays as it is. When an unused entry leaves is ``distill.entries.decay``'s business.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_home.clock import parse_time
from agent_home.documents.entry import Entry, section_of
from agent_home.home import MEMORY, Home
from agent_home.store.gateway import Transaction, transaction
from agent_home.store.references import Reference, entry_places, meant, note, quoted_ids
from agent_home.store.transcript import Turn

from ..learning import evolution

__all__ = ["Cited", "Restored", "cite", "note_mentions", "restore"]

_Places = Mapping[str, Sequence[tuple[str, Entry]]]
#: Ids that a commit's subject names; the trailers of a restoring commit name them all.
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """What :func:`cite` did. *restored* are those of *ids* that came back from the archive."""

    ids: tuple[str, ...]
    restored: tuple[str, ...] = ()
    commit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What :func:`restore` did. *commit* is ``None`` when the entry was live already."""

    id: str
    section: str
    text: str
    commit: str | None = None


def cite(home: Home, ids: Sequence[str], *, now: datetime, session: str = "") -> Cited:
    """Note that *ids* were referred to now. Those that are archived come back to their file.

    Raises:
        NoSuchEntry: one of them is not known; nothing was written.
        HomeError: see :func:`agent_home.store.gateway.transaction`.
    """
    with transaction(home, actor="cite", message="Cite", session=session, now=now) as edits:
        places = entry_places(home, edits)
        wanted = meant(ids, places)
        edits.message = f"Cite {_named(wanted)}"
        restored = _refer(edits, [_cited(one, now, session) for one in wanted], places)
    return Cited(ids=tuple(wanted), restored=restored, commit=edits.outcome.commit)


def restore(home: Home, entry_id: str, *, now: datetime) -> Restored:
    """Bring the archived entry back to its section of its file, to the letter.

    Asking for it is a reference: it ages anew. An entry that is live already stays as it is, and nothing is noted.

    Raises:
        NoSuchEntry: it is neither live nor archived.
        HomeError: see :func:`agent_home.store.gateway.transaction`.
    """
    with transaction(home, actor="restore", message="Restore", now=now) as edits:
        places = entry_places(home, edits)
        (wanted,) = meant([entry_id], places)
        edits.message = f"Restore {wanted}"
        path, entry = places[wanted][0]
        if _is_archived(path):
            _refer(edits, [_cited(wanted, now, "")], places)
        else:
            _leave_archive(edits, wanted, places)
    return Restored(
        id=wanted, section=_home_of(entry)[1], text=entry.render(), commit=edits.outcome.commit
    )  # fmt: skip


def note_mentions(edits: Transaction, turns: Sequence[Turn], same: Collection[str]) -> tuple[str, ...]:
    """Note, as part of a closing, which entries the agent named in *turns* and which the session said again (*same*).

    Each entry is noted once, at the time of the last turn that named it. Returns those that came back from the archive.
    """
    places = entry_places(edits.home, edits)
    found: dict[tuple[str, str], Reference] = {}
    for turn in turns:
        ts, session = _time(turn.message.ts, edits.now), turn.message.session
        if turn.message.role == "assistant":
            for one in quoted_ids(turn.message.content):
                if one in places:
                    found[one, "transcript"] = Reference(ts=ts, id=one, by="transcript", session=session)
        found |= {(one, "pipeline"): Reference(ts=ts, id=one, by="pipeline", session=session) for one in same}
    return _refer(edits, list(found.values()), places)


def _refer(edits: Transaction, references: Sequence[Reference], places: _Places) -> tuple[str, ...]:
    """Note *references*, and bring back what they name in the archive; the ids that came back."""
    note(edits, references)
    archived = [one for one in dict.fromkeys(r.id for r in references) if all(_is_archived(p) for p, _ in places[one])]
    for one in archived:
        _, entry = places[one][-1]
        file, title = _home_of(entry)
        edits.write(file, edits.read(file).with_entry(title, entry))
        for path in dict.fromkeys(path for path, _ in places[one]):
            edits.write(path, edits.read(path).without_entry(one))
    return tuple(archived)


def _home_of(entry: Entry) -> tuple[str, str]:
    """The file and section that *entry* belongs to by its id."""
    own = evolution.section_of(entry.prefix)
    if own:
        return evolution.EVOLUTION, own
    rule = section_of(entry.prefix)
    return MEMORY, rule.title if rule else "Restored"


def _leave_archive(edits: Transaction, entry_id: str, places: _Places) -> None:
    """Take the archived copies of a live entry away that say the same to the letter: its move was never finished."""
    (_, live), *others = places[entry_id]
    for path, copy in others:
        if _is_archived(path) and copy.raw.strip() == live.raw.strip():
            edits.write(path, edits.read(path).without_entry(entry_id))


def _cited(entry_id: str, now: datetime, session: str) -> Reference:
    return Reference(ts=now.isoformat(timespec="seconds"), id=entry_id, by="cite", session=session)


def _is_archived(path: str) -> bool:
    return path.startswith("Archive/")


def _time(ts: str, now: datetime) -> str:
    """When something was said, never later than *now*: a clock that runs ahead must not keep an entry for years."""
    try:
        moment = parse_time(ts)
    except ValueError:
        moment = now
    return min(moment, now).isoformat(timespec="seconds")


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _MAX_NAMED} more" if len(ids) > _MAX_NAMED else ""
    return ", ".join(ids[:_MAX_NAMED]) + more
