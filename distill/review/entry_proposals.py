"""Make, accept, edit and reject proposals of entries.

A proposal is a commit on a branch of the home (``agent_home.store.proposals``). Accepting it inserts its entry into the
current file by section and id instead of by lines, so it cannot conflict like a cherry-pick. The decision and its line
in a ledger are one commit, and then the branch is deleted. :func:`settle_proposals` deletes the branch when the process
was killed between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent_home import storage
from agent_home.consent.signed_record import read_record, write_record
from agent_home.documents.check import entry_files
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry, parse_entry
from agent_home.documents.placement import as_entry, insert_text
from agent_home.errors import GuardRefused
from agent_home.home import MEMORY, Home
from agent_home.screening.review_ledger import (
    APPROVED,
    REJECTED,
    Decisions,
    approval_digests,
    decisions,
    rejection_digest,
    statement_digest,
)
from agent_home.screening.service import ScreeningService
from agent_home.screening.write_policy import reason_of
from agent_home.store import proposals
from agent_home.store.gateway import transaction
from agent_home.store.machine_state import hold_home
from agent_home.store.proposals import Proposal, ProposalDraft
from agent_home.store.recovery import marked_git, recover
from guard import Action

from ..errors import NoSuchProposal, NotPlaceable
from ..evidence.status import UNCHECKED
from ..statements.risk import risk_of
from ..statements.sentences import shorten
from .entry_endings import end_in, is_open
from .quarantine_review import Acceptance

if TYPE_CHECKING:
    from ..entries.promotion import PromotionCandidate

__all__ = [
    "accept_proposal",
    "draft_proposal",
    "edit_proposal",
    "note_commit",
    "plan_proposal",
    "reject_proposal",
    "rejected_or_pending",
    "settle_proposals",
    "was_shown",
]  # fmt: skip

_MAX_DOUBT_CHARS = 200
#: Name of this machine's record of the commits of others' proposals that a person was shown.
_SHOWN = "shown-proposals"


def draft_proposal(home: Home, candidate: PromotionCandidate, entry: Entry, session: str) -> ProposalDraft:
    """Return the proposal of *entry*. Its trailers have the evidence, source and risk for the person who decides."""
    verdict = ScreeningService(home).verdict(MEMORY, entry.render(), candidate.origin)
    state = candidate.evidence.state if candidate.evidence != UNCHECKED else "unchecked"
    trailers = {
        "Session": session,
        "Evidence": f"{state} {candidate.evidence.commit}".strip(),
        "Actor": "close",
        "Source": candidate.origin,
        "Risk": risk_of(candidate.origin, state, [asdict(finding) for finding in verdict.findings]),
    }
    if candidate.item.doubt:
        trailers["Risk"] = "medium" if trailers["Risk"] == "low" else trailers["Risk"]
        trailers["Doubt"] = shorten(" ".join(candidate.item.doubt.split()), _MAX_DOUBT_CHARS)
    section = candidate.section.title
    return ProposalDraft(
        id=entry.id, path=MEMORY, section=section, text=entry.render(),
        message=f"Propose {entry.id} for {section}", trailers=trailers,
    )  # fmt: skip


def rejected_or_pending(home: Home) -> Callable[[Entry], bool]:
    """Return a predicate that is true for an entry whose statement was rejected or is pending."""
    decided, pending = decisions(home), proposals.pending_statements(home)

    def refused(entry: Entry) -> bool:
        if not pending and not decided.rejected:
            return False
        stored = parse_entry(ScreeningService(home).verdict(MEMORY, entry.render(), "agent").text) or entry
        return decided.rejects_entry(stored) or statement_digest(stored) in pending

    return refused


def accept_proposal(home: Home, proposal: Proposal, *, person: str, now: datetime) -> Acceptance:
    """Write the text of *proposal* into its file, in one commit in the name of *person*, and delete its branch.

    A text that the guard would quarantine by now, or that a stranger proposed, is approved with the proposal, because
    the person saw it.

    Raises:
        NoSuchProposal: somebody decided about the proposal or changed it meanwhile.
        HomeError: see :func:`agent_home.store.gateway.transaction`.
    """
    from ..learning.governance import retire_rule  # loads what reads conversations

    message = f"Accept proposal {proposal.id} for {proposal.section or proposal.path}"
    trailers = proposal.trailers
    session, source = trailers.get("Session", ""), proposal.source
    with transaction(home, actor=person, message=message, session=session, source=source, now=now) as edits:
        _refuse_changed(home, proposal)
        acceptance = _plan(proposal, edits.text(proposal.path), _is_archived(home, proposal.id))
        if acceptance.after != acceptance.before:
            edits.write(proposal.path, acceptance.after)
        retire_rule(edits, trailers)
        stored = ScreeningService(home).verdict(proposal.path, proposal.text, source).stored and not proposal.foreign
        edits.append(APPROVED, [_row(proposal, person, now, () if stored else approval_digests(proposal.text))])
        edits.trailer("Evidence", trailers.get("Evidence", ""))
        edits.trailer("Proposed-By", trailers.get("Actor", ""))
        edits.trailer("Proposal", proposal.commit)
    _withdraw(home, proposal.id)
    return replace(acceptance, commit=edits.outcome.commit)


def plan_proposal(home: Home, proposal: Proposal) -> Acceptance:
    """Return what :func:`accept_proposal` would write now."""
    text = storage.read_text(home.path(proposal.path))
    return _plan(proposal, text, _is_archived(home, proposal.id))


def reject_proposal(home: Home, proposal: Proposal, *, person: str, now: datetime) -> str | None:
    """Delete *proposal*'s branch and record a digest of its statement. Return the commit, if one was made."""
    message = f"Reject proposal {proposal.id} for {proposal.section or proposal.path}"
    session = proposal.trailers.get("Session", "")
    with transaction(home, actor=person, message=message, session=session, now=now) as edits:
        _refuse_changed(home, proposal)
        if not _is_rejected(decisions(home), proposal):
            digests = (proposal.trailers.get("Asks") or rejection_digest(proposal.text), *_earlier_digests(proposal))
            asked_elsewhere = proposal.foreign and proposal.ends  # its text is an entry that holds here
            edits.append(REJECTED, [_row(proposal, person, now, () if asked_elsewhere else digests)])
    _withdraw(home, proposal.id)
    return edits.outcome.commit


def note_commit(home: Home, commit: str) -> None:
    """Record that a person was shown the proposal of another machine with that *commit*. Call with the lock held."""
    shown = (read_record(home.machine, _SHOWN) or {}).get("commits", [])
    waiting = {proposal.commit for proposal in proposals.waiting(home)}
    commits = [*(one for one in shown if one in waiting and one != commit), commit]
    write_record(home.machine, _SHOWN, {"commits": commits})


def was_shown(home: Home, commit: str) -> bool:
    """Return whether a person was shown the proposal with that *commit* on this machine."""
    return commit in (read_record(home.machine, _SHOWN) or {}).get("commits", ())


def edit_proposal(home: Home, proposal: Proposal, text: str, *, person: str) -> None:
    """Replace the text of *proposal* by *text*. The evidence becomes unchecked, because it was about other words.

    The person who edits a proposal may accept it. The words are then a person's, and both names are recorded.

    Raises:
        NoSuchProposal: somebody decided about the proposal or changed it meanwhile.
        GuardRefused: the guard does not allow *text* unchanged.
        NotPlaceable: the proposal ends an entry, and its text is the one that is there or was said.
    """
    if proposal.ends:
        advice = f"it ends {proposal.id}. Accept or reject it, or run `memory remember TEXT --replaces {proposal.id}`"
        raise NotPlaceable(proposal.id, advice)
    entry = as_entry(proposal.text)
    if entry is not None:
        fields = {name: value for name, value in entry.fields.items() if name != "Evidence"}
        text = entry.changed(title=" ".join(text.split()), body="", detail="", fields=fields).render()
    verdict = ScreeningService(home).verdict(proposal.path, text, "user")
    if verdict.action != Action.ALLOW:
        raise GuardRefused(proposal.path, reason_of(verdict))
    risk = risk_of(proposal.source, "unchecked")
    with hold_home(home):
        recover(home)
        _refuse_changed(home, proposal)
        digests = " ".join([*_earlier_digests(proposal), rejection_digest(proposal.text)])
        trailers = {"Evidence": "unchecked", "Risk": risk, "Edited-By": person, "Was": digests}
        with marked_git(home):
            proposals.rewrite(home, proposal, text, trailers)


def settle_proposals(home: Home) -> list[Proposal]:
    """Return the pending proposals. Delete the branches of those that were decided here or on another clone."""
    decided = decisions(home)
    found = []
    for proposal in proposals.waiting(home):
        done = decided.approval_of(proposal.id, proposal.commit) is not None or _is_rejected(decided, proposal)
        if proposal.ends and not proposal.foreign and not done:
            done = not is_open(parse(storage.read_text(home.path(proposal.path))), proposal)
        if done:
            _withdraw(home, proposal.id)
        else:
            found.append(proposal)
    return found


def _is_rejected(decided: Decisions, proposal: Proposal) -> bool:
    """Return whether a person rejected the text of *proposal*, or the question that it asks about an entry."""
    question = proposal.trailers.get("Asks", "")
    return decided.rejects_digest(question) if question else decided.rejects(proposal.text)


def _plan(proposal: Proposal, before: str, archived: bool) -> Acceptance:  # noqa: FBT001
    """Plan the acceptance. *before* and *after* are equal when the text is in the file or the archive already.

    Raises:
        NotPlaceable: another machine asks to end an entry.
    """
    document = parse(before)
    if proposal.ends and proposal.foreign:
        raise NotPlaceable(proposal.id, "another machine asks to end an entry or a rule. Decide about that there")
    if proposal.ends:
        return Acceptance(
            id=proposal.id, path=proposal.path, section=proposal.section, text=proposal.text, entry=proposal.id,
            before=before, after=end_in(document, proposal).render(),
        )  # fmt: skip
    entry = as_entry(proposal.text)
    if entry is not None:
        has_id = archived or document.entry(entry.id) is not None
        same = next((e for e in document.entries() if statement_digest(e) == statement_digest(entry)), None)
    else:
        has_id, same = proposal.text.strip() in before, None
    known = has_id or same is not None
    after = before if known else insert_text(document, proposal.text, section=proposal.section).render()
    return Acceptance(
        id=proposal.id, path=proposal.path, section=proposal.section, text=proposal.text,
        entry=same.id if same else entry.id if entry else "", before=before, after=after,
    )  # fmt: skip


def _earlier_digests(proposal: Proposal) -> list[str]:
    """Return the digests of the proposal's texts before it was edited."""
    return proposal.trailers.get("Was", "").split()


def _is_archived(home: Home, entry_id: str) -> bool:
    files = (home.root / file for file in entry_files(home) if file.startswith("Archive/"))
    return any(parse(storage.read_text(file)).entry(entry_id) for file in files)


def _refuse_changed(home: Home, proposal: Proposal) -> None:
    """Raise ``NoSuchProposal`` when *proposal* changed since the person saw it. Call with the lock held.

    An acceptance of another process may be committed while its branch is still there.
    """
    present = proposals.find(home, proposal.id)
    accepted = decisions(home).approval_of(proposal.id, proposal.commit) is not None
    if accepted or present is None or present.commit != proposal.commit:
        raise NoSuchProposal(proposal.id, proposals.pending_ids(home))


def _withdraw(home: Home, proposal_id: str) -> None:
    with hold_home(home), marked_git(home):
        proposals.withdraw(home, proposal_id)


def _row(proposal: Proposal, person: str, now: datetime, digests: Sequence[str]) -> dict[str, Any]:
    """Return a ledger row: who decided about which proposal and when, with digests and without its text."""
    return {
        "ts": now.isoformat(), "kind": "proposal", "id": proposal.id, "by": person, "digests": list(digests),
        "commit": proposal.commit,
    }  # fmt: skip
