"""Count what turned out wrong or was changed, by topic: corrections, supersession, evidence against, edits by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, tzinfo
from functools import lru_cache

from agent_home import storage
from agent_home.documents.check import entry_files
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry, superseded_by
from agent_home.documents.standing import standing_of
from agent_home.errors import DocumentInvalid
from agent_home.git.entries.entry_events import CommitActs
from agent_home.home import Home
from distill.learning.evolution import EVOLUTION, corrections
from distill.statements.topics import content_terms, find_topics

from .growth import day_of

__all__ = ["KINDS", "EntryCorrection", "TopicRow", "corrected_entries", "topic_rows"]

#: How an entry was corrected. The user said that the agent was wrong, a newer entry replaced it, its claim was taken
#: back, git speaks against it, or a person edited it.
KINDS = ("corrected", "superseded", "taken back", "contradicted", "edited by hand")
#: Topics, the newest corrections that are looked at, and the letters of each.
_MOST_TOPICS, _MOST_TEXTS, _MOST_CHARS = 7, 300, 300
#: A longer term is a key or an address more often than a topic.
_LONGEST_TOPIC = 24
#: Actors of commits that a person made: the gateway's name for edits that it found, and none with plain git.
_BY_HAND = frozenset({"by hand", ""})

#: Day, kind and id of a correction. The day is ``None`` where it is not known.
_Row = tuple[date | None, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryCorrection:
    """A correction of an entry: its day, one of :data:`KINDS`, and the text of the entry."""

    day: date
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRow:
    """A topic with the numbers of its corrections, in the order of :data:`KINDS`. An empty topic has all others."""

    topic: str
    counts: tuple[int, ...]


def corrected_entries(
    home: Home, commits: Sequence[CommitActs], first: date, last: date, zone: tzinfo | None
) -> list[EntryCorrection]:
    """Return the newest corrections from *first* to *last*, newest first. A file that cannot be read is left out.

    *commits* are those of all entries, oldest first. A correction that was made on several days counts on each.
    """
    entries: dict[str, Entry] = {}
    found: list[_Row] = []
    for path in entry_files(home):
        with suppress(DocumentInvalid, OSError):
            document = parse(storage.read_text(home.path(path)))
            entries.update((entry.id, entry) for entry in document.entries())
            if path == EVOLUTION:
                made = ((_date(day), item) for item in corrections(document) for day in item.dates)
                found += [(day, "corrected", item.entry.id) for day, item in made]
    found += _ended(entries)
    found += _contradicted(entries, commits, zone)
    found += _edited(commits, zone)
    inside = {(day, kind, name) for day, kind, name in found if day and first <= day <= last and name in entries}
    return [
        EntryCorrection(day=day, kind=kind, text=entries[name].text[:_MOST_CHARS])
        for day, kind, name in sorted(inside, reverse=True)[:_MOST_TEXTS]
    ]


def topic_rows(found: Sequence[EntryCorrection], most: int = _MOST_TOPICS) -> list[TopicRow]:
    """Return the corrections by topic, the most frequent first, and at last those of no such topic.

    An entry has the first topic, in the order of their weight, that its text names.
    """
    topics = [topic for topic in find_topics([item.text for item in found], most) if len(topic) <= _LONGEST_TOPIC]
    counts: dict[str, Counter[str]] = {topic: Counter() for topic in (*topics, "")}
    for item in found:
        named = _terms(item.text)
        counts[next((topic for topic in topics if topic.casefold() in named), "")][item.kind] += 1
    rows = [TopicRow(topic=topic, counts=tuple(count[kind] for kind in KINDS)) for topic, count in counts.items()]
    rows = [row for row in rows if any(row.counts)]
    return sorted(rows, key=lambda row: (not row.topic, -sum(row.counts), row.topic))


@lru_cache(maxsize=_MOST_TEXTS)
def _terms(text: str) -> frozenset[str]:
    return frozenset(term.casefold() for term in content_terms(text))


def _ended(entries: Mapping[str, Entry]) -> Iterator[_Row]:
    """Yield the day, the kind and the id of each entry that was superseded or taken back."""
    newer = superseded_by(entries.values())
    dates: Mapping[str, str] = {name: entry.date for name, entry in entries.items()}
    for name, entry in entries.items():
        if name in newer or "State" in entry.fields:
            standing = standing_of(entry, newer, dates)
            if standing.ended in {"superseded", "retracted"}:
                kind = "superseded" if standing.ended == "superseded" else "taken back"
                yield _date(standing.date or entry.date), kind, name


def _contradicted(entries: Mapping[str, Entry], commits: Sequence[CommitActs], zone: tzinfo | None) -> Iterator[_Row]:
    """Yield the entries whose evidence speaks against them, on the day on which they were last written."""
    wanted = {name for name, entry in entries.items() if entry.fields.get("Evidence", "").startswith("contradicted")}
    last = {name: commit.ts for commit in commits for name, _, _ in commit.acts if name in wanted} if wanted else {}
    for name in wanted:
        yield day_of(last[name], zone) if name in last else _date(entries[name].date), "contradicted", name


def _edited(commits: Sequence[CommitActs], zone: tzinfo | None) -> Iterator[_Row]:
    for commit in commits:
        if commit.actor in _BY_HAND:
            day = day_of(commit.ts, zone)
            yield from ((day, "edited by hand", name) for name, action, _ in commit.acts if action == "changed")


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
