"""What waits for a person, and a person's decisions: texts that the guard held back, and proposed entries.

Deciding is a person's (design rule 10). The command asks a person at a terminal, or is told the name of one; here it
is checked that the name is not one under which a part of this program writes, nor the one that proposed the text. The
name stands in the commit's trailer ``Actor`` and in the audit. A job that makes a name up cannot be told from a person
by this: what protects against it is that the name is on record, and that no part of this program ever gives one.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from agent_home.documents.entry import section_of
from agent_home.documents.placement import as_entry
from agent_home.documents.provenance import least_trusted
from agent_home.home import MEMORY, Home
from agent_home.screening import quarantine
from agent_home.screening.quarantine import Quarantined
from agent_home.screening.service import ScreeningService
from agent_home.screening.write_policy import reason_of
from agent_home.store import proposals
from agent_home.store.proposals import Proposal

from ..errors import NoSuchProposal, NotAllowed, NotPlaceable
from ..settings import DistillSettings
from ..statements.risk import RISKS, Risk, risk_of
from . import quarantine_review
from .entry_proposals import accept_proposal, edit_proposal, plan_proposal, reject_proposal, settle_proposals
from .quarantine_review import Acceptance, AcceptMode

__all__ = [
    "ReviewItem",
    "ReviewOutcome",
    "accept",
    "diff_lines",
    "edit",
    "find",
    "plan",
    "reject",
    "require_person",
    "up_to_risk",
    "waiting",
]

#: Names under which parts of this program write; none of them is a person.
_PROGRAM = frozenset({
    "agent", "archive", "assistant", "by hand", "cite", "close", "decay", "distill", "evolution", "forget", "import",
    "init", "job", "memory", "merge", "nightly", "restore", "resume", "review", "revert", "sync", "system", "tool",
    "verify", "watch", "web",
})  # fmt: skip
_MAX_NAME_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """One text that waits.

    *path* and *section* are where it is meant to stand; *origin* is the least trusted who said it, *evidence* what git
    said of it, *actor* who wanted to write it. *reason* and *findings* are the guard's, empty for a proposal that it
    passed; *commit* is a proposal's.
    """

    id: str
    kind: Literal["quarantine", "proposal"]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOutcome:
    """What a decision did: *commit* is ``None`` when it had been taken before, or is only planned.

    *entry* is the id of the entry that an accepted text became, *diff* the change of its file.
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
    """Everything that waits, the oldest first. What was decided by somebody who was killed is finished before."""
    quarantine_review.settle(home, now)
    found = [_of_quarantine(item) for item in quarantine.waiting(home)]
    found += [_of_proposal(home, proposal) for proposal in settle_proposals(home)]
    return sorted(found, key=lambda item: (item.ts, item.id))


def find(home: Home, waiting_id: str, now: datetime) -> ReviewItem:
    """What waits under that id, however its letters are written.

    Raises:
        NoSuchProposal: nothing does.
    """
    listed = waiting(home, now)
    wanted = waiting_id.strip().strip("[]").casefold()
    found = next((item for item in listed if item.id.casefold() == wanted), None)
    if found is None:
        raise NoSuchProposal(waiting_id, len(listed))
    return found


def accept(home: Home, item: ReviewItem, *, person: str, now: datetime, form: AcceptMode = "as-is") -> ReviewOutcome:
    """Write what waits where it is meant to stand, in one commit that names *person*.

    Raises:
        NotAllowed: *person* may not decide this.
        NotPlaceable, HomeError: it could not be written; it still waits.
    """
    person = require_person(home, person, item.actor)
    if item.kind == "proposal":
        release = accept_proposal(home, _proposal(home, item), person=person, now=now)
    else:
        release = quarantine_review.accept_quarantined(home, _item(home, item), person=person, form=form, now=now)
    return _decided(item, release, "accepted", person)


def plan(home: Home, item: ReviewItem, *, form: AcceptMode = "as-is") -> ReviewOutcome:
    """What :func:`accept` would write now. Nothing is changed."""
    if item.kind == "proposal":
        release = plan_proposal(home, _proposal(home, item))
    else:
        release = quarantine_review.plan_quarantined(home, _item(home, item), form)
    return _decided(item, release, "would accept", "")


def up_to_risk(items: Sequence[ReviewItem], tier: Risk) -> list[ReviewItem]:
    """The proposals of that risk or a lower one. What the guard held back is looked at one by one, always."""
    return [item for item in items if item.kind == "proposal" and RISKS.index(item.risk) <= RISKS.index(tier)]


def edit(home: Home, item: ReviewItem, text: str, *, person: str, now: datetime) -> ReviewOutcome:
    """Let a proposal say *text* instead; it still waits, as the same id.

    Raises:
        NotAllowed: *person* may not decide this.
        NotPlaceable: it is no proposal.
        GuardRefused: the guard does not pass *text* as it is.
    """
    person = require_person(home, person, item.actor)
    if item.kind != "proposal":
        raise NotPlaceable(item.id, "a text in quarantine is evidence of what was said, and not edited")
    title_chars = home.manifest.settings("distill", DistillSettings).max_title_chars
    edit_proposal(home, _proposal(home, item), text, person=person, title_chars=title_chars)
    edited = find(home, item.id, now)
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
    """Take what waits off the disk and remember a digest of it, so that the same never waits again.

    Raises:
        NotAllowed: *person* may not decide this.
        HomeError: the decision could not be written; it still waits.
    """
    person = require_person(home, person, item.actor)
    if item.kind == "proposal":
        commit = reject_proposal(home, _proposal(home, item), person=person, now=now)
    else:
        commit = quarantine_review.reject_quarantined(home, _item(home, item), person=person, now=now)
    return ReviewOutcome(item=item, action="rejected", person=person, path=item.path, commit=commit)


def require_person(home: Home, name: str, proposer: str) -> str:
    """*name* as it is recorded, when it is a person's who may decide about what *proposer* wrote.

    Raises:
        NotAllowed: it is no name, a name of a part of this program, or the proposer's own.
    """
    person = " ".join(name.split())
    if not person or not person.isprintable() or len(person) > _MAX_NAME_CHARS:
        raise NotAllowed(person[:_MAX_NAME_CHARS], f"a name is one line of 1 to {_MAX_NAME_CHARS} characters")
    if person.casefold() in _PROGRAM:
        raise NotAllowed(person, "it is the name of a part of this program")
    if proposer and person.casefold() == " ".join(proposer.split()).casefold():
        raise NotAllowed(person, "who proposes a text cannot accept or reject it")
    if not ScreeningService(home).allows(MEMORY, person, "user"):
        raise NotAllowed("[name]", "the guard does not pass the name as it is")
    return person


def diff_lines(before: str, after: str, path: str) -> tuple[str, ...]:
    """The change of a file as the lines of a unified diff."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", lineterm="", n=1)
    return tuple(lines)


def _of_quarantine(item: Quarantined) -> ReviewItem:
    entry = as_entry(item.text)
    rule = section_of(entry.prefix) if entry else None
    evidence = entry.fields.get("Evidence", "") if entry else ""
    said_by = [item.source, *([entry.fields["Origin"]] if entry and entry.fields.get("Origin") else [])]
    origin = least_trusted(said_by)
    return ReviewItem(
        id=item.id, kind="quarantine", path=item.path, section=item.section or (rule.title if rule else ""),
        text=item.text, evidence=evidence, origin=origin,
        risk=risk_of(origin, evidence, item.findings, held_back=True), reason=item.reason, findings=item.findings,
        session=item.session, source=item.source, actor=item.actor, ts=item.ts,
    )  # fmt: skip


def _of_proposal(home: Home, proposal: Proposal) -> ReviewItem:
    """Its trailers are a branch's word: what the guard says of the text by now goes before."""
    said = proposal.trailers
    verdict = ScreeningService(home).verdict(proposal.path, proposal.text, proposal.source)
    risk: Risk = next((risk for risk in RISKS if risk == said.get("Risk")), "high")  # a branch that nobody judged
    if not verdict.stored:
        risk = "high"
    findings = tuple({"layer": str(f.layer), "rule": f.rule, "kind": f.kind} for f in verdict.findings)
    return ReviewItem(
        id=proposal.id, kind="proposal", path=proposal.path, section=proposal.section, text=proposal.text,
        evidence=said.get("Evidence", ""), origin=proposal.source, risk=risk,
        reason="" if verdict.stored else reason_of(verdict), findings=findings, session=said.get("Session", ""),
        source=proposal.source, actor=said.get("Actor", ""),
        ts=proposal.ts, commit=proposal.commit,
    )  # fmt: skip


def _proposal(home: Home, wanted: ReviewItem) -> Proposal:
    """The proposal itself, as the person saw it.

    Raises:
        NoSuchProposal: it was decided about, or edited, meanwhile.
    """
    found = proposals.find(home, wanted.id)
    if found is None or found.commit != wanted.commit:
        raise NoSuchProposal(wanted.id, len(proposals.pending_ids(home)))
    return found


def _item(home: Home, wanted: ReviewItem) -> Quarantined:
    """The quarantined text itself.

    Raises:
        NoSuchProposal: it was decided about meanwhile.
    """
    items = list(quarantine.waiting(home))
    found = next((item for item in items if item.id == wanted.id), None)
    if found is None:
        raise NoSuchProposal(wanted.id, len(items))
    return found


def _decided(
    item: ReviewItem, release: Acceptance, action: Literal["accepted", "would accept"], person: str
) -> ReviewOutcome:
    return ReviewOutcome(
        item=item, action=action, person=person, text=release.text, path=release.path, section=release.section,
        entry=release.entry, commit=release.commit, diff=diff_lines(release.before, release.after, release.path),
    )  # fmt: skip
