"""Notes: entries that somebody writes on purpose, and threads that somebody ends on purpose.

A note is screened, compared with the live entries and committed like an entry of a closing. A note that is known
already adds nothing, and counts as a reference to the known entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Literal, NamedTuple

from agent_home import storage
from agent_home.documents.check import entry_files
from agent_home.documents.document import Document, parse
from agent_home.documents.entry import Entry, SectionRule, new_id, section_of, superseded_by
from agent_home.errors import GuardRefused
from agent_home.home import MEMORY, Home
from agent_home.screening.quarantine import Quarantined
from agent_home.screening.service import ScreeningService
from agent_home.store import proposals
from agent_home.store.gateway import WriteOutcome, prepare, transaction
from agent_home.store.references import resolve_ids
from guard import Verdict
from recall.text.identity import identity_key

from ..errors import NotLive
from ..reading.classifier import Act, likely_act
from ..reading.labels import kind_of_request
from ..statements.dated_words import add_dates
from .archived_statements import statement_key
from .carried import with_all_kept
from .citation import cite
from .consolidation import Consolidation, Link, consolidate
from .operations import retired
from .promotion import PREFIXES
from .resolution import doubted_entries
from .withheld import has_placeholder, is_empty_without, withheld_words

__all__ = [
    "NOTE_TYPES",
    "Finished",
    "JudgedNote",
    "NoteOrigin",
    "NoteType",
    "Remembered",
    "draft_note",
    "finish",
    "remember",
]

NoteType = Literal["preference", "decision", "lesson", "correction", "thread", "fact"]
#: Who writes a note. A participant's goes through ``distill.participant_notes``.
NoteOrigin = Literal["user", "agent", "participant"]
#: The prefix of the section of each type of note.
NOTE_TYPES: Mapping[NoteType, str] = {
    "preference": "SP",
    "decision": "KD",
    "lesson": "LL",
    "correction": "CO",
    "thread": "OT",
    "fact": "RC",
}
#: Section of a note by the act that the trained reader takes it for.
_ACT_PREFIXES: Mapping[Act, str] = {
    "preference": "SP", "decision": "KD", "lesson": "LL", "thread": "OT", "fact": "RC",
}  # fmt: skip
#: Why a note waits that the guard does not let through.
HELD_BACK = "the guard holds it back"
#: Reason of a link that a person asked for.
NAMED_BY_A_PERSON = "named with --replaces"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """Result of :func:`remember`. *known*: an entry said the same, and *id* is that entry.

    *superseded* links older entries to the note. *doubted* are live entries that the note perhaps contradicts, by id.
    They stand nevertheless. *quarantined* is not empty when the guard held the note back. *waits* says why the note
    waits for a person, or in a dry run would wait: then memory does not have it. *forgotten* are words of the note that
    ``memory forget`` keeps out of memory.
    """

    id: str
    section: str
    text: str
    known: bool = False
    superseded: tuple[Link, ...] = ()
    doubted: Mapping[str, str] = field(default_factory=dict)
    redacted: int = 0
    forgotten: str = ""
    quarantined: tuple[Quarantined, ...] = ()
    waits: str = ""
    commit: str | None = None


class JudgedNote(NamedTuple):
    """A note before it is written: the entry without its final id, its section, and the text as the guard stores it."""

    entry: Entry
    section: SectionRule
    verdict: Verdict


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
    replaces: str = "",
    tags: Sequence[str] = (),
    origin: NoteOrigin = "user",
    session: str = "",
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
        replaces: the id of a live entry that the note supersedes. Without *kind*, the note gets its section.
        tags: words by which the note is found. A comma ends one.
        origin: who says it. Only the user's notes supersede entries of others.
        session: the session in which it was said, for the commit and the guard.
        dry_run: return the plan and write nothing. Its id is the one that the note would get.

    Raises:
        ValueError: *text* is empty, or *until* is no ISO date or a day that is over.
        GuardRefused: the guard would leave nothing of *text*, or cannot run.
        NoSuchEntry: no entry has the id *replaces*.
        NotLive: that entry is archived, in another file, superseded, resolved, protected, or of another origin than
            a note that is not the user's.
        HomeError: see :func:`agent_home.store.gateway.transaction`. Nothing was written.
    """
    draft = draft_note(home, text, now=now, kind=kind, about=about, until=until, tags=tags, origin=origin)
    note, rule, verdict = draft
    if not dry_run:
        prepare(home, now)
    older = _replaceable(home, replaces, parse(storage.read_text(home.root / MEMORY)), origin) if replaces else None
    if older and not kind:
        rule = section_of(older.prefix) or rule
        note = note.changed(id=f"{rule.prefix}-0000")
    known = _find(home, note)
    if known is not None and (older is None or known.id == older.id):
        return _known(home, known, rule.title, now, dry_run=dry_run)
    if dry_run:
        return _planned(home, note, rule, verdict)
    with transaction(home, actor="remember", message="Remember", session=session, source=origin, now=now) as edits:
        note = note.changed(id=edits.new_id(rule.prefix, _seed(note)))
        edits.message = f"Remember {note.id}"
        added = edits.read(MEMORY).with_entry(rule.title, note)
        fresh = [] if has_placeholder(verdict.text) else [note.id]
        done = consolidate({MEMORY: added}, archive="", fresh=fresh)
        if older is not None and older.id not in {link.older for link in done.superseded}:
            done = _with_replaced(done, _replaceable(home, older.id, done.documents[MEMORY], origin), note.id)
        edits.write(MEMORY, done.documents[MEMORY])
    stored = _stored(edits.outcome, done, note, rule.title, withheld_words(note.text, verdict.text))
    return stored if stored.quarantined else replace(stored, doubted=doubted_entries(done.documents[MEMORY], note))


def draft_note(
    home: Home,
    text: str,
    *,
    now: datetime,
    kind: NoteType | None,
    about: str,
    until: str,
    tags: Sequence[str],
    origin: NoteOrigin,
) -> JudgedNote:
    """Return the entry that *text* would become, and what the guard does with it. Arguments are those of a note.

    Raises:
        ValueError: *text* is empty, or *until* is no ISO date or a day that is over.
        GuardRefused: the guard would leave nothing of *text*, or cannot run.
    """
    text = _dated(text, now)
    _require_day(until, now)
    verdict = _screened(home, text, origin)
    rule = _section(text, kind)
    fields = {"Origin": origin, "About": " ".join(about.split()), "Tags": _tag_line(tags), "Until": until}
    return JudgedNote(_note(rule.prefix, text, fields, now), rule, verdict)


def _dated(text: str, now: datetime) -> str:
    """Return *text* on one line, with a date beside each word like "tomorrow".

    Raises:
        ValueError: it is empty.
    """
    dated = add_dates(" ".join(text.split()), now.date())
    if not dated:
        raise ValueError("the text is empty")
    return dated


def _require_day(until: str, now: datetime) -> None:
    """Refuse a last day that is no ISO date, or over.

    Raises:
        ValueError: it is one of these.
    """
    if not until:
        return
    try:
        day = date.fromisoformat(until) if until.isascii() else None
    except ValueError:
        day = None
    if day is None or day.isoformat() != until:
        raise ValueError(f"{until!r} is no date. Write it like 2026-12-31")
    if day < now.date():
        raise ValueError(f"{until} is in the past. Name today or a later day")


def _tag_line(tags: Sequence[str]) -> str:
    """Return *tags* as the value of a field, each once, in order."""
    printable = ("".join(char if char.isprintable() else " " for char in tag) for tag in tags)
    words = (" ".join(word.split()) for tag in printable for word in tag.split(","))
    return ", ".join(dict.fromkeys(word for word in words if word))


def _planned(home: Home, note: Entry, rule: SectionRule, verdict: Verdict) -> Remembered:
    """Return what would be written for *note*."""
    return Remembered(
        id=new_id(rule.prefix, _seed(note), proposals.taken_ids(home)), section=rule.title, text=note.text,
        doubted=doubted_entries(parse(storage.read_text(home.root / MEMORY)), note),
        waits="" if verdict.stored else HELD_BACK,
    )  # fmt: skip


def _stored(outcome: WriteOutcome, done: Consolidation, note: Entry, section: str, forgotten: str) -> Remembered:
    """Return the note as the guard let it through, or the entry that it was merged into."""
    stored = outcome.entries.get(done.merged[0].newer if done.merged else note.id, note)
    waits = HELD_BACK if outcome.quarantined else ""
    return Remembered(
        id=stored.id, section=section, text=stored.text, known=bool(done.merged), superseded=done.superseded,
        redacted=outcome.redacted, forgotten=forgotten, quarantined=outcome.quarantined, waits=waits,
        commit=outcome.commit,
    )  # fmt: skip


def _known(home: Home, known: Entry, section: str, now: datetime, *, dry_run: bool) -> Remembered:
    """Return an entry that says the same already. It is cited, unless nothing may be written."""
    commit = None if dry_run else cite(home, [known.id], now=now).commit
    return Remembered(id=known.id, section=section, text=known.text, known=True, commit=commit)


def _note(prefix: str, text: str, fields: Mapping[str, str], now: datetime) -> Entry:
    """Return a note whose id is given later, without the fields that are empty."""
    given = {name: value for name, value in fields.items() if value}
    return Entry(id=f"{prefix}-0000", date=f"{now:%Y-%m-%d}", title=text, fields=given)


def finish(
    home: Home,
    entry_id: str,
    *,
    now: datetime,
    how: str = "",
    origin: NoteOrigin = "user",
    dry_run: bool = False,
) -> Finished:
    """Mark the live entry *entry_id* as resolved today, with a short remark *how*. A resolved one stays as it is.

    The agent ends open threads and its own entries, and a participant ends entries of participants.

    Raises:
        NoSuchEntry: no entry of ``MEMORY.md`` or of the archive has that id.
        NotLive: the entry is archived, or in another file, or superseded, or *origin* may not end it.
        HomeError: see :func:`agent_home.store.gateway.transaction`. Nothing was written.
    """
    if dry_run:
        return _finished(home, entry_id, parse(storage.read_text(home.root / MEMORY)), now, how, origin)[1]
    with transaction(home, actor="done", message="Done", source=origin, now=now) as edits:
        document, result = _finished(home, entry_id, edits.read(MEMORY), now, how, origin)
        edits.message = f"Resolve {result.id}"
        edits.write(MEMORY, document)
    return Finished(
        id=result.id, section=result.section, text=result.text, state=result.state, commit=edits.outcome.commit
    )  # fmt: skip


def _finished(
    home: Home, entry_id: str, memory: Document, now: datetime, how: str, origin: str
) -> tuple[Document, Finished]:
    entry = _live_entry(home, entry_id, memory)
    if origin == "agent" and entry.prefix != NOTE_TYPES["thread"]:
        _require_own(entry, origin, "the agent ends only open threads and its own entries")
    if origin == "participant":
        _require_own(entry, origin, "a participant ends only entries of participants")
    if not entry.retired:
        entry = retired(entry, "resolve", f"{now:%Y-%m-%d}", "", how)
        memory = memory.with_entry_changed(entry)
    rule = section_of(entry.prefix)
    return memory, Finished(
        id=entry.id, section=rule.title if rule else "", text=entry.text, state=entry.fields["State"]
    )  # fmt: skip


def _live_entry(home: Home, entry_id: str, memory: Document) -> Entry:
    """Return the entry *entry_id* of *memory*, which nothing superseded. It may be resolved.

    Raises:
        NoSuchEntry: there is none.
        NotLive: it is archived, or in another file, or superseded.
    """
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
    return entries[known]


def _replaceable(home: Home, entry_id: str, memory: Document, origin: str) -> Entry:
    """Return the live entry *entry_id* of *memory*, which a note of *origin* may supersede.

    Raises:
        NoSuchEntry: there is none.
        NotLive: it may not be superseded.
    """
    entry = _live_entry(home, entry_id, memory)
    if entry.retired:
        raise NotLive(entry.id, f"its state is {entry.fields['State']!r}")
    if entry.protected:
        raise NotLive(entry.id, "it is protected")
    if origin != "user":
        _require_own(entry, origin, f"a note of the {origin} replaces only entries of the {origin}")
    return entry


def _require_own(entry: Entry, origin: str, rule: str) -> None:
    """Refuse an *entry* of another origin.

    Raises:
        NotLive: it has another. The message names its origin and the *rule*.
    """
    said = entry.fields.get("Origin", "user")
    if said != origin:
        raise NotLive(entry.id, f"it is the {said}'s, and {rule}")


def _with_replaced(done: Consolidation, older: Entry, note_id: str) -> Consolidation:
    """Return *done* with *older* superseded by the note, or by the entry that the note was merged into."""
    newer_id = done.merged[0].newer if done.merged else note_id
    memory = done.documents[MEMORY]
    newer = memory.entry(newer_id)
    if newer is None or newer.id == older.id:
        return done
    newer = with_all_kept(older, newer, reworded=newer.id == note_id)
    links = [part.strip() for part in newer.fields.get("Supersedes", "").split(",") if part.strip()]
    newer = newer.changed(fields={**newer.fields, "Supersedes": ", ".join([*links, older.id])})
    memory = memory.with_entry_changed(newer).with_entry_changed(
        older.changed(fields={**older.fields, "Superseded-By": newer.id})
    )
    link = Link(older=older.id, newer=newer.id, reason=NAMED_BY_A_PERSON)
    return replace(done, documents={**done.documents, MEMORY: memory}, superseded=(*done.superseded, link))


def _screened(home: Home, text: str, origin: str) -> Verdict:
    """Return what the guard does with *text*.

    Raises:
        GuardRefused: nothing of it would be left, or the guard cannot run.
    """
    verdict = ScreeningService(home).verdict(MEMORY, text, origin)
    if not verdict.stored or not is_empty_without(verdict.text):
        return verdict
    forgotten = withheld_words(text, verdict.text)
    known = f"{forgotten!r} was forgotten with `memory forget`"
    raise GuardRefused(MEMORY, known if forgotten else f"nothing would be left of it but {verdict.text!r}")


def _section(text: str, kind: NoteType | None) -> SectionRule:
    """Return the section of the note's type, or else the one that a sentence of the user with its words would get."""
    prefix = NOTE_TYPES[kind] if kind else PREFIXES.get(kind_of_request(text)) or _ACT_PREFIXES[likely_act(text)]
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
