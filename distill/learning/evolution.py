"""Own EVOLUTION.md: the agent's corrections, capabilities, competences and failed attempts.

A closing adds the lessons of a session. A repeated correction gets no second entry: the older entry gains the session
and its counter goes up. A correction that reverses or replaces an older one supersedes it, whichever session is closed
first. Detail lines of an entry hold the wrong value and the root cause, so the title keeps the words of the session.
A lesson with a finding of the guard is left out.

The file stays short. An entry that happened once and was never referred to moves from a full section to the archive.
It is restored when it happens again. ``distill.learning.governance`` decides about corrections that recur.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agent_home.documents.document import Document, parse
from agent_home.documents.entry import Entry
from agent_home.documents.provenance import least_trusted
from agent_home.home import Home
from agent_home.screening.service import ScreeningService
from agent_home.store.gateway import Transaction
from agent_home.store.references import last_references
from guard.lazy_regex import lazy_regex
from recall.text.identity import identity_key

from ..statements.contradiction import relation
from ..statements.statement_parser import parse_statement
from .correction_comparison import is_reversal, same_lesson, split_correction
from .lesson_extraction import Kind, Lesson

__all__ = [
    "EVOLUTION",
    "REDACTION_PREFIX",
    "SECTIONS",
    "Correction",
    "corrections",
    "record_lessons",
    "section_of",
    "withdraw_lessons",
]

EVOLUTION = "EVOLUTION.md"
#: The section of each kind, and the prefix of its ids.
SECTIONS: Mapping[Kind, tuple[str, str]] = {
    "correction": ("Corrections", "CR"),
    "capability": ("Capabilities", "CB"),
    "competence": ("Competences", "CM"),
    "failed": ("Failed attempts", "FA"),
}
#: Entries that one closing may add to one section. A longer list of corrections would teach little.
_MAX_ADDED = 10
#: Entries of one section, limited by the room in prompts.
_MAX_ENTRIES = 100
#: Prefix of a redaction in a transcript. Redacted text is neither a lesson nor a line for a project.
REDACTION_PREFIX = "[REDACTED:"
#: Dates listed in an entry. Further ones are only counted.
_MAX_DATES = 12
_OCCURRENCES = lazy_regex(r"Occurrences: (?P<count>\d+)(?: \((?P<dates>[^)]*)\))?$")
_DATE = lazy_regex(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A correction in EVOLUTION.md. *dates* are the listed days on which it was changed_entries, oldest first."""

    entry: Entry
    wrong: str
    root_cause: str
    occurrences: int
    dates: tuple[str, ...]

    @property
    def right(self) -> str:
        """The part of the correction that names the right value."""
        return split_correction(_content(self.entry))[0]


def record_lessons(edits: Transaction, found: Sequence[Lesson]) -> tuple[Entry, ...]:
    """Add the lessons *found* to EVOLUTION.md as part of a closing. Return the added and changed entries in order.

    A new lesson becomes an entry, and a known one raises the counter of its entry. A session counts once for an entry,
    however often it is closed. A home without the file is not changed.
    """
    if not found or not (edits.home.root / EVOLUTION).exists():
        return ()
    document = edits.read(EVOLUTION)
    changed_entries: dict[str, Entry] = {}
    for lesson in found:
        section, prefix = SECTIONS[lesson.kind]
        older = _find_same(document, section, lesson)
        if older is None and (archived := _take_from_archive(edits, section, lesson)):
            document, older = document.with_entry(section, archived), archived
        entry = _count_session(older, lesson) if older else _new_entry(edits, prefix, lesson)
        if older and entry == older:
            continue
        if not _passes(edits.home, entry):
            continue
        if older:
            document = document.with_entry_changed(entry)
        elif sum(entry_id.startswith(prefix) for entry_id in changed_entries) < _MAX_ADDED:
            document, entry = _insert_entry(document, section, entry)
        else:
            continue
        changed_entries[entry.id] = entry
    edits.write(EVOLUTION, _evict(edits, document, changed_entries))
    return tuple(changed_entries.values())


def withdraw_lessons(edits: Transaction, retracted: Sequence[Entry]) -> tuple[Entry, ...]:
    """Mark the lessons that say the same as *retracted* entries of MEMORY.md as retracted, and return them.

    A lesson and an entry belong together if they share a turn. The lesson gets the entry's State.
    """
    if not retracted or not (edits.home.root / EVOLUTION).exists():
        return ()
    document = edits.read(EVOLUTION)
    withdrawn = []
    for lesson in _live(list(document.entries())):
        told = next((entry for entry in retracted if _tells_the_same(lesson, entry)), None)
        if told is not None and not lesson.protected:
            withdrawn.append(lesson.changed(fields={**lesson.fields, "State": told.fields.get("State", "retracted")}))
            document = document.with_entry_changed(withdrawn[-1])
    if withdrawn:
        edits.write(EVOLUTION, document)
    return tuple(withdrawn)


def section_of(prefix: str) -> str:
    """Return the section of EVOLUTION.md whose ids start with *prefix*, or an empty string for other files' ids."""
    return next((title for title, own in SECTIONS.values() if own == prefix), "")


def corrections(document: Document) -> list[Correction]:
    """Return the corrections in EVOLUTION.md in file order, without superseded, resolved and retracted ones."""
    found = []
    for entry in _live(document.section_entries(SECTIONS["correction"][0])):
        if entry.resolved:
            continue
        count, dates = _occurrences(entry)
        found.append(
            Correction(
                entry=entry, wrong=_line(entry, "Wrong"), root_cause=_line(entry, "Root cause"), occurrences=count,
                dates=dates,
            )
        )  # fmt: skip
    return found


def _find_same(document: Document, section: str, lesson: Lesson) -> Entry | None:
    """Return the entry of *section* that teaches the same as *lesson*, or ``None``."""
    content = identity_key(lesson.text)
    entries = _live(document.section_entries(section))
    exact = next((entry for entry in entries if identity_key(_content(entry)) == content), None)
    if lesson.kind != "correction":
        return exact
    same = (entry for entry in entries if same_lesson(_content(entry), lesson.text))
    # A text of numbers alone fits any topic, so it matches only within one session.
    return next(same, None) or (exact if exact and _sessions(exact) & _sessions_of(lesson.sources) else None)


def _new_entry(edits: Transaction, prefix: str, lesson: Lesson) -> Entry:
    detail = [f"Wrong: {lesson.wrong}"] if lesson.wrong else []
    detail += [f"Root cause: {lesson.root_cause}"] if lesson.root_cause else []
    detail += [f"Occurrences: 1 ({lesson.date})"] if lesson.kind == "correction" else []
    return Entry(
        id=edits.new_id(prefix, f"{lesson.sources[-1]}\0{lesson.text}"), date=lesson.date, title=lesson.text,
        detail="\n".join(" ".join(line.split()) for line in detail),
        fields={"Sources": ", ".join(lesson.sources), "Origin": lesson.origin},
    )  # fmt: skip


def _take_from_archive(edits: Transaction, section: str, lesson: Lesson) -> Entry | None:
    """Take the entry that teaches the same as *lesson* out of the archive, or return ``None``."""
    for file in edits.home.files("Archive", "EVOLUTION-*.md"):
        path = edits.home.relative(file)
        document = edits.read(path)
        found = _find_same(document, section, lesson)
        if found is not None:
            edits.write(path, document.without_entry(found.id))
            return found
    return None


def _evict(edits: Transaction, document: Document, changed_entries: Collection[str]) -> Document:
    """Move the entries over each section's limit to the archive. Return *document* without them."""
    references = last_references(edits.home) if len(list(document.entries())) > _MAX_ENTRIES else {}
    leaving: list[tuple[str, Entry]] = []
    for section, _ in SECTIONS.values():
        entries = document.section_entries(section)
        evictable = [
            e for e in entries
            if e.id not in changed_entries and e.id not in references and not e.protected and _occurrences(e)[0] == 1
        ]  # fmt: skip
        evictable.sort(key=lambda e: (not e.fields.get("Superseded-By"), e.date))
        leaving += [(section, entry) for entry in evictable[: max(0, len(entries) - _MAX_ENTRIES)]]
    if not leaving:
        return document
    path = f"Archive/EVOLUTION-{edits.now:%Y-%m}.md"
    archive = parse(edits.text(path) or f"# What was learned once, archived {edits.now:%Y-%m}\n")
    edits.write(path, archive.with_entries(leaving))
    return document.without_entries({entry.id for _, entry in leaving})


def _insert_entry(document: Document, section: str, entry: Entry) -> tuple[Document, Entry]:
    """Return *document* with *entry* in it, and *entry* with its supersession links.

    The entry supersedes older entries that it replaces. A newer entry that replaces it supersedes the entry.
    """
    live = _live(document.section_entries(section))
    older = [other for other in live if other.date <= entry.date and _replaces(entry, other)]
    newer = [other for other in live if other.date > entry.date and _replaces(other, entry)]
    for other in older:
        document = document.with_entry_changed(other.changed(fields={**other.fields, "Superseded-By": entry.id}))
    for other in newer[:1]:
        links = ", ".join(filter(None, (other.fields.get("Supersedes", ""), entry.id)))
        document = document.with_entry_changed(other.changed(fields={**other.fields, "Supersedes": links}))
    fields = {
        **entry.fields, "Supersedes": ", ".join(other.id for other in older),
        "Superseded-By": ", ".join(other.id for other in newer[:1]),
    }  # fmt: skip
    entry = entry.changed(fields={name: value for name, value in fields.items() if value})
    return document.with_entry(section, entry), entry


def _replaces(newer: Entry, older: Entry) -> bool:
    """Return whether the correction *newer* reverses *older*, or replaces the value that *older* calls right.

    As in MEMORY.md, protected entries and entries of a more trusted origin are not replaced.
    """
    if _reverses(newer, older):
        return True
    if newer.prefix != SECTIONS["correction"][1] or older.protected:
        return False
    origins = [entry.fields.get("Origin") or "user" for entry in (older, newer)]
    apart = not _sessions(older) & _sessions(newer)
    found = relation(split_correction(_content(older))[0], _content(newer), apart=apart)
    return found.kind == "replaced" and least_trusted(origins) == origins[0]


def _reverses(newer: Entry, older: Entry) -> bool:
    """Return whether *newer* calls wrong what *older* calls right, and the other way round."""
    if newer.prefix != SECTIONS["correction"][1]:
        return False
    (right, wrong), (was_right, was_wrong) = (split_correction(_content(entry)) for entry in (newer, older))
    if not wrong or not was_wrong or not is_reversal(parse_statement(was_wrong), parse_statement(right)):
        return False
    return is_reversal(parse_statement(wrong), parse_statement(was_right))


def _count_session(older: Entry, lesson: Lesson) -> Entry:
    """Return *older* with the lesson's session counted. A session that was counted before changes nothing."""
    if _sessions_of(lesson.sources) <= _sessions(older):
        return older
    count, dates = _occurrences(older)
    detail = [line for line in older.detail.splitlines() if not _OCCURRENCES.match(line)]
    if lesson.root_cause and not _line(older, "Root cause"):
        detail.append(f"Root cause: {' '.join(lesson.root_cause.split())}")
    if lesson.kind == "correction":
        listed = ", ".join(sorted({*dates, lesson.date})[-_MAX_DATES:])
        detail.append(f"Occurrences: {count + 1} ({listed})")
    sources = ", ".join(dict.fromkeys([*_sources(older), *lesson.sources]))
    origin = least_trusted([older.fields.get("Origin") or "user", lesson.origin])
    return older.changed(detail="\n".join(detail), fields={**older.fields, "Sources": sources, "Origin": origin})


def _passes(home: Home, entry: Entry) -> bool:
    """Return whether the guard allows *entry* unchanged and redacted nothing in its source."""
    if REDACTION_PREFIX in entry.render():
        return False
    origin = least_trusted(["agent", entry.fields.get("Origin", "agent")])
    return ScreeningService(home).allows(EVOLUTION, entry.render(), origin)


def _live(entries: Sequence[Entry]) -> list[Entry]:
    """Return *entries* without superseded and retracted ones. A resolved one still counts when it recurs."""
    return [
        entry for entry in entries if not entry.fields.get("Superseded-By") and (entry.resolved or not entry.retired)
    ]


def _tells_the_same(lesson: Entry, entry: Entry) -> bool:
    """Return whether a lesson and an entry of MEMORY.md share a turn and a statement."""
    if not set(_sources(lesson)) & set(_sources(entry)):
        return False
    content = _content(lesson)
    return identity_key(content) in identity_key(entry.text) or same_lesson(content, entry.text)


def _content(entry: Entry) -> str:
    """Return the text of an entry without its detail lines."""
    return entry.changed(detail="").text


def _line(entry: Entry, name: str) -> str:
    prefix = f"{name}: "
    return next((line.removeprefix(prefix) for line in entry.detail.splitlines() if line.startswith(prefix)), "")


def _occurrences(entry: Entry) -> tuple[int, tuple[str, ...]]:
    """Return the count and the listed days. An entry without a count happened once, on its date."""
    for line in entry.detail.splitlines():
        match = _OCCURRENCES.match(line)
        if match:
            return max(1, int(match["count"])), tuple(_DATE.findall(match["dates"] or ""))
    return 1, (entry.date,) if entry.date else ()


def _sources(entry: Entry) -> list[str]:
    """Return the addresses in the field ``Sources``. A session's name may contain a comma."""
    found: list[str] = []
    for part in entry.fields.get("Sources", "").split(", "):
        if found and "#" not in found[-1]:
            found[-1] += f", {part}"
        elif part.strip():
            found.append(part)
    return found


def _sessions(entry: Entry) -> set[str]:
    return _sessions_of(_sources(entry))


def _sessions_of(sources: Sequence[str]) -> set[str]:
    return {source.rpartition("#")[0].strip() for source in sources}
