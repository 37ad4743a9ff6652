"""Gather what a person needs to decide about a waiting text: the turns it comes from, its commit, what it changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.placement import as_entry
from agent_home.errors import DocumentInvalid
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.lineage import CitedTurn, cited_turns

from ..evidence.repository import CommitInfo, Deadline, DeadlinePassed, GitUnavailable, Repository
from ..evidence.session_repositories import workplace
from ..evidence.status import Evidence
from .queue import ReviewItem

__all__ = ["EvidenceCommit", "Grounds", "evidence_commit", "grounds_of"]

#: Time for all questions about one commit. A person waits for the answer.
_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceCommit:
    """The commit that an entry names as its evidence. *files* are the paths that it touched."""

    short: str
    subject: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """Reasons for a waiting text.

    *statement* is the text without marks of an entry. *replaces* is the statement of the entry in memory that it would
    change or supersede, and empty otherwise. *commit* is ``None`` where no repository on this machine has it.
    """

    statement: str
    replaces: str = ""
    evidence: str = ""
    commit: EvidenceCommit | None = None
    turns: tuple[CitedTurn, ...] = ()


def grounds_of(home: Home, item: ReviewItem, now: datetime) -> Grounds:
    """Return what speaks for *item*. What is not on this machine is left out."""
    entry = as_entry(item.text)
    if entry is None:
        return Grounds(statement=item.text.strip("\n"), evidence=item.evidence)
    turns = tuple(cited_turns(home, entry))
    said = item.evidence if item.foreign else entry.fields.get("Evidence", item.evidence)
    parsed = Evidence.parse(said)
    named = parsed[0].commit if parsed else ""
    commit = evidence_commit(home, named, [turn.source for turn in turns], now) if named else None
    return Grounds(statement=entry.text, replaces=_replaced(home, item), evidence=said, commit=commit, turns=turns)


def evidence_commit(home: Home, name: str, sources: Sequence[str], now: datetime) -> EvidenceCommit | None:
    """Return the commit *name* of a repository in which the sessions of *sources* worked, or ``None``."""
    limit = Deadline(_TIMEOUT_S)
    for top in _repositories(home, sources, now):
        try:
            found = _found(Repository(top, limit), name)
        except DeadlinePassed:
            return None
        except GitUnavailable:
            continue
        if found is not None:
            files = tuple(dict.fromkeys(change.path for change in found.changes))
            return EvidenceCommit(short=found.short, subject=found.subject, files=files)
    return None


def _replaced(home: Home, item: ReviewItem) -> str:
    """Return the statement in memory that *item* would change, where its end is asked about."""
    if not item.ends:
        return ""
    try:
        older = parse(storage.read_text(home.path(item.path))).entry(item.id)
    except DocumentInvalid:
        return ""
    return older.text if older is not None else ""


def _found(repository: Repository, name: str) -> CommitInfo | None:
    commits = repository.commits_named(name)
    return repository.commit(commits[0]) if len(commits) == 1 else None


def _repositories(home: Home, sources: Sequence[str], now: datetime) -> Iterator[Path]:
    """Yield the repositories of the sessions that *sources* name, each once."""
    seen: set[Path] = set()
    for session in dict.fromkeys(source.rpartition("#")[0] for source in sources):
        path = transcript.session_path(home, session)
        messages = [turn.message for turn in transcript.read(path)] if path is not None else []
        for top in workplace(messages, now, 0.0).repositories(sources):
            if top not in seen:
                seen.add(top)
                yield top
