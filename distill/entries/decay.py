"""Archiving of unused entries and old daily logs, which stay searchable and can be restored.

An entry is archived when its section lets it age out and nobody referred to it for long enough, counted from its date
or its last reference. Lessons and recent context age out, as do superseded decisions. Resolved threads, retracted
claims and entries whose ``Until`` is over leave at once. Lasting facts about the user stay
(``distill.entries.lasting``). A person can protect an entry. ``distill.entries.eviction`` adds entries for which there
is no room. A daily log is archived when it is equally old and all its sessions are closed.

All moves are one transaction and one commit, and a text reaches the archive before it leaves its place.
``distill.entries.citation`` restores entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Literal

from agent_home import storage
from agent_home.documents import daily_log
from agent_home.documents.check import entry_files
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry, SectionRule, section_of, superseded_by
from agent_home.home import MEMORY, Home
from agent_home.store import closings
from agent_home.store.gateway import Transaction, transaction
from agent_home.store.references import entry_places, last_references
from agent_home.store.references import read as read_references
from agent_home.tokens import count_tokens
from agent_home.window_tiers import memory_limit

from ..settings import DistillSettings
from .eviction import EntryUse, select_evictions
from .lasting import is_lasting
from .regret import Regret, measure_regret
from .second_copies import second_copies, settle_second_copies

__all__ = ["ArchiveCandidate", "ArchiveReport", "archive", "archive_path"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveCandidate:
    """An entry without a reference for *age_days*. *last_reference* is ISO 8601, empty when there never was one.

    *rule*: the entry is old (``age``), or it exceeds a size limit (``room``).
    """

    id: str
    section: str
    date: str
    title: str
    last_reference: str
    age_days: int
    reason: str
    rule: Literal["age", "room"] = "age"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveReport:
    """Plan of an archiving run, or its result where *commit* is given.

    Attributes:
        candidates: the entries to archive, in file order.
        daily: paths of the daily logs to archive.
        settled: ids of entries that stand in two places. One copy is removed (``distill.entries.second_copies``).
        crowded: sizes over their limit that no entry may leave for.
        examined: number of live entries.
        regret: see ``distill.entries.regret``.
        commit: the commit of the moves.
    """

    candidates: tuple[ArchiveCandidate, ...] = ()
    daily: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    crowded: tuple[str, ...] = ()
    examined: int = 0
    regret: Regret
    commit: str | None = None


def archive(
    home: Home,
    *,
    now: datetime,
    settings: DistillSettings | None = None,
    apply: bool = False,
    with_regret: bool = True,
) -> ArchiveReport:
    """Find old entries and daily logs, and move them to the archive with *apply*. A second run moves nothing more.

    The regret is read from the whole history of git. Without *with_regret* it is left empty.

    Raises:
        DocumentInvalid: a file of entries or a daily log is not UTF-8.
        HomeError: see :func:`agent_home.store.gateway.transaction`. Nothing was moved.
    """
    settings = settings or home.manifest.settings("distill", DistillSettings)
    if not apply:
        found = _survey(home, None, now, settings)
        found = replace(found, settled=(*found.settled, *second_copies(entry_places(home))))
        return replace(found, regret=measure_regret(home.root)) if with_regret else found
    with transaction(home, actor="archive", message="Archive", now=now) as edits:
        united = settle_second_copies(edits)
        found = _survey(home, edits, now, settings)
        edits.message = _commit_subject(found, settings.archive_after_days)
        _move_entries(edits, found, archive_path(now))
        for path in found.daily:
            _move_day(edits, path)
    return ArchiveReport(
        candidates=found.candidates, daily=found.daily, settled=(*found.settled, *united), crowded=found.crowded,
        examined=found.examined, regret=measure_regret(home.root) if with_regret else Regret(),
        commit=edits.outcome.commit,
    )  # fmt: skip


def archive_path(now: datetime) -> str:
    """Return the path of the archive file for the month of *now*."""
    return f"Archive/MEMORY-{now:%Y-%m}.md"


def _survey(home: Home, edits: Transaction | None, now: datetime, settings: DistillSettings) -> ArchiveReport:
    days = settings.archive_after_days
    memory = edits.read(MEMORY) if edits else parse(storage.read_text(home.root / MEMORY))
    entries = list(memory.entries())
    places = entry_places(home, edits)
    duplicated = {entry.id for entry in entries if len(places.get(entry.id, ())) > 1}
    settled = tuple(entry.id for entry in entries if entry.id in duplicated and _is_copy(places[entry.id]))
    movable = [entry for entry in entries if entry.id not in duplicated or entry.id in settled]
    superseded, last = superseded_by(entries), last_references(home)
    old = tuple(_aged_candidates(movable, superseded, last, now, days))
    old_ids = {candidate.id for candidate in old}
    use = _use(movable, superseded, last, Counter(reference.id for reference in read_references(home)), now, days)
    eviction = select_evictions(
        [entry for entry in movable if entry.id not in old_ids], use, sizes=settings.section_sizes,
        memory_tokens=settings.memory_tokens or memory_limit(home.manifest),
        frame_tokens=sum(count_tokens(block.raw) for block in memory.blocks if block.entry is None),
    )  # fmt: skip
    evicted = {
        entry.id: _evicted_candidate(entry, reason, use[entry.id], last, now) for entry, reason in eviction.entries
    }
    found = {candidate.id: candidate for candidate in old} | evicted
    return ArchiveReport(
        candidates=tuple(found[entry.id] for entry in movable if entry.id in found),
        daily=tuple(_old_days(home, now, days)),
        settled=settled,
        crowded=eviction.crowded,
        examined=len(entries),
        regret=Regret(),
    )


def _use(
    entries: Sequence[Entry],
    superseded: Mapping[str, str],
    last: Mapping[str, datetime],
    references: Mapping[str, int],
    now: datetime,
    days: int,
) -> dict[str, EntryUse]:
    """Return the use of each entry by id. A reference of less than *days* ago is recent."""
    return {
        entry.id: EntryUse(
            since=_since(entry, last.get(entry.id), now),
            references=references.get(entry.id, 0),
            recent=entry.id in last and (now - last[entry.id]).days < days,
            settled=entry.retired or entry.id in superseded,
            lasting=is_lasting(entry),
        )
        for entry in entries
    }


def _evicted_candidate(
    entry: Entry, reason: str, use: EntryUse, last: Mapping[str, datetime], now: datetime
) -> ArchiveCandidate:
    rule = section_of(entry.prefix)
    return ArchiveCandidate(
        id=entry.id, section=rule.title if rule else "", date=entry.date, title=entry.title or entry.body,
        last_reference=last[entry.id].isoformat() if entry.id in last else "",
        age_days=(now.date() - use.since).days if use.since else 0, reason=reason, rule="room",
    )  # fmt: skip


def _is_copy(places: Sequence[tuple[str, Entry]]) -> bool:
    """Return whether an entry stands once in memory, once with the same text in the archive, and nowhere else.

    ``distill.entries.second_copies`` unites two different texts under one id.
    """
    texts = {entry.raw.strip() for _, entry in places}
    return len(texts) == 1 and Counter(path.startswith("Archive/") for path, _ in places) == {False: 1, True: 1}


def _aged_candidates(
    entries: Sequence[Entry],
    superseded: Mapping[str, str],
    last: Mapping[str, datetime],
    now: datetime,
    days: int,
) -> Iterator[ArchiveCandidate]:
    for entry in entries:
        rule = section_of(entry.prefix)
        since = _since(entry, last.get(entry.id), now)
        if rule is None or entry.protected:
            continue
        age = (now.date() - since).days if since else 0
        reason = _over(entry, now)
        if not reason and since is not None and age >= days:
            reason = _unused(entry, rule, superseded, age, referred=entry.id in last)
        if reason:
            yield ArchiveCandidate(
                id=entry.id, section=rule.title, date=entry.date, title=entry.title or entry.body,
                last_reference=last[entry.id].isoformat() if entry.id in last else "", age_days=age, reason=reason,
            )  # fmt: skip


def _over(entry: Entry, now: datetime) -> str:
    """Return why *entry* leaves at once, or an empty string."""
    if entry.resolved:
        return "resolved"
    if entry.retired:
        return "retracted"
    until = entry.fields.get("Until", "")[:10]
    with suppress(ValueError):
        if until and date.fromisoformat(until) < now.date():
            return f"held until {until}"
    return ""


def _unused(entry: Entry, rule: SectionRule, superseded: Mapping[str, str], age: int, *, referred: bool) -> str:
    """Return why *entry*, which is old enough, leaves, or an empty string."""
    when = f"last referred to {age} days ago" if referred else f"never referred to in {age} days"
    if entry.id in superseded and rule.leaves in {"any", "superseded"}:
        return f"superseded by {superseded[entry.id]}; {when}"
    return when if rule.leaves == "any" and not is_lasting(entry) else ""


def _since(entry: Entry, last: datetime | None, now: datetime) -> date | None:
    """Return the day since which *entry* is unused, ``None`` for an entry without a date, which never ages out."""
    days = [last.astimezone(now.tzinfo).date()] if last else []
    with suppress(ValueError):
        days.append(date.fromisoformat(entry.date))
    return max(days, default=None)


def _old_days(home: Home, now: datetime, days: int) -> Iterator[str]:
    """Yield the paths of old daily logs whose sections all belong to completely closed sessions."""
    if closings.absent_transcripts(home):  # nobody can tell which sessions are open
        return
    open_sessions, open_days = _unclosed(home)
    for path in daily_log.daily_files(home):
        if path.parent != home.daily or not _is_old(path.stem, now, days) or path.stem in open_days:
            continue
        text = storage.read_text(path)
        covered = daily_log.parse_closings(text, path.stem)
        complete = covered and len(covered) == len(parse(text).sections(level=2))
        if complete and not any(
            daily_log.covers_session(closing, session) for closing in covered for session in open_sessions
        ):
            yield home.relative(path)


def _unclosed(home: Home) -> tuple[set[str], set[str]]:
    """Return the sessions with turns that no closing covers, and the days of these turns."""
    found = closings.open_sessions(home)
    return {session for session, _ in found}, {turn.message.ts[:10] for _, turns in found for turn in turns}


def _is_old(day: str, now: datetime, days: int) -> bool:
    try:
        return (now.date() - date.fromisoformat(day)).days >= days
    except ValueError:
        return False


def _move_entries(edits: Transaction, found: ArchiveReport, target: str) -> None:
    """Move the candidates from ``MEMORY.md`` to *target*, and remove one copy of each settled entry."""
    moved = {candidate.id for candidate in found.candidates}
    memory = edits.read(MEMORY)
    entries = {entry.id: entry for entry in memory.entries()}
    added: dict[str, list[tuple[str, Entry]]] = {}
    for candidate in found.candidates:
        if candidate.id not in found.settled:  # the entry inserted last stands on top
            added.setdefault(candidate.section, []).insert(0, (candidate.section, entries[candidate.id]))
    if added:
        text = edits.text(target) or _archive_heading(target)
        edits.write(target, parse(text).with_entries([pair for pairs in added.values() for pair in pairs]))
    edits.write(MEMORY, memory.without_entries(moved))
    kept = set(found.settled) - moved
    for path in entry_files(edits.home) if kept else ():
        copies = kept & {entry.id for entry in edits.read(path).entries()}
        if path.startswith("Archive/") and copies:
            edits.write(path, edits.read(path).without_entries(copies))


def _move_day(edits: Transaction, path: str) -> None:
    """Move a daily log to the archive, below an earlier part of that day that was moved before."""
    target, text = f"Archive/{path}", edits.text(path)
    archived = edits.text(target)
    if not archived:
        edits.write(target, text)
    elif text not in archived:
        first, _, rest = text.partition("\n")
        edits.write(target, f"{archived.rstrip()}\n\n{(rest if first.startswith('# ') else text).strip()}\n")
    edits.write(path, "")


def _archive_heading(target: str) -> str:
    month = target.removesuffix(".md")[-7:]
    return f"# Memory archived in {month}\n\nEntries that nobody referred to. `memory restore ID` brings one back.\n"


def _commit_subject(found: ArchiveReport, days: int) -> str:
    parts = []
    old = sum(candidate.rule == "age" for candidate in found.candidates)
    if old:
        parts.append(f"{_counted(old, 'entry', 'entries')} unreferenced for {days} days")
    if old < len(found.candidates):
        parts.append(f"{_counted(len(found.candidates) - old, 'entry', 'entries')} without room")
    if found.daily:
        parts.append(_counted(len(found.daily), "daily log", "daily logs"))
    return f"Archive {' and '.join(parts)}" if parts else "Remove second copies of archived entries"


def _counted(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"
