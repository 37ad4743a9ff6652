"""Trace an entry to its origin: its commits, the sessions that they name, and the turns that it cites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from .. import storage
from ..documents.check import entry_files
from ..documents.document import parse
from ..documents.entry import Entry, normalise_id
from ..documents.placement import as_entry
from ..documents.standing import EntryState, Standing, standings
from ..errors import DocumentInvalid, NoSuchEntry
from ..git import history
from ..git.history import Event
from ..home import Home
from ..suggestions import near_names
from . import proposals, transcript

__all__ = ["CitedTurn", "Lineage", "cited_turns", "lineage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedTurn:
    """A turn that an entry names as its source.

    A turn that is not on this machine is not *found* and otherwise empty.
    """

    source: str
    found: bool
    ts: str = ""
    role: str = ""
    text: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """An entry's place and history. *entry* is its text now, or its last one when it was removed.

    *standing* says whether an entry that is there still holds. *supersedes* has the older entries that it replaces.
    *question* is what a person is asked about its end.
    """

    id: str
    state: EntryState | Literal["proposed", "removed"]
    path: str
    entry: Entry | None
    events: tuple[Event, ...]
    turns: tuple[CitedTurn, ...]
    standing: Standing = field(default_factory=Standing)
    supersedes: tuple[str, ...] = ()
    question: str = ""

    @property
    def words(self) -> str:
        """The state for a person, with what ended the entry and when."""
        return self.state if self.state in {"proposed", "removed"} else self.standing.words


def lineage(home: Home, spelled: str, histories: Mapping[str, Sequence[Event]] | None = None) -> Lineage:
    """Return the lineage of the entry with that id, wherever it is now. Events are oldest first.

    *histories* are those of all entries, each newest first (``agent_home.git.entries.entry_events``). Without them, git
    searches its whole history for this entry.

    Raises:
        NoSuchEntry: git knows no such entry, and none is there or proposed.
    """
    entry_id = normalise_id(spelled)
    if histories is None:
        events = history.entry_history(home.root, entry_id)
    else:
        events = list(reversed(histories.get(entry_id, ())))
    found = _present(home, entry_id) or _proposed(home, entry_id) or _removed(home, entry_id, events)
    if found is None:
        raise NoSuchEntry(spelled.strip(), near_names(entry_id, proposals.taken_ids(home)))
    turns = tuple(cited_turns(home, found.entry)) if found.entry else ()
    return replace(found, events=(*events, *found.events), turns=turns)


def cited_turns(home: Home, entry: Entry) -> Iterator[CitedTurn]:
    """Yield the turns that the entry's ``Sources`` name, in their order."""
    read: dict[str, dict[str, transcript.Message]] = {}
    for source in filter(None, (part.strip() for part in entry.fields.get("Sources", "").split(","))):
        session = source.rpartition("#")[0]
        if session and session not in read:
            path = transcript.session_path(home, session)
            turns = transcript.read(path) if path is not None else []
            read[session] = {turn.message.source: turn.message for turn in turns}
        message = read.get(session, {}).get(source)
        if message is None:
            yield CitedTurn(source=source, found=False)
        else:
            yield CitedTurn(
                source=source, found=True, ts=message.ts, role=message.role, text=message.content, name=message.name
            )


def _present(home: Home, entry_id: str) -> Lineage | None:
    """Return the entry if a file has it. All files are read, because an entry of any may name it as superseded."""
    found: dict[bool, list[Entry]] = {True: [], False: []}
    place: tuple[str, Entry] | None = None
    for path in entry_files(home):
        try:
            document = parse(storage.read_text(home.path(path)))
        except DocumentInvalid:
            if place is None:
                raise
            continue  # it may hold a successor, and the entry itself is there
        found[path.startswith("Archive/")] += document.entries()
        entry = document.entry(entry_id) if place is None else None
        place = place if entry is None else (path, entry)
    if place is None:
        return None
    known = standings(found[False], found[True], around=entry_id)
    path, entry = place
    asked = None if known[entry_id].ended else proposals.find(home, entry_id)
    older = tuple(sorted(name for name, standing in known.items() if standing.by == entry_id))
    return Lineage(
        id=entry_id, state=known[entry_id].state, path=path, entry=entry, events=(), turns=(),
        standing=known[entry_id], supersedes=older,
        question=asked.trailers.get("Doubt", "") if asked is not None and asked.ends else "",
    )  # fmt: skip


def _proposed(home: Home, entry_id: str) -> Lineage | None:
    proposal = next((proposal for proposal in proposals.waiting(home) if proposal.id == entry_id), None)
    if proposal is None:
        return None
    said = proposal.trailers
    event = Event(
        ts=proposal.ts, action="proposed", commit=proposal.commit, session=said.get("Session", ""),
        evidence=said.get("Evidence", ""), actor=said.get("Actor", ""), subject=proposal.subject, file=proposal.path,
    )  # fmt: skip
    entry = as_entry(proposal.text)
    return Lineage(id=entry_id, state="proposed", path=proposal.path, entry=entry, events=(event,), turns=())


def _removed(home: Home, entry_id: str, events: list[Event]) -> Lineage | None:
    """Return the entry as it was before the last commit that names it, or ``None``."""
    if not events:
        return None
    last = events[-1]
    texts = history.texts_at(home.root, [(f"{last.commit}^", last.file), (last.commit, last.file)])
    entry = next((entry for text in texts if (entry := parse(text).entry(entry_id)) is not None), None)
    return Lineage(id=entry_id, state="removed", path=last.file, entry=entry, events=(), turns=())
