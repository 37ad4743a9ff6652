"""Close weeks of chats with planted facts and traps, and count what became entries and what still stands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from distill.language_model.endpoint import Endpoint
from distill.statements.topics import content_terms
from recall.embedding.embedder import Embedder, NoEmbedder

from .closed_homes import ClosedHome, Told, closed_home, read_messages

__all__ = ["WeekResult", "measure_week"]

#: Share of a fact's key strings, or of a trap's terms, that a line must hold to tell it.
_TELLS = 0.5
_IS_TRAP = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekResult:
    """Result of a week: *planted* facts, those *entered*, those that entered and whose final state is *right*.

    *entries* stand in MEMORY.md at the end, *known* of them tell a planted or another listed fact, *trapped* a trap.
    *personal* and *personal_entered* count the planted facts of the section *fact*. *missed* names planted facts.
    *proposed* lines wait for a person, and *dropped* says why operations of a model were not done.
    """

    planted: int
    entered: int
    right: int
    personal: int
    personal_entered: int
    entries: int
    known: int
    traps: int
    trapped: int
    missed: tuple[str, ...] = ()
    proposed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def measure_week(
    folder: Path, embedder: Embedder | NoEmbedder | None, model: Endpoint | None = None
) -> tuple[WeekResult, list[Told]]:
    """Close the sessions of a week in order. Return the counts and the entries, for people to judge.

    Raises:
        Unread: *model* gave no answer for a session.
    """
    messages = read_messages(folder / "chat.jsonl")
    planted, others, traps = (_rows(folder / f"{name}.jsonl") for name in ("planted", "also_true", "traps"))
    owner = next(message.name for message in messages if message.role == "user")
    with closed_home(messages, embedder, owner=owner, model=model) as closed:
        return _judge(closed, planted, others, traps), list(closed.entries)


def _judge(
    closed: ClosedHome,
    planted: Sequence[Mapping[str, object]],
    others: Sequence[Mapping[str, object]],
    traps: Sequence[Mapping[str, object]],
) -> WeekResult:
    told = [[line for line in closed.entries if _tells(line, fact)] for fact in planted]
    right = [
        bool(lines) and any(line.stands for line in lines) == (fact["status"] == "stands")
        for fact, lines in zip(planted, told, strict=True)
    ]
    standing = [line for line in closed.entries if line.stands]
    facts = [*planted, *others]
    personal = [bool(lines) for fact, lines in zip(planted, told, strict=True) if fact["section"] == "fact"]
    return WeekResult(
        planted=len(planted),
        entered=sum(map(bool, told)),
        right=sum(right),
        personal=len(personal),
        personal_entered=sum(personal),
        entries=len(standing),
        known=sum(any(_cites(line, fact) for fact in facts) for line in standing),
        traps=len(traps),
        trapped=sum(any(_is_trap(line, trap) for line in standing) for trap in traps),
        missed=tuple(str(fact["fact"]) for fact, lines in zip(planted, told, strict=True) if not lines),
        proposed=tuple(line.text for line in closed.proposed),
        dropped=closed.dropped,
    )


def _tells(line: Told, fact: Mapping[str, object]) -> bool:
    """Return whether *line* cites a turn of the fact and holds half of its key strings."""
    keys = [str(key).casefold() for key in _list(fact["must_contain"])]
    text = line.text.casefold()
    return _cites(line, fact) and sum(key in text for key in keys) >= _TELLS * len(keys)


def _cites(line: Told, fact: Mapping[str, object]) -> bool:
    return not set(line.sources).isdisjoint(map(str, _list(fact["sources"])))


def _is_trap(line: Told, trap: Mapping[str, object]) -> bool:
    terms = {term.casefold() for term in content_terms(str(trap["text"]))}
    held = terms & {term.casefold() for term in content_terms(line.text)}
    return str(trap["source"]) in line.sources and len(held) >= _IS_TRAP * max(1, len(terms))


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [value]


def _rows(path: Path) -> list[Mapping[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
