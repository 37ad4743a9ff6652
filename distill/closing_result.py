"""Results of closing sessions: the entries that were written, proposed and changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agent_home.documents.entry import Entry, parse_entry
from agent_home.screening.quarantine import Quarantined
from agent_home.store.gateway import WriteOutcome
from agent_home.store.proposals import ProposalDraft

from .entries.carried import stated_text
from .entries.consolidation import Link
from .entries.operations import AppliedOperations, OperationKind, RefusedOperation
from .entries.promotion import PromotionCandidate
from .evidence.status import Evidence
from .reading.model_reader import ModelUse
from .review.entry_endings import WaitingQuestion

__all__ = [
    "ChangedEntry", "CheckedClaim", "Closed", "ClosedAll", "ClosingFailure", "NewEntry", "ProposedEntry",
    "changed_entries", "entries_as_stored", "proposed_entry",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """An entry that a closing wrote, as it stands in ``MEMORY.md``. A *merged* one is older and gained a source."""

    id: str
    section: str
    text: str
    sources: tuple[str, ...]
    evidence: str
    commit: str = ""
    origin: str = ""
    merged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedEntry:
    """An entry that waits for a person, on a branch of the home. See ``distill.review.queue``."""

    id: str
    section: str
    text: str
    evidence: str = ""
    origin: str = ""
    risk: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedEntry:
    """A live entry that the session resolved, retracted, superseded or revised, or might have.

    *applied* is false where the operation was refused, or is *unsure*. *detail* says why, or how it was resolved.
    *asked* is true when an unsure one waits for a person, under the id of its entry. *replacement* is the text of the
    entry that superseded it.
    """

    id: str
    kind: OperationKind
    text: str
    sources: tuple[str, ...]
    detail: str = ""
    applied: bool = True
    unsure: bool = False
    asked: bool = False
    replacement: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedClaim:
    """An item that reports work, and git's evidence for it. A contradicted one is in the daily log only."""

    text: str
    sources: tuple[str, ...]
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """Result of closing a session. *commit* is ``None`` and the rest is empty when nothing was new.

    *daily* is the file of the new section, or of the last one when nothing was new. *dropped* counts items that a
    person had rejected or has to review already. *left_in_log* counts items that earned an entry when their section of
    ``MEMORY.md`` had reached its limit for one closing. *taken_back* means that nothing is new because git reverted the
    closing, which is not repeated unasked. *restored* are archived entries that came back because the agent named them
    or a session said them again. *superseded* links older entries to the new ones that replace them. *changed* are live
    entries that the session resolved, retracted, superseded or revised. *learned* are the entries of EVOLUTION.md that
    were added or counted up, and *projects* the changed project files. *reworded* counts the lines of the summary that
    a language model reworded, *use* is what a model read and cost, and *degraded* says why it could not do more.
    *unowned* names humans of a group chat in which nothing tells who the owner is.
    """

    session: str
    daily: str = ""
    anchor: str = ""
    title: str = ""
    entries: tuple[NewEntry, ...] = ()
    merged: tuple[NewEntry, ...] = ()
    claims: tuple[CheckedClaim, ...] = ()
    proposed: tuple[ProposedEntry, ...] = ()
    redacted: int = 0
    quarantined: tuple[Quarantined, ...] = ()
    dropped: int = 0
    left_in_log: int = 0
    taken_back: bool = False
    restored: tuple[str, ...] = ()
    superseded: tuple[Link, ...] = ()
    changed: tuple[ChangedEntry, ...] = ()
    learned: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    reworded: int = 0
    use: ModelUse | None = None
    degraded: tuple[str, ...] = ()
    unowned: tuple[str, ...] = ()
    commit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosingFailure:
    """A session that could not be closed, with the reason."""

    session: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedAll:
    """Result of :func:`close_all`, oldest session first. *absent* says that transcripts of closed sessions are gone."""

    closed: tuple[Closed, ...] = ()
    failed: tuple[ClosingFailure, ...] = ()
    absent: str = ""


def proposed_entry(draft: ProposalDraft) -> ProposedEntry:
    entry = parse_entry(draft.text)
    said = draft.trailers
    return ProposedEntry(
        id=draft.id, section=draft.section, text=entry.changed(detail="").text if entry else draft.text,
        evidence=said["Evidence"], origin=said["Source"], risk=said["Risk"],
    )  # fmt: skip


def changed_entries(
    operated: AppliedOperations,
    superseded: Collection[str],
    asked: Mapping[str, WaitingQuestion],
    outcome: WriteOutcome,
) -> tuple[ChangedEntry, ...]:
    """Return what became of each operation, the applied ones first.

    An operation that was not applied is left out if the session *superseded* its entry by other means. An unsure one
    about an entry of *asked* is told as the question that waits for a person.
    """
    done = [
        ChangedEntry(
            id=item.entry.id, kind=item.operation.kind, sources=item.operation.sources,
            text=_text(item.entry) if item.ended else item.entry.text,
            detail=item.successor or (f"ended: {item.ended}" if item.ended else item.entry.fields.get("State", "")),
            replacement=_text(outcome.entries.get(item.successor)),
        )
        for item in operated.applied
    ]  # fmt: skip
    refused = [
        _refused(item, asked.get(item.operation.target) if item.operation.unsure else None)
        for item in operated.refused
        if item.operation.target not in superseded
    ]
    return (*done, *refused)


def _refused(item: RefusedOperation, question: WaitingQuestion | None) -> ChangedEntry:
    """Return what became of an operation that was not applied. A waiting *question* about its entry comes first."""
    operation = item.operation
    return ChangedEntry(
        id=operation.target, kind=question.kind if question else operation.kind,
        text=question.said if question else operation.text, sources=operation.sources, detail=item.reason,
        applied=False, unsure=operation.unsure, asked=question is not None,
    )  # fmt: skip


def _text(entry: Entry | None) -> str:
    """Return the statement of *entry* as the guard let it through."""
    return stated_text(entry) if entry else ""


def entries_as_stored(
    outcome: WriteOutcome, written: Sequence[tuple[PromotionCandidate, Entry]], *, merged: bool = False
) -> tuple[NewEntry, ...]:
    """Return the entries of *written* as the transaction stored them, without those that were held back."""
    stored = ((candidate, outcome.entries.get(entry.id)) for candidate, entry in written)
    return tuple(
        NewEntry(
            id=entry.id,
            section=candidate.section.title,
            text=entry.changed(detail="").text,
            sources=tuple(source.strip() for source in entry.fields.get("Sources", "").split(",")),
            evidence=candidate.evidence.state,
            commit=candidate.evidence.commit,
            origin=entry.fields.get("Origin", ""),
            merged=merged,
        )
        for candidate, entry in stored
        if entry is not None
    )
