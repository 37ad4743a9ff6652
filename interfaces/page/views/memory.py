"""Show the entries of memory: by section, with age, references, evidence and last use, now or at a commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from agent_home import storage
from agent_home.documents.check import entry_files
from agent_home.documents.document import parse
from agent_home.documents.entry import SECTIONS, Entry
from agent_home.documents.standing import Standing, standings
from agent_home.git import history
from agent_home.home import MEMORY, Home
from agent_home.screening.service import ScreeningService
from agent_home.store.references import read
from distill.evidence.status import Evidence

from .moments import commit_at, is_before

__all__ = ["MemoryRow", "MemoryView", "memory_view"]

PAGE_ROWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """An entry: its id, text, date, age in days, evidence, references with the last one, and what became of it."""

    id: str
    section: str
    text: str
    date: str
    age_days: int | None
    evidence: str
    last_use: str
    references: int
    origin: str
    standing: Standing
    protected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryView:
    """A page of entries. *sections* counts the entries of each section, also those that are not on this page.

    *at* is the commit that is shown, empty for now, and *when* its time. Ages are those of that time. *is_older* says
    that a day before the home's first commit was asked for. *today* is an example of a day.
    """

    rows: tuple[MemoryRow, ...]
    sections: Mapping[str, int]
    section: str
    words: str
    archived: bool
    total: int
    page: int
    pages: int
    at: str = ""
    when: str = ""
    today: str = ""
    is_older: bool = False


def memory_view(
    home: Home,
    now: datetime,
    *,
    section: str = "",
    words: str = "",
    archived: bool = False,
    page: int = 1,
    at: str = "",
    most: int = PAGE_ROWS,
    screened: bool = False,
) -> MemoryView:
    """Return a page of *most* entries of *section*, newest first, that hold all *words*.

    *at* is a revision or a day. Empty is now, with what is not committed yet. *screened* leaves out what the guard
    keeps from a model.

    Raises:
        HistoryError: git does not know the commit *at*.
    """
    commit = commit_at(home, at)
    live, old = _entries(home, commit, ScreeningService(home) if screened else None)
    known = standings([entry for _, entry in live], [entry for _, entry in old])
    chosen = old if archived else live
    wanted = words.casefold().split()
    found = [(title, entry) for title, entry in chosen if all(word in entry.raw.casefold() for word in wanted)]
    sections = Counter(title for title, _ in found)
    ordered = {rule.title: sections.pop(rule.title) for rule in SECTIONS if rule.title in sections} | dict(sections)
    rows = [(title, entry) for title, entry in found if section in {"", title}]
    rows.sort(key=lambda row: (row[1].date, row[1].id), reverse=True)
    pages = max(1, -(-len(rows) // most))
    page = min(max(1, page), pages)
    used = {} if commit else _references(home)
    when = history.query(home.root, "show", "-s", "--format=%cI", commit).strip() if commit else ""
    today = date.fromisoformat(when[:10]) if when else now.date()
    shown = rows[(page - 1) * most : page * most]
    return MemoryView(
        rows=tuple(_row(title, entry, known, used, today) for title, entry in shown),
        sections=ordered, section=section, words=words, archived=archived, total=len(rows), page=page, pages=pages,
        at=commit, when=when, is_older=is_before(at, when), today=f"{now:%Y-%m-%d}",
    )  # fmt: skip


def _entries(
    home: Home, commit: str, screening: ScreeningService | None
) -> tuple[list[tuple[str, Entry]], list[tuple[str, Entry]]]:
    """Return the entries of MEMORY.md and of the archive with the titles of their sections."""
    if commit:
        listed = history.query(home.root, "ls-tree", "-r", "--name-only", "-z", commit, "--", MEMORY, "Archive/")
        paths = [path for path in listed.split("\0") if path == MEMORY or path.startswith("Archive/MEMORY")]
        texts = history.texts_at(home.root, [(commit, path) for path in paths])
    else:
        paths = [path for path in entry_files(home) if path == MEMORY or path.startswith("Archive/")]
        texts = [storage.read_text(home.path(path)) for path in paths]
    found: dict[bool, list[tuple[str, Entry]]] = {True: [], False: []}
    for path, raw in zip(paths, texts, strict=True):
        text = screening.shown(path, raw).text if screening else raw
        found[path != MEMORY] += _with_sections(text)
    return found[False], found[True]


def _references(home: Home) -> dict[str, tuple[int, str]]:
    """Return how often each entry was referred to, and the day of its last reference, by id."""
    found: dict[str, tuple[int, str]] = {}
    for reference in read(home):
        count, last = found.get(reference.id, (0, ""))
        found[reference.id] = count + 1, max(last, reference.ts[:10])
    return found


def _with_sections(text: str) -> list[tuple[str, Entry]]:
    title, found = "", []
    for block in parse(text).blocks:
        if block.kind == "heading" and block.level <= 2:
            title = block.title
        elif block.entry is not None:
            found.append((title, block.entry))
    return found


def _row(
    title: str, entry: Entry, known: Mapping[str, Standing], used: Mapping[str, tuple[int, str]], today: date
) -> MemoryRow:
    parsed = Evidence.parse(entry.fields.get("Evidence", ""))
    count, last = used.get(entry.id, (0, ""))
    return MemoryRow(
        id=entry.id, section=title, text=entry.text, date=entry.date, age_days=_age(entry.date, today),
        evidence=parsed[0].state if parsed else "", last_use=last, references=count,
        origin=entry.fields.get("Origin", ""), standing=known[entry.id], protected=entry.protected,
    )  # fmt: skip


def _age(day: str, today: date) -> int | None:
    try:
        return max(0, (today - date.fromisoformat(day)).days)
    except ValueError:
        return None
