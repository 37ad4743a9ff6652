"""Decide about operations that a model proposes: do them, let a person decide, or drop them.

The model's word counts for nothing here. Every quoted span must stand in its turn. Who said it follows from the cited
turns. An entry is an extract of its turns (``distill.grounding``). The text of a
tool or of a stranger can neither add a preference nor change an entry, and neither can a question. What an assistant
says of the user waits for a person, unless a turn of the user is cited for it as well. It may change its own entries.

An entry that a turn replaces does not stay because the model worded the new one badly. The new entry then says it in
the words of the turn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args

from agent_home.store.transcript import Message

from ..grounding.extract import objections
from ..grounding.said_turn import SaidTurn
from ..statements.operation import Operation, OperationKind
from ..statements.sentences import is_question, split_sentences
from ..statements.standalone import plain_turn, stand_alone
from ..statements.topics import content_terms
from .labels import ItemKind
from .proposed import ProposedOperation

__all__ = ["GatedEntry", "GatedReading", "pass_gate"]

#: Longer entries are no single statement.
_MAX_CHARS = 400
_MIN_CHARS = 4
_KINDS: Mapping[str, OperationKind] = {kind: kind for kind in get_args(OperationKind)}
#: Kinds that an assistant may state alone: what it did, found out and leaves open.
_ASSISTANTS_OWN: frozenset[ItemKind] = frozenset({"deliverable", "lesson", "correction", "open_thread"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedEntry:
    """A new entry. With a *doubt* it waits for a person, who reads the doubt."""

    kind: ItemKind
    text: str
    sources: tuple[str, ...]
    role: str
    ts: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedReading:
    """The new *entries* and the *operations* on older ones that passed. *dropped* says why others did not."""

    entries: tuple[GatedEntry, ...] = ()
    operations: tuple[Operation, ...] = ()
    dropped: tuple[str, ...] = ()


def pass_gate(
    proposed: Sequence[ProposedOperation],
    turns: Mapping[str, Message],
    entries: Mapping[str, str],
    *,
    own: Collection[str] = (),
    now: datetime | None = None,
) -> GatedReading:
    """Decide about *proposed* operations.

    Args:
        proposed: what the model proposes, in its order.
        turns: the turns that it may cite, by the id that the prompt gave them.
        entries: the statements of the entries that it may change, by id.
        own: ids of the entries that the assistant stated itself.
        now: the present, whose time zone decides the day of a turn. Without it, what is worded badly waits.
    """
    found: list[GatedEntry] = []
    operations: list[Operation] = []
    dropped: list[str] = []
    seen: set[tuple[str, str]] = set()
    speakers = {turn.name for turn in turns.values() if turn.name}
    for asked in proposed:
        operation = asked
        cited = _cited(operation, turns)
        reason = cited if isinstance(cited, str) else _refusal(operation, cited, entries)
        if reason or isinstance(cited, str):
            dropped.append(f"{operation.act} {(operation.text or operation.entry)[:80]!r}: {reason}")
            continue
        key = (operation.entry, operation.text.casefold() or operation.act)
        if key in seen:
            continue
        seen.add(key)
        doubt = _doubt(operation, cited, entries, own, speakers)
        if doubt and operation.act == "supersede" and now is not None:
            quoted = replace(operation, text=_own_words(operation, cited, turns, now))
            if quoted.text and not _doubt(quoted, cited, entries, own, speakers):
                operation, doubt = quoted, ""
        if operation.act == "add":
            found.append(_entry(operation, cited, doubt))
        else:
            operations.append(_change(operation, cited, doubt))
    return GatedReading(entries=tuple(found), operations=tuple(operations), dropped=tuple(dropped))


def _cited(operation: ProposedOperation, turns: Mapping[str, Message]) -> list[Message] | str:
    """Return the cited turns, oldest first, or why the citations do not hold."""
    order = {name: at for at, name in enumerate(turns)}
    names: dict[str, None] = {}
    for citation in operation.citations:
        message = turns.get(citation.turn)
        if message is None:
            return f"there is no turn {citation.turn[:40]!r}"
        if " ".join(citation.quote.split()) not in " ".join(message.content.split()):
            return f"turn {citation.turn} does not say {citation.quote[:60]!r}"
        names[citation.turn] = None
    return [turns[name] for name in sorted(names, key=order.__getitem__)]


def _refusal(operation: ProposedOperation, cited: Sequence[Message], entries: Mapping[str, str]) -> str:
    """Return why an operation is dropped without asking anybody, or an empty string."""
    foreign = [message for message in cited if _is_foreign(message)]
    if operation.act != "add":
        if operation.entry not in entries:
            return f"there is no entry {operation.entry[:40]!r} in the prompt"
        if foreign:
            return "a text of a tool or a stranger changes no entry"
        if all(map(is_question, _quoted_sentences(operation, cited))):
            return "a question changes no entry"
    elif foreign and operation.kind in {"preference", "decision"}:
        return f"a text of a tool or a stranger states no {operation.kind} of the user"
    if operation.text and not _MIN_CHARS <= len(operation.text) <= _MAX_CHARS:
        return f"{len(operation.text)} characters are no single statement"
    if operation.act == "add" and is_question(operation.text) and operation.kind != "open_thread":
        return "a question states nothing"
    return ""


def _is_foreign(message: Message) -> bool:
    return message.origin not in {"user", "agent"}


def _quoted_sentences(operation: ProposedOperation, cited: Sequence[Message]) -> list[str]:
    """Return the sentences of *cited* turns that a quotation touches, and the quotation where it touches none."""
    found: list[str] = []
    for citation in operation.citations:
        quote = " ".join(citation.quote.split())
        content = " ".join(turn.content for turn in cited if turn.id == citation.turn)
        said = plain_turn(content)
        start = said.find(quote)
        touched, at = [], 0
        for sentence in split_sentences(said) if start >= 0 else ():
            at = said.index(sentence, at)
            if at < start + len(quote) and start < at + len(sentence):
                touched.append(sentence)
            at += len(sentence)
        found += touched or [quote]
    return found


def _own_words(
    operation: ProposedOperation, cited: Sequence[Message], turns: Mapping[str, Message], now: datetime
) -> str:
    """Return the sentence of the quotation that shares most words with the text, as a text that stands alone."""
    wanted = {term.casefold() for term in content_terms(operation.text)}
    best = max(
        operation.citations, key=lambda part: len(wanted & {term.casefold() for term in content_terms(part.quote)})
    )
    turn = next((turn for turn in cited if turn.id == best.turn), None)
    if turn is None:
        return ""
    spoken = list(turns.values())
    sentence = " ".join(_quoted_sentences(replace(operation, citations=(best,)), cited))
    return stand_alone(sentence, turn, spoken[: spoken.index(turn)], "", now)


def _doubt(
    operation: ProposedOperation,
    cited: Sequence[Message],
    entries: Mapping[str, str],
    own: Collection[str],
    speakers: Collection[str],
) -> str:
    """Return why a person must decide, or an empty string."""
    reasons: list[str] = []
    if operation.text and operation.act in {"add", "revise", "supersede"}:
        turns = [SaidTurn(role=turn.role, name=turn.name, ts=turn.ts, content=turn.content) for turn in cited]
        also = [entries[operation.entry]] if operation.act == "revise" else []
        about = [entries[operation.entry]] if operation.act == "supersede" else []
        reasons += objections(operation.text, turns, also=also, about=about, others=speakers)
    by_user = any(message.role == "user" and not _is_foreign(message) for message in cited)
    allowed = operation.kind in _ASSISTANTS_OWN if operation.act == "add" else operation.entry in own
    if not by_user and not allowed and operation.act != "resolve":
        reasons.append("no turn of the user is cited")
    return "; ".join(reasons)


def _entry(operation: ProposedOperation, cited: Sequence[Message], doubt: str) -> GatedEntry:
    return GatedEntry(
        kind=operation.kind, text=operation.text, sources=tuple(message.source for message in cited),
        role=cited[0].role, ts=cited[0].ts, doubt=doubt,
    )  # fmt: skip


def _change(operation: ProposedOperation, cited: Sequence[Message], doubt: str) -> Operation:
    words = operation.text
    if operation.act in {"resolve", "retract"}:
        words = " ".join(operation.citations[0].quote.split())
    return Operation(
        kind=_KINDS[operation.act], target=operation.entry, sources=tuple(message.source for message in cited),
        text=words, reason=doubt or "read by the model", unsure=bool(doubt),
    )  # fmt: skip
