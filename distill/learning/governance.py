"""Govern an agent by three layers, principles, rules and gates, and propose when a lesson moves to the next layer.

Principles (PRINCIPLES.md) are few and orient the agent where no rule fits. Rules (STEERING.md, section Rules) cover one
kind of case. Gates (STEERING.md, section Gates) name what a check in code or a setting must enforce, because words
alone did not help. All three belong to a person. This module reads EVOLUTION.md and makes proposals, and the person
decides in ``distill.review.queue``.

- A correction made in several sessions is proposed as a rule.
- A rule that was broken after its approval is proposed as a gate. More words would be broken as well.
- A lesson that was broken in spite of its gate is proposed as a principle, while there are few principles.
- A rule is proposed for retirement when nobody named or broke it for long, or when its correction was superseded.
  A retired rule moves to the archive.

A session refers to a rule by naming its id. A rule is broken by the correction that it came from. A rule without an id
or date, as people write them, has no age and is never proposed for retirement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

from agent_home import storage
from agent_home.documents.document import Block, Document, parse
from agent_home.documents.entry import Entry, new_id
from agent_home.documents.placement import as_entry
from agent_home.home import Home
from agent_home.screening.review_ledger import Decisions, decisions, statement_digest
from agent_home.screening.service import ScreeningService
from agent_home.store import proposals
from agent_home.store.gateway import Transaction, transaction
from agent_home.store.proposals import ProposalDraft
from agent_home.store.references import Reference, last_references, note, quoted_ids
from agent_home.store.transcript import Turn
from guard.lazy_regex import lazy_regex

from ..settings import DistillSettings
from ..statements.risk import risk_of
from .correction_comparison import same_lesson
from .evolution import EVOLUTION, Correction, corrections

__all__ = [
    "GATES",
    "PRINCIPLES",
    "RETIRED",
    "RULES",
    "STEERING",
    "GovernanceResult",
    "Suggestion",
    "propose",
    "record_rule_references",
    "retire_rule",
    "suggestions",
]  # fmt: skip

STEERING, PRINCIPLES = "STEERING.md", "PRINCIPLES.md"
RULES, GATES = "Rules", "Gates"
#: File and section of retired rules.
RETIRED = ("Archive/STEERING.md", "Retired rules")
RULE_PREFIX, GATE_PREFIX = "RU", "GA"
#: With more principles, no principle is remembered. The gate must be improved instead.
_MAX_PRINCIPLES = 7
_RULE_ID = lazy_regex(rf"{RULE_PREFIX}-[0-9A-Z]{{4}}")
_TRUSTED = frozenset({"user", "agent"})
Layer = Literal["rule", "gate", "principle", "retirement"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A change of a layer, suggested to a person. *lesson* is the id of the correction, or of the rule to retire.

    *reason* is a short explanation and not part of the text.
    """

    layer: Layer
    lesson: str
    text: str
    reason: str
    draft: ProposalDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class GovernanceResult:
    """The result of :func:`propose`. *proposed* has the ids of the new proposals."""

    suggestions: tuple[Suggestion, ...] = ()
    proposed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layers:
    """The layers on disk, with a person's decisions and the pending proposals."""

    home: Home
    steering: Document
    principles: Document
    decided: Decisions
    pending: frozenset[str] = field(default_factory=frozenset)
    stated: frozenset[str] = field(default_factory=frozenset)

    def adopted(self, entry: Entry) -> str:
        """Return the day of *entry*'s approval, else its own date, which may be empty."""
        approved = [row.ts[:10] for row in self.decided.approved if row.id == entry.id]
        return max(approved, default=entry.date)

    def entries(self, section: str) -> list[Entry]:
        return [entry for entry in self.steering.section_entries(section) if not entry.resolved]

    def is_open(self, draft: ProposalDraft) -> bool:
        """Return whether *draft* was not rejected and is not pending yet."""
        entry = as_entry(draft.text)
        is_pending = draft.id in self.pending or (entry is not None and statement_digest(entry) in self.stated)
        return not is_pending and not self.decided.rejects(draft.text)


def suggestions(home: Home, *, now: datetime, settings: DistillSettings | None = None) -> tuple[Suggestion, ...]:
    """Return the suggestions for a person: lessons in the order of EVOLUTION.md, then rules to retire.

    Pending and rejected suggestions are left out. Nothing is written. The same files and the same day give the same
    result.

    Raises:
        DocumentInvalid: one of the files is not UTF-8.
    """
    settings = settings or home.manifest.settings("distill", DistillSettings)
    if not (home.root / STEERING).exists():
        return ()
    layers = _Layers(
        home=home, steering=_read(home, STEERING), principles=_read(home, PRINCIPLES), decided=decisions(home),
        pending=frozenset(proposals.pending_ids(home)), stated=frozenset(proposals.pending_statements(home)),
    )  # fmt: skip
    all_corrections = corrections(_read(home, EVOLUTION))
    trusted = [lesson for lesson in all_corrections if lesson.entry.fields.get("Origin", "user") in _TRUSTED]
    moves = (s for lesson in trusted for s in _next_layer(layers, lesson, now, settings))
    found = [*moves, *_retirements(layers, all_corrections, now, settings)]
    return tuple(s for s in found if layers.is_open(s.draft) and _passes(home, s.draft))


def propose(home: Home, *, now: datetime, settings: DistillSettings | None = None) -> GovernanceResult:
    """Make a proposal of each result of :func:`suggestions`. A second call proposes nothing more.

    Raises:
        HomeError: see :func:`agent_home.store.gateway.transaction`. Nothing was proposed.
    """
    settings = settings or home.manifest.settings("distill", DistillSettings)
    if not suggestions(home, now=now, settings=settings):
        return GovernanceResult()
    with transaction(home, actor="evolution", message="Propose what was learned", now=now) as edits:
        found = suggestions(home, now=now, settings=settings)
        for suggestion in found:
            edits.propose(suggestion.draft)
    return GovernanceResult(suggestions=found, proposed=edits.outcome.proposed)


def record_rule_references(edits: Transaction, turns: Sequence[Turn]) -> tuple[str, ...]:
    """Record in the ledger, as part of a closing, the rules whose ids the agent named in *turns*. Return these ids."""
    known = {entry.id for entry in edits.read(STEERING).entries()}
    found: dict[str, Reference] = {}
    for turn in turns if known else ():
        message = turn.message
        ids = quoted_ids(message.content) if message.role == "assistant" else []
        for rule_id in (rule_id for rule_id in ids if rule_id in known):
            ts = edits.now.isoformat(timespec="seconds")
            found[rule_id] = Reference(ts=ts, id=rule_id, by="transcript", session=message.session)
    note(edits, found.values())
    return tuple(found)


def retire_rule(edits: Transaction, trailers: Mapping[str, str]) -> None:
    """Remove the rule from STEERING.md that an accepted proposal with these *trailers* retires, if it names one."""
    rule = trailers.get("Retires", "")
    if _RULE_ID.fullmatch(rule):
        edits.write(STEERING, edits.read(STEERING).without_entries({rule}))


def _next_layer(layers: _Layers, lesson: Correction, now: datetime, settings: DistillSettings) -> Iterator[Suggestion]:
    """Yield the suggestion of the next layer for one correction, if it needs one."""
    rule = _rule_of(layers.steering, lesson)
    if rule is None:
        if lesson.occurrences >= settings.rule_after_sessions:
            yield _suggest_rule(layers, lesson, now)
        return
    gate = next((entry for entry in layers.entries(GATES) if _is_from(entry, lesson)), None)
    if gate is None:
        if _broken_since(lesson, layers.adopted(rule.entry) if rule.entry else ""):
            yield _suggest_gate(layers, lesson, rule, now)
        return
    principles = _items(layers.principles, "")
    known = any(lesson.entry.id in block.raw or same_lesson(_item_text(block), lesson.right) for block in principles)
    if _broken_since(lesson, layers.adopted(gate)) and not known and len(principles) < _MAX_PRINCIPLES:
        yield _suggest_principle(lesson, gate)


def _rule_of(steering: Document, lesson: Correction) -> Block | None:
    """Return the rule made from *lesson*, or a rule of a person that teaches the same, or ``None``."""
    rules = _items(steering, RULES)
    own = next((block for block in rules if block.entry and _is_from(block.entry, lesson)), None)
    return own or next((block for block in rules if same_lesson(_item_text(block), lesson.right)), None)


def _broken_since(lesson: Correction, adopted: str) -> bool:
    """Return whether the correction was made after the day *adopted*. An empty day counts as earlier than any."""
    return any(day > adopted for day in lesson.dates)


def _suggest_rule(layers: _Layers, lesson: Correction, now: datetime) -> Suggestion:
    text = _entry(layers, RULE_PREFIX, lesson, now, "").render()
    return _suggestion("rule", lesson, text, RULES, f"corrected in {lesson.occurrences} sessions")


def _suggest_gate(layers: _Layers, lesson: Correction, rule: Block, now: datetime) -> Suggestion:
    which = rule.entry.id if rule.entry else "a rule"
    how = f"Enforce it by a check in code or by a setting: as {which}, in words, it did not hold."
    text = _entry(layers, GATE_PREFIX, lesson, now, how).render()
    return _suggestion("gate", lesson, text, GATES, f"broken again although {which} says so")


def _suggest_principle(lesson: Correction, gate: Entry) -> Suggestion:
    words = " ".join(lesson.right.replace("*", "").split())
    text = f"- **{words.rstrip('.。')}.** More than a rule: {lesson.entry.id} came back in spite of {gate.id}.\n"
    return _suggestion("principle", lesson, text, "", f"came back in spite of {gate.id}")


def _entry(layers: _Layers, prefix: str, lesson: Correction, now: datetime, detail: str) -> Entry:
    """Make the entry of a rule or gate. Its id is derived from the correction's id, so it is the same each time."""
    taken = {entry.id for entry in layers.steering.entries()}
    fields = {"Sources": lesson.entry.id, "Origin": lesson.entry.fields.get("Origin", "user")}
    return Entry(
        id=new_id(prefix, lesson.entry.id, taken), date=f"{now:%Y-%m-%d}", title=" ".join(lesson.right.split()),
        detail=detail, fields=fields,
    )  # fmt: skip


def _suggestion(layer: Layer, lesson: Correction, text: str, section: str, reason: str) -> Suggestion:
    entry = as_entry(text)
    proposal_id = entry.id if entry else f"principle-{lesson.entry.id}"
    path = STEERING if entry else PRINCIPLES
    # An instruction for all sessions has high risk, so that a person accepts it on its own and not with a whole tier.
    draft = _draft(proposal_id, path, section, text, lesson.entry.fields.get("Origin", "user"), risk="high")
    return Suggestion(layer=layer, lesson=lesson.entry.id, text=text, reason=reason, draft=draft)


def _draft(proposal_id: str, path: str, section: str, text: str, origin: str, *, risk: str) -> ProposalDraft:
    trailers = {"Session": "", "Evidence": "unchecked", "Actor": "evolution", "Source": origin, "Risk": risk}
    return ProposalDraft(
        id=proposal_id, path=path, section=section, text=text, message=f"Propose {proposal_id} for {path}",
        trailers=trailers,
    )  # fmt: skip


def _retirements(
    layers: _Layers, lessons: Sequence[Correction], now: datetime, settings: DistillSettings
) -> Iterator[Suggestion]:
    """Yield retirements of rules that nobody named or broke for long, or whose correction was superseded."""
    last = last_references(layers.home)
    superseded = {entry.id for entry in _read(layers.home, EVOLUTION).entries() if entry.fields.get("Superseded-By")}
    for rule in layers.entries(RULES):
        if not rule.id.startswith(RULE_PREFIX) or rule.protected:
            continue
        broken = [day for lesson in lessons if _is_from(rule, lesson) for day in lesson.dates]
        named_on = [last[rule.id].astimezone(now.tzinfo).date().isoformat()] if rule.id in last else []
        days = _days_between(max([layers.adopted(rule), *broken, *named_on]), now)
        is_superseded = rule.fields.get("Sources") in superseded
        if not is_superseded and (days is None or days < settings.retire_rules_after_days):
            continue
        why = "its correction was superseded" if is_superseded else "no session needed it"
        text = f"- {rule.id}: {rule.changed(detail='').text}\n  Retired: {why}.\n"
        origin = rule.fields.get("Origin", "user")
        draft = _draft(f"retire-{rule.id}", *RETIRED, text, origin, risk=risk_of(origin, "unchecked"))
        draft = ProposalDraft(
            id=draft.id, path=draft.path, section=draft.section, text=text, message=f"Propose to retire {rule.id}",
            trailers={**draft.trailers, "Retires": rule.id},
        )  # fmt: skip
        yield Suggestion(
            layer="retirement", lesson=rule.id, text=text, draft=draft,
            reason="its correction was superseded" if is_superseded else f"neither named nor broken in {days} days",
        )  # fmt: skip


def _is_from(entry: Entry, lesson: Correction) -> bool:
    """Return whether *entry* was made from *lesson*."""
    return lesson.entry.id in [part.strip() for part in entry.fields.get("Sources", "").split(",")]


def _items(document: Document, section: str) -> list[Block]:
    """Return the list items of a section, or of the whole document for an empty name, without resolved entries."""
    found = document.section(section) if section else None
    if section and found is None:
        return []
    blocks = document.blocks[found.start : found.end] if found else document.blocks
    return [b for b in blocks if b.kind == "item" or (b.entry is not None and not b.entry.resolved)]


def _item_text(block: Block) -> str:
    """Return the text of a list item without its list mark and stars."""
    if block.entry is not None:
        return block.entry.changed(detail="").text
    return re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", " ".join(block.raw.split())).replace("**", "")


def _days_between(day: str, now: datetime) -> int | None:
    with suppress(ValueError):
        return (now.date() - date.fromisoformat(day)).days
    return None


def _passes(home: Home, draft: ProposalDraft) -> bool:
    """Return whether the guard allows the text of *draft* unchanged. Other text is not for all sessions."""
    return ScreeningService(home).allows(draft.path, draft.text, draft.trailers["Source"])


def _read(home: Home, path: str) -> Document:
    return parse(storage.read_text(home.root / path))
