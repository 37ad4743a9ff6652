"""Own the review queue: quarantined texts and proposals, and a person's decisions about them.

Only a person may decide (design rule 10). The command asks a person at a terminal, or gets a name. This module checks
that the name is neither a part of this program, nor the agent, nor the author. It is recorded in the commit's trailer
``Actor`` and in the audit. A job that makes up a name cannot be told from a person here. The recorded name protects
against it, and no part of this program ever passes one by itself.
"""

from __future__ import annotations

import difflib
import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from agent_home.documents.entry import section_of
from agent_home.documents.placement import as_entry
from agent_home.documents.provenance import least_trusted
from agent_home.events.recording import record_event
from agent_home.home import Home
from agent_home.screening import quarantine
from agent_home.screening.quarantine import Quarantined
from agent_home.screening.review_ledger import Decision, decisions
from agent_home.screening.service import ScreeningService
from agent_home.screening.write_policy import reason_of
from agent_home.store import losses, proposals, set_aside
from agent_home.store.losses import Loss
from agent_home.store.machine_state import hold_home
from agent_home.store.proposals import Proposal
from agent_home.store.set_aside import SetAside

from ..errors import NoSuchProposal, NotAllowed, NotPlaceable, NotShown
from ..statements.risk import RISKS, Risk, risk_of
from . import deciders, quarantine_review
from .decided_items import DecidedItem, keep_decided, waiting_files
from .entry_losses import accept_loss, plan_loss, reject_loss, settle_losses
from .entry_proposals import (
    accept_proposal,
    edit_proposal,
    note_commit,
    plan_proposal,
    reject_proposal,
    settle_proposals,
    was_shown,
)
from .quarantine_review import Acceptance, AcceptMode
from .recovered_texts import (
    accept_recovered,
    difference,
    plan_recovered,
    reject_recovered,
    settle_recovered,
)
from .undo import is_undoable, settle_undone

__all__ = [
    "ReviewItem",
    "ReviewOutcome",
    "accept",
    "diff_lines",
    "edit",
    "find",
    "note_shown",
    "plan",
    "reject",
    "require_decider",
    "undecided",
    "up_to_risk",
    "waiting",
]

_ELSEWHERE = "this machine did not make it. What it says about its author, evidence and risk is left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """A text that waits for a decision.

    *path* and *section* are its destination, or the place of the entry that it would end. *ends* is the kind of end
    that a proposal would give the entry with its id, and empty for a text that would be added. *origin* is its least
    trusted author, *evidence* the result of the check against git, and *actor* the proposer. *reason* and *findings*
    come from the guard and are empty for a proposal that the guard allows. Only a proposal has a *commit*. A loss has
    the entries that a person's edit would remove, and a recovered text is what recovery set aside. A *foreign* proposal
    was made elsewhere: it has no tier, and a person reads it before it is accepted. *speaker* is the name of the person
    who said a quarantined message.
    """

    id: str
    kind: Literal["quarantine", "proposal", "loss", "recovered"]
    path: str
    section: str
    text: str
    evidence: str
    origin: str
    risk: Risk
    reason: str = ""
    findings: tuple[Mapping[str, Any], ...] = ()
    session: str = ""
    source: str = ""
    actor: str = ""
    ts: str = ""
    commit: str = ""
    ends: str = ""
    foreign: bool = False
    speaker: str = ""

    @property
    def conversation(self) -> str:
        """The session that a person can look up. A note of a participant has none, only a name to count it by."""
        return "" if self.session.endswith(":") else self.session


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOutcome:
    """The result of a decision. *commit* is ``None`` for a plan, and for a decision that was made before.

    *entry* is the id of the entry that an accepted text became, and *diff* the change of its file.
    """

    item: ReviewItem
    action: Literal["accepted", "rejected", "edited", "would accept"]
    person: str
    text: str = ""
    path: str = ""
    section: str = ""
    entry: str = ""
    commit: str | None = None
    diff: tuple[str, ...] = ()


def waiting(home: Home, now: datetime) -> list[ReviewItem]:
    """Return all waiting texts, oldest first. Decisions that a killed process left incomplete are finished before."""
    settle_undone(home, now)
    lost = settle_losses(home, now)
    quarantine_review.settle(home, now)
    found = [_of_quarantine(home, item) for item in quarantine.waiting(home)]
    found += [_of_loss(home, loss) for loss in lost]
    found += [_of_recovered(home, item) for item in settle_recovered(home)]
    found += [_of_proposal(home, proposal) for proposal in settle_proposals(home)]
    return sorted(found, key=lambda item: (item.ts, item.id))


def waiting_of_sessions(home: Home, lead: str) -> int:
    """Return how many texts wait of sessions whose names begin with *lead*: proposals, and what the guard held back."""
    held = sum(item.session.startswith(lead) for item in quarantine.waiting(home))
    return held + proposals.count_of_sessions(home, lead)


def find(home: Home, waiting_id: str, now: datetime) -> ReviewItem:
    """Return the waiting text with that id, in any letter case.

    Raises:
        NoSuchProposal: no waiting text has that id.
    """
    listed = waiting(home, now)
    folded_id = waiting_id.strip().strip("[]").casefold()
    found = next((item for item in listed if item.id.casefold() == folded_id), None)
    if found is None:
        raise NoSuchProposal(waiting_id, [item.id for item in listed])
    return found


def undecided(
    home: Home, ids: Sequence[str], now: datetime, action: Literal["accepted", "rejected"]
) -> tuple[list[ReviewItem], list[Decision]]:
    """Return the waiting texts with these ids, and the decisions about those that a person has *action* already.

    So a command with several ids that was killed after the first one can be run again.

    Raises:
        NoSuchProposal: an id is neither.
    """
    items: list[ReviewItem] = []
    done: list[Decision] = []
    for waiting_id in ids:
        try:
            items.append(find(home, waiting_id, now))
        except NoSuchProposal:
            known = decisions(home)
            rows = known.approved if action == "accepted" else known.rejected
            folded_id = waiting_id.strip().strip("[]").casefold()
            earlier = next((row for row in reversed(rows) if row.id.casefold() == folded_id), None)
            if earlier is None:
                raise
            done.append(earlier)
    return items, done


def accept(home: Home, item: ReviewItem, *, person: str, now: datetime, mode: AcceptMode = "as-is") -> ReviewOutcome:
    """Write a waiting text to its destination, in one commit that names *person*.

    Raises:
        NotAllowed: *person* may not decide this.
        NotShown: *item* is foreign, and nobody on this machine was shown it.
        NotPlaceable, HomeError: the text could not be written and still waits.
    """
    person = require_decider(home, item, person)
    if item.foreign and not was_shown(home, item.commit):
        raise NotShown(item.id)
    waited = _waited(home, item)
    if item.kind == "proposal":
        acceptance = accept_proposal(home, _proposal(home, item), person=person, now=now)
    elif item.kind == "loss":
        acceptance = accept_loss(home, item.id, person=person, now=now)
    elif item.kind == "recovered":
        acceptance = accept_recovered(home, item.id, person=person, now=now)
    else:
        acceptance = quarantine_review.accept_quarantined(home, _item(home, item), person=person, mode=mode, now=now)
    _decided(home, item, waited, "accepted", person=person, now=now, commit=acceptance.commit or "")
    return _outcome(item, acceptance, "accepted", person)


def plan(home: Home, item: ReviewItem, *, mode: AcceptMode = "as-is") -> ReviewOutcome:
    """Return what :func:`accept` would write now. Nothing is changed."""
    if item.kind == "proposal":
        acceptance = plan_proposal(home, _proposal(home, item))
    elif item.kind == "loss":
        acceptance = plan_loss(home, item.id)
    elif item.kind == "recovered":
        acceptance = plan_recovered(home, item.id)
    else:
        acceptance = quarantine_review.plan_quarantined(home, _item(home, item), mode)
    return _outcome(item, acceptance, "would accept", "")


def up_to_risk(items: Sequence[ReviewItem], tier: Risk) -> list[ReviewItem]:
    """Return this machine's proposals with that risk or a lower one.

    Quarantined texts and the proposals of others are always accepted one by one.
    """
    own = (item for item in items if item.kind == "proposal" and not item.foreign)
    return [item for item in own if RISKS.index(item.risk) <= RISKS.index(tier)]


def note_shown(home: Home, item: ReviewItem) -> None:
    """Remember that a person was shown *item*, where that is needed to accept it."""
    if item.foreign:
        with hold_home(home):
            note_commit(home, item.commit)


def edit(home: Home, item: ReviewItem, text: str, *, person: str, now: datetime) -> ReviewOutcome:
    """Replace the text of a proposal. The proposal keeps its id and still waits.

    Raises:
        NotAllowed: *person* may not decide this.
        NotPlaceable: *item* is not a proposal.
        GuardRefused: the guard does not allow *text* unchanged.
    """
    person = require_decider(home, item, person)
    if item.kind != "proposal":
        raise NotPlaceable(item.id, "only a proposal can be edited. Accept or reject it")
    edit_proposal(home, _proposal(home, item), text, person=person)
    edited = find(home, item.id, now)
    _decided(home, item, {}, "edited", person=person, now=now, edited=edited.commit)
    diff = diff_lines(item.text, edited.text, item.path)
    return ReviewOutcome(
        item=edited,
        action="edited",
        person=person,
        text=edited.text,
        path=item.path,
        section=item.section,
        diff=diff,
    )


def reject(home: Home, item: ReviewItem, *, person: str, now: datetime) -> ReviewOutcome:
    """Remove a waiting text and record a digest of it, so that the same text never waits again.

    Raises:
        NotAllowed: *person* may not decide this.
        HomeError: the decision could not be written, and the text still waits.
    """
    person = require_decider(home, item, person)
    waited = _waited(home, item)
    if item.kind == "proposal":
        commit = reject_proposal(home, _proposal(home, item), person=person, now=now)
    elif item.kind == "loss":
        commit = reject_loss(home, item.id, person=person, now=now)
    elif item.kind == "recovered":
        commit = reject_recovered(home, item.id, person=person, now=now)
    else:
        commit = quarantine_review.reject_quarantined(home, _item(home, item), person=person, now=now)
    _decided(home, item, waited, "rejected", person=person, now=now, commit=commit or "")
    return ReviewOutcome(item=item, action="rejected", person=person, path=item.path, commit=commit)


def require_decider(home: Home, item: ReviewItem, name: str) -> str:
    """Normalise *name* and return it when that person may decide about *item*.

    Raises:
        NotAllowed: see :func:`distill.review.deciders.require_person`, or *name* is that of somebody who said the text.
    """
    person = deciders.require_person(home, name, item.actor)
    if deciders.is_author(home, person, item_id=item.id, session=item.session, text=item.text):
        raise NotAllowed(person, f"the author of a text cannot decide about it. {deciders.WHO_MAY}")
    return person


def diff_lines(before: str, after: str, path: str) -> tuple[str, ...]:
    """Return the change of a file as the lines of a unified diff."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", lineterm="", n=1)
    return tuple(lines)


def _waited(home: Home, item: ReviewItem) -> dict[str, str]:
    """Return the files of the machine state with which *item* waits, so that its decision can be undone."""
    if item.kind == "quarantine":
        return waiting_files(home, [f"quarantine/{item.id}.json"])
    if item.kind == "loss":
        return waiting_files(home, [f"recovered/loss-{item.id.removeprefix('l-')}*"])
    found = (one for one in set_aside.waiting(home) if item.kind == "recovered" and one.id == item.id)
    return waiting_files(home, [f"recovered/{glob.escape(one.name)}" for one in found])


def _decided(
    home: Home, item: ReviewItem, waited: Mapping[str, str], action: Literal["accepted", "rejected", "edited"], *,
    person: str, now: datetime, commit: str = "", edited: str = "",
) -> None:  # fmt: skip
    """Record a decision in the event log, and keep what is needed to undo it."""
    record_event(home, "review", session=item.session, now=now, item=item.id, kind=item.kind, action=action)
    done = DecidedItem(
        id=item.id, kind=item.kind, action=action, person=person, ts=now.isoformat(), text=item.text, path=item.path,
        commit=commit, waited=item.commit, edited=edited, files=waited,
    )  # fmt: skip
    if (commit or edited) and is_undoable(home, done):
        with hold_home(home):
            keep_decided(home, done, now)


def _of_quarantine(home: Home, item: Quarantined) -> ReviewItem:
    entry = as_entry(item.text)
    rule = section_of(entry.prefix) if entry else None
    evidence = entry.fields.get("Evidence", "") if entry else ""
    authors = [item.source, *([entry.fields["Origin"]] if entry and entry.fields.get("Origin") else [])]
    said = None
    if item.session and item.path.startswith("sessions/"):
        said = deciders.speaker_of(home, item_id=item.id, session=item.session)
        authors += [said.role] if said is not None and said.role == "participant" else []
    origin = least_trusted(authors)
    return ReviewItem(
        id=item.id, kind="quarantine", path=item.path, section=item.section or (rule.title if rule else ""),
        text=item.text, evidence=evidence, origin=origin,
        risk=risk_of(origin, evidence, item.findings, held_back=True), reason=item.reason, findings=item.findings,
        session=item.session, source=item.source, actor=item.actor, ts=item.ts, speaker=said.name if said else "",
    )  # fmt: skip


def _of_loss(home: Home, loss: Loss) -> ReviewItem:
    text = "".join(entry.render() for entry in losses.lost_entries(home, loss))
    return ReviewItem(
        id=loss.id, kind="loss", path=loss.path, section="", text=text, evidence="", origin="user", risk="high",
        reason=f"{loss.reason}. Accept removes them, reject keeps them", actor="by hand", ts=loss.ts,
    )  # fmt: skip


def _of_recovered(home: Home, item: SetAside) -> ReviewItem:
    reason = f"set aside on {item.ts[:10]}, {item.reason}: {difference(home, item)}"
    return ReviewItem(
        id=item.id, kind="recovered", path=item.path or item.name, section="", text=item.text, evidence="",
        origin="agent", risk="high", reason=reason, ts=item.ts,
    )  # fmt: skip


def _of_proposal(home: Home, proposal: Proposal) -> ReviewItem:
    """Return the review item of a proposal. The guard's current verdict overrides the risk in the branch's trailers."""
    trailers = proposal.trailers
    verdict = ScreeningService(home).verdict(proposal.path, proposal.text, proposal.source)
    risk: Risk = next((risk for risk in RISKS if risk == trailers.get("Risk")), "high")  # a branch without a known risk
    if not verdict.stored or proposal.foreign:
        risk = "high"
    reason = _ELSEWHERE if proposal.foreign else trailers.get("Doubt", "")
    ended = section_of(proposal.id[:2]) if proposal.ends else None  # the branch has the section of the successor
    findings = tuple({"layer": str(f.layer), "rule": f.rule, "kind": f.kind} for f in verdict.findings)
    return ReviewItem(
        id=proposal.id, kind="proposal", path=proposal.path, section=ended.title if ended else proposal.section,
        text=proposal.text,
        evidence=trailers.get("Evidence", ""),
        origin=trailers["Source"] if proposal.foreign else proposal.source, risk=risk,
        reason=reason if verdict.stored else reason_of(verdict), findings=findings, foreign=proposal.foreign,
        session=trailers.get("Session", ""),
        source=proposal.source, actor=trailers.get("Actor", ""),
        ts=proposal.ts, commit=proposal.commit, ends=proposal.ends,
        speaker="" if proposal.foreign else deciders.speaker_of_sources(home, proposal.text),
    )  # fmt: skip


def _proposal(home: Home, item: ReviewItem) -> Proposal:
    """Return the proposal of a review item, unchanged since the person saw it.

    Raises:
        NoSuchProposal: somebody decided about the proposal or edited it meanwhile.
    """
    found = proposals.find(home, item.id)
    if found is None or found.commit != item.commit:
        raise NoSuchProposal(item.id, proposals.pending_ids(home))
    return found


def _item(home: Home, item: ReviewItem) -> Quarantined:
    """Return the quarantined text of a review item.

    Raises:
        NoSuchProposal: somebody decided about it meanwhile.
    """
    items = list(quarantine.waiting(home))
    found = next((other for other in items if other.id == item.id), None)
    if found is None:
        raise NoSuchProposal(item.id, [other.id for other in items])
    return found


def _outcome(
    item: ReviewItem, acceptance: Acceptance, action: Literal["accepted", "would accept"], person: str
) -> ReviewOutcome:
    return ReviewOutcome(
        item=item, action=action, person=person, text=acceptance.text, path=acceptance.path, section=acceptance.section,
        entry=acceptance.entry, commit=acceptance.commit,
        diff=diff_lines(acceptance.before, acceptance.after, acceptance.path),
    )  # fmt: skip
