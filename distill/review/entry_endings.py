"""Ask a person about ends of entries that a closing is not sure of, and carry out the answers.

A question is a proposal named after the entry. To accept it ends the entry: it is resolved, retracted, revised or
superseded. To reject it records a digest of the question, which is never asked again on any clone. A question is
dropped when the entry ended otherwise or left memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_home import storage
from agent_home.documents.document import Document, parse
from agent_home.documents.entry import Entry, section_of, superseded_by
from agent_home.documents.placement import as_entry, end_entry
from agent_home.home import MEMORY, Home
from agent_home.screening.review_ledger import decisions, ending_digest, statement_digest
from agent_home.store import proposals
from agent_home.store.proposals import Proposal, ProposalDraft

from ..statements.operation import OperationKind
from ..statements.sentences import shorten

if TYPE_CHECKING:
    from ..entries.operations import PossibleEnding

__all__ = [
    "MAX_ASKED",
    "MAX_WAITING",
    "WaitingQuestion",
    "draft_endings",
    "end_in",
    "is_open",
    "is_rejected",
    "moot_ids",
    "waiting_questions",
]

#: Most questions of one closing, and most that wait in all. A person answers no long list.
MAX_ASKED, MAX_WAITING = 5, 20
_MAX_DOUBT_CHARS, _MAX_GONE_CHARS = 400, 200
_WORDS: Mapping[OperationKind, str] = {
    "resolve": "resolved", "retract": "retracted", "supersede": "superseded", "revise": "revised",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingQuestion:
    """The *kind* of end that a waiting question would give its entry, and the words that it was asked for."""

    kind: OperationKind
    said: str


def waiting_questions(home: Home, ids: Collection[str]) -> dict[str, WaitingQuestion]:
    """Return the questions of this machine that wait for a person about the entries *ids*, as the review asks them.

    A closing that hears more about an entry adds no second question. So what it tells is the question that waits.
    """
    asked = proposals.ended_ids(home) & set(ids) if ids else set()
    found = {entry_id: proposals.find(home, entry_id) for entry_id in sorted(asked)}
    return {
        entry_id: WaitingQuestion(kind=kind, said=_said(proposal.trailers.get("Doubt", "")))
        for entry_id, proposal in found.items()
        if proposal is not None and (kind := next((kind for kind in _WORDS if kind == proposal.ends), None))
    }


def is_rejected(home: Home, ending: PossibleEnding) -> bool:
    """Return whether a person rejected this end of this entry."""
    return decisions(home).rejects_digest(_digest(ending))


def draft_endings(
    home: Home, memory: Document, endings: Sequence[PossibleEnding], session: str
) -> Iterator[ProposalDraft]:
    """Yield a question for each of *endings* that was neither rejected nor asked, up to the limits.

    Questions about entries that are not live in *memory* any more do not count.
    """
    if not endings:
        return
    known = proposals.ended_ids(home)
    room = min(MAX_ASKED, MAX_WAITING - len(known & _live_ids(memory)))
    for ending in endings:
        if room > 0 and ending.older.id not in known and not is_rejected(home, ending):
            known.add(ending.older.id)
            room -= 1
            yield _draft(ending, session)


def end_in(document: Document, proposal: Proposal) -> Document:
    """Return *document* with the entry ended as *proposal* says, or unchanged if it ended before.

    Fields that the entry gained since the question was asked stay.
    """
    older, newer = document.entry(proposal.id), as_entry(proposal.text)
    if older is None or newer is None or not is_open(document, proposal):
        return document
    if proposal.ends in {"resolve", "retract"}:
        newer = older.changed(fields={**older.fields, "State": newer.fields.get("State", "")})
    elif proposal.ends == "supersede":
        same = (entry for entry in document.entries() if entry.id != older.id and _states_same(entry, newer))
        newer = newer.changed(id=next(same, newer).id)
    return end_entry(document, older.id, newer)


def is_open(document: Document, proposal: Proposal) -> bool:
    """Return whether the entry of *proposal* is in *document* and has not ended."""
    return proposal.id in _live_ids(document)


def moot_ids(home: Home) -> set[str]:
    """Return the ids of the questions that `memory review` would drop, because their entries have ended."""
    asked = proposals.ended_ids(home)
    return asked - _live_ids(parse(storage.read_text(home.root / MEMORY))) if asked else set()


def _live_ids(document: Document) -> set[str]:
    """Return the ids of the entries of *document* that have not ended."""
    return {entry.id for entry in document.entries() if not entry.retired} - superseded_by(document.entries()).keys()


def _draft(ending: PossibleEnding, session: str) -> ProposalDraft:
    kind, older, newer = ending.operation.kind, ending.older, ending.newer
    said = " ".join(ending.operation.text.split())
    words = shorten(" ".join(ending.gone.split()), _MAX_GONE_CHARS)
    gone = f' {"without" if kind == "revise" else "with all of"} "{words}"' if words else ""
    rule = section_of(newer.prefix)
    trailers: Mapping[str, str] = {
        "Session": session,
        "Evidence": "unchecked",
        "Actor": "close",
        "Source": ending.origin,
        "Risk": "medium",
        "Ends": " ".join(dict.fromkeys((kind, older.id, newer.id))),
        "Asks": _digest(ending),
        "Doubt": shorten(f"{older.id} is perhaps {_WORDS[kind]}{gone}: {said}", _MAX_DOUBT_CHARS),
    }
    return ProposalDraft(
        id=older.id, path=MEMORY, section=rule.title if rule else "Entries", text=newer.render(),
        message=f"Ask whether {older.id} is {_WORDS[kind]}", trailers=trailers,
    )  # fmt: skip


def _said(doubt: str) -> str:
    """Return the words of a doubt behind what it says of the entry."""
    head, quote, rest = doubt.partition('": ')
    return rest if quote and head.count('"') == 1 else doubt.partition(": ")[2]


def _digest(ending: PossibleEnding) -> str:
    return ending_digest(ending.operation.kind, ending.older, ending.newer)


def _states_same(one: Entry, other: Entry) -> bool:
    return one.id == other.id or statement_digest(one) == statement_digest(other)
