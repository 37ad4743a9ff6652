"""Three layers that govern an agent: principles, rules and gates; and when a lesson should move from one to the next.

Principles (PRINCIPLES.md) are few and orient where no rule fits. Rules (STEERING.md, section Rules) are for cases.
Gates (STEERING.md, section Gates) name what words alone did not achieve, so that code or a setting has to enforce it.
All of them are a person's: this module reads EVOLUTION.md and proposes, ``distill.review.queue`` asks the person.

- A correction made in several sessions is proposed as a rule.
- A rule that was broken after it held is proposed as a gate; more words would be broken as well.
- A lesson that even its gate did not hold is proposed as a principle, as long as there are few.
- A rule that nobody named or broke for long, or whose correction was turned around, is proposed for retirement: it
  goes to the archive.

A rule is named by its id in a conversation, and broken by the correction that it came from. A rule without an id or
date, as people write them, has no age and never retires by itself.
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
from agent_home.store.proposals import Draft
from agent_home.store.references import Reference, last_references, note, quoted_ids
from agent_home.store.transcript import Turn

from ..settings import DistillSettings
from ..statements.risk import risk_of
from ..statements.sentences import split_title
from .evolution import EVOLUTION, Correction, corrections, same_lesson

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
#: Where a rule goes that was retired, and under which heading.
RETIRED = ("Archive/STEERING.md", "Retired rules")
RULE_PREFIX, GATE_PREFIX = "RU", "GA"
#: More principles orient nobody: then the gate has to be mended.
_MOST_PRINCIPLES = 7
_RULE_ID = re.compile(rf"{RULE_PREFIX}-[0-9A-Z]{{4}}")
_TRUSTED = frozenset({"user", "agent"})
Layer = Literal["rule", "gate", "principle", "retirement"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A change of a layer that a person is asked for. *lesson* is the id of the correction, or of the rule to retire.

    *reason* says why in a few words; it is no part of the text.
    """

    layer: Layer
    lesson: str
    text: str
    reason: str
    draft: Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class GovernanceResult:
    """What :func:`propose` did: *proposed* are the ids that wait for a person now and did not before."""

    suggestions: tuple[Suggestion, ...] = ()
    proposed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layers:
    """The layers as they are on disk. *adopted* is the day on which a person accepted an entry, by its id."""

    home: Home
    steering: Document
    principles: Document
    decided: Decisions
    pending: frozenset[str] = field(default_factory=frozenset)
    stated: frozenset[str] = field(default_factory=frozenset)

    def adopted(self, entry: Entry) -> str:
        """Since when *entry* holds: the day of its approval, else its own date; empty where nobody wrote one."""
        approved = [row.ts[:10] for row in self.decided.approved if row.id == entry.id]
        return max(approved, default=entry.date)

    def entries(self, section: str) -> list[Entry]:
        return [entry for entry in self.steering.section_entries(section) if not entry.resolved]

    def wanted(self, draft: Draft) -> bool:
        """Whether nobody rejected what *draft* says, and it does not wait already."""
        entry = as_entry(draft.text)
        waits = draft.id in self.pending or (entry is not None and statement_digest(entry) in self.stated)
        return not waits and not self.decided.rejects(draft.text)


def suggestions(home: Home, *, now: datetime, settings: DistillSettings | None = None) -> tuple[Suggestion, ...]:
    """What a person should be asked now, lessons in the order of EVOLUTION.md and then rules to retire.

    What waits already or was rejected once is not among them. Nothing is written; with the same files and the same day
    the answer is the same.

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
    learned = corrections(_read(home, EVOLUTION))
    trusted = [one for one in learned if one.entry.fields.get("Origin", "user") in _TRUSTED]
    lessons = (s for one in trusted for s in _of_lesson(layers, one, now, settings))
    found = [*lessons, *_retirements(layers, learned, now, settings)]
    return tuple(one for one in found if layers.wanted(one.draft) and _passes(home, one.draft))


def propose(home: Home, *, now: datetime, settings: DistillSettings | None = None) -> GovernanceResult:
    """Let what :func:`suggestions` finds wait for a person, as proposals. A second call proposes nothing more.

    Raises:
        HomeError: see :func:`agent_home.store.gateway.transaction`; nothing was proposed.
    """
    settings = settings or home.manifest.settings("distill", DistillSettings)
    if not suggestions(home, now=now, settings=settings):
        return GovernanceResult()
    with transaction(home, actor="evolution", message="Propose what was learned", now=now) as edits:
        found = suggestions(home, now=now, settings=settings)
        for one in found:
            edits.propose(one.draft)
    return GovernanceResult(suggestions=found, proposed=edits.outcome.proposed)


def record_rule_references(edits: Transaction, turns: Sequence[Turn]) -> tuple[str, ...]:
    """Note in the ledger, as part of a closing, which rules the agent named by their ids in *turns*; those ids."""
    known = {entry.id for entry in edits.read(STEERING).entries()}
    found: dict[str, Reference] = {}
    for turn in turns if known else ():
        message = turn.message
        ids = quoted_ids(message.content) if message.role == "assistant" else []
        for one in (one for one in ids if one in known):
            ts = edits.now.isoformat(timespec="seconds")
            found[one] = Reference(ts=ts, id=one, by="transcript", session=message.session)
    note(edits, found.values())
    return tuple(found)


def retire_rule(edits: Transaction, trailers: Mapping[str, str]) -> None:
    """Take the rule that an accepted proposal with these *trailers* retires out of STEERING.md; none is no error."""
    rule = trailers.get("Retires", "")
    if _RULE_ID.fullmatch(rule):
        edits.write(STEERING, edits.read(STEERING).without_entries({rule}))


def _of_lesson(layers: _Layers, lesson: Correction, now: datetime, settings: DistillSettings) -> Iterator[Suggestion]:
    """The next layer for one correction, if it needs one."""
    rule = _rule_of(layers.steering, lesson)
    if rule is None:
        if lesson.occurrences >= settings.rule_after_sessions:
            yield _as_rule(layers, lesson, now)
        return
    gate = next((one for one in layers.entries(GATES) if _is_from(one, lesson)), None)
    if gate is None:
        if _broken_since(lesson, layers.adopted(rule.entry) if rule.entry else ""):
            yield _as_gate(layers, lesson, rule, now)
        return
    principles = _items(layers.principles, "")
    known = any(lesson.entry.id in block.raw or same_lesson(_words(block), lesson.right) for block in principles)
    if _broken_since(lesson, layers.adopted(gate)) and not known and len(principles) < _MOST_PRINCIPLES:
        yield _as_principle(lesson, gate)


def _rule_of(steering: Document, lesson: Correction) -> Block | None:
    """The rule that came from *lesson*, or that a person wrote in words that say the same."""
    rules = _items(steering, RULES)
    own = next((block for block in rules if block.entry and _is_from(block.entry, lesson)), None)
    return own or next((block for block in rules if same_lesson(_words(block), lesson.right)), None)


def _broken_since(lesson: Correction, adopted: str) -> bool:
    """Whether the correction was made after *adopted*; of a rule without a day every correction breaks it."""
    return any(day > adopted for day in lesson.dates)


def _as_rule(layers: _Layers, lesson: Correction, now: datetime) -> Suggestion:
    text = _entry(layers, RULE_PREFIX, lesson, now, "").render()
    return _suggestion("rule", lesson, text, RULES, f"corrected in {lesson.occurrences} sessions")


def _as_gate(layers: _Layers, lesson: Correction, rule: Block, now: datetime) -> Suggestion:
    which = rule.entry.id if rule.entry else "a rule"
    how = f"Enforce it by a check in code or by a setting: as {which}, in words, it did not hold."
    text = _entry(layers, GATE_PREFIX, lesson, now, how).render()
    return _suggestion("gate", lesson, text, GATES, f"broken again although {which} says so")


def _as_principle(lesson: Correction, gate: Entry) -> Suggestion:
    words = " ".join(lesson.right.replace("*", "").split())
    text = f"- **{words.rstrip('.。')}.** More than a rule: {lesson.entry.id} came back in spite of {gate.id}.\n"
    return _suggestion("principle", lesson, text, "", f"came back in spite of {gate.id}")


def _entry(layers: _Layers, prefix: str, lesson: Correction, now: datetime, detail: str) -> Entry:
    """A rule or gate as an entry. Its id follows from the correction's: proposed again, it is the same."""
    taken = {entry.id for entry in layers.steering.entries()}
    title, body = split_title(" ".join(lesson.right.split()), 80)
    fields = {"Sources": lesson.entry.id, "Origin": lesson.entry.fields.get("Origin", "user")}
    return Entry(
        id=new_id(prefix, lesson.entry.id, taken), date=f"{now:%Y-%m-%d}", title=title.rstrip("*"), body=body,
        detail=detail, fields=fields,
    )  # fmt: skip


def _suggestion(layer: Layer, lesson: Correction, text: str, section: str, reason: str) -> Suggestion:
    entry = as_entry(text)
    proposal_id = entry.id if entry else f"principle-{lesson.entry.id}"
    path = STEERING if entry else PRINCIPLES
    # An instruction for all sessions is looked at one by one, never accepted with a whole tier of small things.
    draft = _draft(proposal_id, path, section, text, lesson.entry.fields.get("Origin", "user"), risk="high")
    return Suggestion(layer=layer, lesson=lesson.entry.id, text=text, reason=reason, draft=draft)


def _draft(proposal_id: str, path: str, section: str, text: str, origin: str, *, risk: str) -> Draft:
    trailers = {"Session": "", "Evidence": "unchecked", "Actor": "evolution", "Source": origin, "Risk": risk}
    return Draft(
        id=proposal_id, path=path, section=section, text=text, message=f"Propose {proposal_id} for {path}",
        trailers=trailers,
    )  # fmt: skip


def _retirements(
    layers: _Layers, learned: Sequence[Correction], now: datetime, settings: DistillSettings
) -> Iterator[Suggestion]:
    """The rules with an age that nobody named or broke for long, and those whose correction another one superseded."""
    last = last_references(layers.home)
    settled = {entry.id for entry in _read(layers.home, EVOLUTION).entries() if entry.fields.get("Superseded-By")}
    for rule in layers.entries(RULES):
        if not rule.id.startswith(RULE_PREFIX) or rule.protected:
            continue
        broken = [day for lesson in learned if _is_from(rule, lesson) for day in lesson.dates]
        named_on = [last[rule.id].astimezone(now.tzinfo).date().isoformat()] if rule.id in last else []
        days = _days_between(max([layers.adopted(rule), *broken, *named_on]), now)
        turned = rule.fields.get("Sources") in settled
        if not turned and (days is None or days < settings.retire_rules_after_days):
            continue
        why = "its correction was superseded" if turned else "no session needed it"
        text = f"- {rule.id}: {rule.changed(detail='').text}\n  Retired: {why}.\n"
        origin = rule.fields.get("Origin", "user")
        draft = _draft(f"retire-{rule.id}", *RETIRED, text, origin, risk=risk_of(origin, "unchecked"))
        draft = Draft(
            id=draft.id, path=draft.path, section=draft.section, text=text, message=f"Propose to retire {rule.id}",
            trailers={**draft.trailers, "Retires": rule.id},
        )  # fmt: skip
        yield Suggestion(
            layer="retirement", lesson=rule.id, text=text, draft=draft,
            reason="its correction was superseded" if turned else f"neither named nor broken in {days} days",
        )  # fmt: skip


def _is_from(entry: Entry, lesson: Correction) -> bool:
    """Whether *entry* was made from *lesson*."""
    return lesson.entry.id in [part.strip() for part in entry.fields.get("Sources", "").split(",")]


def _items(document: Document, section: str) -> list[Block]:
    """The list items of a section, or of the whole document, that say something that holds."""
    found = document.section(section) if section else None
    if section and found is None:
        return []
    blocks = document.blocks[found.start : found.end] if found else document.blocks
    return [b for b in blocks if b.kind == "item" or (b.entry is not None and not b.entry.resolved)]


def _words(block: Block) -> str:
    """What a list item says, without its mark and stars."""
    if block.entry is not None:
        return block.entry.changed(detail="").text
    return re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", " ".join(block.raw.split())).replace("**", "")


def _days_between(day: str, now: datetime) -> int | None:
    with suppress(ValueError):
        return (now.date() - date.fromisoformat(day)).days
    return None


def _passes(home: Home, draft: Draft) -> bool:
    """Whether the guard lets the text stand there as it is; what it touches is not for all sessions."""
    return ScreeningService(home).allows(draft.path, draft.text, draft.trailers["Source"])


def _read(home: Home, path: str) -> Document:
    return parse(storage.read_text(home.root / path))
