"""Entries that wait for a person as proposals: how they are made, accepted, edited and rejected.

A proposal is a commit on a branch of the home (``agent_home.store.proposals``). Accepting one puts its entry into the
file as it is now, which is a cherry-pick that cannot conflict: an entry is placed by its section and its id, not by
lines. The decision is committed with its line in a ledger, and then the branch goes; whoever is killed between the two
is finished by :func:`settle`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from agent_home import storage
from agent_home.documents.check import entry_files
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry, parse_entry
from agent_home.documents.placement import as_entry, insert_text
from agent_home.errors import GuardRefused
from agent_home.home import MEMORY, Home
from agent_home.lock import hold
from agent_home.screening.review_ledger import (
    APPROVED,
    REJECTED,
    approval_digests,
    decisions,
    rejection_digest,
    statement_digest,
)
from agent_home.screening.service import ScreeningService
from agent_home.screening.write_policy import reason_of
from agent_home.store import proposals
from agent_home.store.gateway import recover, transaction
from agent_home.store.proposals import Draft, Proposal
from guard import Action

from ..entries.promotion import PromotionCandidate
from ..errors import NoSuchProposal
from ..evidence.status import UNCHECKED
from ..learning.governance import retire_rule
from ..statements.risk import risk_of
from ..statements.sentences import split_title
from .quarantine_review import Acceptance

__all__ = [
    "accept_proposal",
    "draft_proposal",
    "edit_proposal",
    "plan_proposal",
    "reject_proposal",
    "rejected_or_pending",
    "settle_proposals",
]  # fmt: skip


def draft_proposal(home: Home, candidate: PromotionCandidate, entry: Entry, session: str) -> Draft:
    """The proposal of *entry*, with what a person needs to judge it in its trailers."""
    verdict = ScreeningService(home).verdict(MEMORY, entry.render(), candidate.origin)
    state = candidate.evidence.state if candidate.evidence != UNCHECKED else "unchecked"
    trailers = {
        "Session": session,
        "Evidence": f"{state} {candidate.evidence.commit}".strip(),
        "Actor": "close",
        "Source": candidate.origin,
        "Risk": risk_of(candidate.origin, state, [asdict(finding) for finding in verdict.findings]),
    }
    section = candidate.section.title
    return Draft(
        id=entry.id, path=MEMORY, section=section, text=entry.render(),
        message=f"Propose {entry.id} for {section}", trailers=trailers,
    )  # fmt: skip


def rejected_or_pending(home: Home) -> Callable[[Entry], bool]:
    """Whether an entry need not be written: a person rejected what it states, or it waits for one already."""
    decided, pending = decisions(home), proposals.pending_statements(home)

    def refused(entry: Entry) -> bool:
        if not pending and not decided.rejected:
            return False
        stored = parse_entry(ScreeningService(home).verdict(MEMORY, entry.render(), "agent").text) or entry
        return decided.rejects_entry(stored) or statement_digest(stored) in pending

    return refused


def accept_proposal(home: Home, proposal: Proposal, *, person: str, now: datetime) -> Acceptance:
    """Write what *proposal* proposes into its file, in one commit in the name of *person*; then its branch goes.

    What the guard would hold back by now, the person has seen: it is approved with it.

    Raises:
        NoSuchProposal: it was decided about, or changed, meanwhile.
        HomeError: see :func:`agent_home.store.gateway.transaction`.
    """
    message = f"Accept proposal {proposal.id} for {proposal.section or proposal.path}"
    said = proposal.trailers
    session, source = said.get("Session", ""), proposal.source
    with transaction(home, actor=person, message=message, session=session, source=source, now=now) as edits:
        _refuse_changed(home, proposal)
        release = _release(proposal, edits.text(proposal.path), _is_archived(home, proposal.id))
        if release.after != release.before:
            edits.write(proposal.path, release.after)
        retire_rule(edits, said)
        stored = ScreeningService(home).verdict(proposal.path, proposal.text, source).stored
        edits.append(APPROVED, [_row(proposal, person, now, () if stored else approval_digests(proposal.text))])
        edits.trailer("Evidence", said.get("Evidence", ""))
        edits.trailer("Proposed-By", said.get("Actor", ""))
        edits.trailer("Proposal", proposal.commit)
    _withdraw(home, proposal.id)
    return replace(release, commit=edits.outcome.commit)


def plan_proposal(home: Home, proposal: Proposal) -> Acceptance:
    """What :func:`accept_proposal` would write now."""
    text = storage.read_text(home.path(proposal.path))
    return _release(proposal, text, _is_archived(home, proposal.id))


def reject_proposal(home: Home, proposal: Proposal, *, person: str, now: datetime) -> str | None:
    """Take *proposal*'s branch away and remember a digest of what it states; the commit that says so."""
    message = f"Reject proposal {proposal.id} for {proposal.section or proposal.path}"
    session = proposal.trailers.get("Session", "")
    with transaction(home, actor=person, message=message, session=session, now=now) as edits:
        _refuse_changed(home, proposal)
        if not decisions(home).rejects(proposal.text):
            digests = (rejection_digest(proposal.text), *_was(proposal))
            edits.append(REJECTED, [_row(proposal, person, now, digests)])
    _withdraw(home, proposal.id)
    return edits.outcome.commit


def edit_proposal(home: Home, proposal: Proposal, text: str, *, person: str, title_chars: int) -> None:
    """Let *proposal* say *text* instead. What git said was said of other words, so it counts as unchecked from now on.

    Who edits a proposal may accept it: the words are a person's then, and both names are on record.

    Raises:
        NoSuchProposal: it was decided about, or changed, meanwhile.
        GuardRefused: the guard does not pass *text* as it is.
    """
    entry = as_entry(proposal.text)
    if entry is not None:
        title, body = split_title(" ".join(text.split()), title_chars)
        fields = {name: value for name, value in entry.fields.items() if name != "Evidence"}
        text = entry.changed(title=title, body=body, detail="", fields=fields).render()
    verdict = ScreeningService(home).verdict(proposal.path, text, "user")
    if verdict.action != Action.ALLOW:
        raise GuardRefused(proposal.path, reason_of(verdict))
    risk = risk_of(proposal.source, "unchecked")
    with hold(home.lock):
        recover(home)
        _refuse_changed(home, proposal)
        was = " ".join([*_was(proposal), rejection_digest(proposal.text)])
        said = {"Evidence": "unchecked", "Risk": risk, "Edited-By": person, "Was": was}
        proposals.rewrite(home, proposal, text, said)


def settle_proposals(home: Home) -> list[Proposal]:
    """The proposals that wait. Branches of those that were decided about, here or on another clone, are taken away."""
    decided = decisions(home)
    found = []
    for proposal in proposals.waiting(home):
        if decided.approval_of(proposal.id, proposal.commit) is not None or decided.rejects(proposal.text):
            _withdraw(home, proposal.id)
        else:
            found.append(proposal)
    return found


def _release(proposal: Proposal, before: str, archived: bool) -> Acceptance:  # noqa: FBT001
    """Where the text goes; *before* and *after* are the same when it stands there already, or in the archive."""
    document = parse(before)
    entry = as_entry(proposal.text)
    if entry is not None:
        there = archived or document.entry(entry.id) is not None
        same = next((e for e in document.entries() if statement_digest(e) == statement_digest(entry)), None)
    else:
        there, same = proposal.text.strip() in before, None
    known = there or same is not None
    after = before if known else insert_text(document, proposal.text, section=proposal.section).render()
    return Acceptance(
        id=proposal.id, path=proposal.path, section=proposal.section, text=proposal.text,
        entry=same.id if same else entry.id if entry else "", before=before, after=after,
    )  # fmt: skip


def _was(proposal: Proposal) -> list[str]:
    """Digests of what the proposal said before people edited it."""
    return proposal.trailers.get("Was", "").split()


def _is_archived(home: Home, entry_id: str) -> bool:
    files = (home.root / file for file in entry_files(home) if file.startswith("Archive/"))
    return any(parse(storage.read_text(file)).entry(entry_id) for file in files)


def _refuse_changed(home: Home, proposal: Proposal) -> None:
    """Stop when *proposal* is not what the person saw. Call with the lock held."""
    present = proposals.find(home, proposal.id)
    if present is None or present.commit != proposal.commit:
        raise NoSuchProposal(proposal.id, len(proposals.pending_ids(home)))


def _withdraw(home: Home, proposal_id: str) -> None:
    with hold(home.lock):
        proposals.withdraw(home, proposal_id)


def _row(proposal: Proposal, person: str, now: datetime, digests: Sequence[str]) -> dict[str, Any]:
    """A line of a ledger. It says who, when and what was decided about, and nothing of what it says."""
    return {
        "ts": now.isoformat(), "kind": "proposal", "id": proposal.id, "by": person, "digests": list(digests),
        "commit": proposal.commit,
    }  # fmt: skip
