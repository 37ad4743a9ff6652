"""Notes: entries that somebody writes on purpose, and threads that somebody ends on purpose.

A note is screened, compared with the live entries and committed like an entry of a closing. A note that is known
already adds nothing, and counts as a reference to the known entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agent_home import storage
from agent_home.documents.check import entry_files
from agent_home.documents.document import Document, parse
from agent_home.documents.entry import Entry, SectionRule, new_id, section_of, superseded_by
from agent_home.errors import GuardRefused
from agent_home.home import MEMORY, Home
from agent_home.screening.quarantine import Quarantined
from agent_home.screening.service import ScreeningService
from agent_home.store import proposals
from agent_home.store.gateway import transaction
from agent_home.store.references import resolve_ids
from recall.text.identity import identity_key

from ..errors import NotLive
from ..reading.labels import kind_of_request
from ..statements.dated_words import add_dates
from .citation import cite
from .consolidation import Link, consolidate
from .operations import retired
from .promotion import PREFIXES, statement_key
from .withheld import has_placeholder, is_empty_without, withheld_words

__all__ = ["NOTE_TYPES", "Finished", "NoteType", "Remembered", "finish", "remember"]

NoteType = Literal["preference", "decision", "lesson", "correction", "thread", "fact"]
#: The prefix of the section of each type of note.
NOTE_TYPES: Mapping[NoteType, str] = {
    "preference": "SP",
    "decision": "KD",
    "lesson": "LL",
    "correction": "CO",
    "thread": "OT",
    "fact": "RC",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """Result of :func:`remember`. *known*: an entry said the same, and *id* is that entry.

    *superseded* links older entries to the note. *quarantined* is not empty when the guard held the note back.
    *forgotten* are words of the note that ``memory forget`` keeps out of memory.
    """

    id: str
    section: str
    text: str
    known: bool = False
    superseded: tuple[Link, ...] = ()
    redacted: int = 0
    forgotten: str = ""
    quarantined: tuple[Quarantined, ...] = ()
    commit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Result of :func:`finish`. *state* is the entry's state. *commit* is ``None`` when it was resolved before."""

    id: str
    section: str
    text: str
    state: str
    commit: str | None = None


def remember(
    home: Home,
    text: str,
    *,
    now: datetime,
    kind: NoteType | None = None,
    about: str = "",
    until: str = "",
    origin: Literal["user", "agent"] = "user",
    dry_run: bool = False,
) -> Remembered:
    """Write *text* as an entry of ``MEMORY.md`` in one commit.

    Args:
        home: the home.
        text: the statement, on one or several lines.
        now: the time of the note.
        kind: the type of the note. Without it, the words of *text* decide.
        about: whom or what the note is about.
        until: the last day on which the note holds, ISO 8601.
        origin: who says it. A note of the agent supersedes nothing of the user.
        dry_run: return the plan and write nothing. Its id is the one that the note would get.

    Raises:
        ValueError: *text* is empty.
        GuardRefused: the guard would leave nothing of *text*, or cannot run.
        HomeError: see :func:`agent_home.store.gateway.transaction`. Nothing was written.
    """
    text = add_dates(" ".join(text.split()), now.date())
    if not text:
        raise ValueError("the text is empty")
    screened = _screened(home, text, origin)
    forgotten = withheld_words(text, screened)
    rule = _section(text, kind)
    fields = {"Origin": origin, "About": " ".join(about.split()), "Until": until}
    note = Entry(
        id=f"{rule.prefix}-0000", date=f"{now:%Y-%m-%d}", title=text,
        fields={name: value for name, value in fields.items() if value},
    )  # fmt: skip
    known = _find(home, note)
    if known is not None:
        commit = None if dry_run else cite(home, [known.id], now=now).commit
        return Remembered(id=known.id, section=rule.title, text=known.text, known=True, commit=commit)
    if dry_run:
        planned = new_id(rule.prefix, _seed(note), proposals.taken_ids(home))
        return Remembered(id=planned, section=rule.title, text=text)
    with transaction(home, actor="remember", message="Remember", source=origin, now=now) as edits:
        note = note.changed(id=edits.new_id(rule.prefix, _seed(note)))
        edits.message = f"Remember {note.id}"
        added = edits.read(MEMORY).with_entry(rule.title, note)
        fresh = [] if has_placeholder(screened) else [note.id]
        done = consolidate({MEMORY: added}, archive="", fresh=fresh)
        edits.write(MEMORY, done.documents[MEMORY])
    stored = edits.outcome.entries.get(done.merged[0].newer if done.merged else note.id)
    return Remembered(
        id=stored.id if stored else note.id, section=rule.title, text=stored.text if stored else text,
        known=bool(done.merged), superseded=done.superseded, redacted=edits.outcome.redacted, forgotten=forgotten,
        quarantined=edits.outcome.quarantined, commit=edits.outcome.commit,
    )  # fmt: skip


def finish(home: Home, entry_id: str, *, now: datetime, how: str = "", dry_run: bool = False) -> Finished:
    """Mark the live entry *entry_id* as resolved today, with a short remark *how*. A resolved one stays as it is.

    Raises:
        NoSuchEntry: no entry of ``MEMORY.md`` or of the archive has that id.
        NotLive: the entry is archived, or in another file, or superseded.
        HomeError: see :func:`agent_home.store.gateway.transaction`. Nothing was written.
    """
    if dry_run:
        return _finished(home, entry_id, parse(storage.read_text(home.root / MEMORY)), now, how)[1]
    with transaction(home, actor="done", message="Done", source="user", now=now) as edits:
        document, result = _finished(home, entry_id, edits.read(MEMORY), now, how)
        edits.message = f"Resolve {result.id}"
        edits.write(MEMORY, document)
    return Finished(
        id=result.id, section=result.section, text=result.text, state=result.state, commit=edits.outcome.commit
    )  # fmt: skip


def _finished(home: Home, entry_id: str, memory: Document, now: datetime, how: str) -> tuple[Document, Finished]:
    entries = {entry.id: entry for entry in memory.entries()}
    elsewhere = {
        entry.id: path
        for path in entry_files(home)
        if path != MEMORY
        for entry in parse(storage.read_text(home.root / path)).entries()
    }
    (known,) = resolve_ids([entry_id], {**elsewhere, **entries})
    if known not in entries:
        raise NotLive(known, f"it is in {elsewhere[known]}")
    newer = superseded_by(entries.values()).get(known)
    if newer:
        raise NotLive(known, f"{newer} superseded it")
    entry = entries[known]
    if not entry.retired:
        entry = retired(entry, "resolve", f"{now:%Y-%m-%d}", "", how)
        memory = memory.with_entry_changed(entry)
    rule = section_of(entry.prefix)
    return memory, Finished(
        id=known, section=rule.title if rule else "", text=entry.text, state=entry.fields["State"]
    )  # fmt: skip


def _screened(home: Home, text: str, origin: str) -> str:
    """Return *text* as the guard stores it.

    Raises:
        GuardRefused: nothing of it would be left, or the guard cannot run.
    """
    verdict = ScreeningService(home).verdict(MEMORY, text, origin)
    if not verdict.stored or not is_empty_without(verdict.text):
        return verdict.text
    forgotten = withheld_words(text, verdict.text)
    known = f"{forgotten!r} was forgotten with `memory forget`"
    raise GuardRefused(MEMORY, known if forgotten else f"nothing would be left of it but {verdict.text!r}")


def _section(text: str, kind: NoteType | None) -> SectionRule:
    prefix = NOTE_TYPES[kind] if kind else PREFIXES.get(kind_of_request(text), NOTE_TYPES["fact"])
    rule = section_of(prefix)
    assert rule is not None  # noqa: S101 - every prefix of the tables has a section
    return rule


def _find(home: Home, note: Entry) -> Entry | None:
    """Return the live or archived entry of the same section that says the same as *note*."""
    key = statement_key(note)
    for path in _memory_first(entry_files(home)):
        entries = list(parse(storage.read_text(home.root / path)).entries())
        replaced = superseded_by(entries)
        for entry in entries:
            live = not entry.retired and entry.id not in replaced
            if live and entry.prefix == note.prefix and statement_key(entry) == key:
                return entry
    return None


def _memory_first(paths: Sequence[str]) -> list[str]:
    return sorted((path for path in paths if path == MEMORY or path.startswith("Archive/")), key=lambda p: p != MEMORY)


def _seed(note: Entry) -> str:
    return f"note\0{identity_key(note.text)}\0{note.date}"
