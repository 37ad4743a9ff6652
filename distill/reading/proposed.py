"""Operations that a model proposes after reading a session, parsed strictly from its answer.

An answer is one JSON object ``{"operations": [...]}``. Whatever is not of the agreed form is left out with the reason,
and an answer that is no such object is no answer. ``distill.reading.model_gate`` decides what is done.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from .labels import ItemKind

__all__ = ["TYPES", "Citation", "ProposedAct", "ProposedOperation", "parse_answer"]

ProposedAct = Literal["add", "revise", "supersede", "resolve", "retract"]
#: The types that a model may give an entry, with the kind of item that each is.
TYPES: Mapping[str, ItemKind] = {
    "fact": "fact", "preference": "preference", "decision": "decision", "lesson": "lesson",
    "correction": "correction", "thread": "open_thread", "report": "deliverable",
}  # fmt: skip
_ACTS: Mapping[str, ProposedAct] = {act: act for act in get_args(ProposedAct)}
#: Acts that state something new.
_STATING = frozenset({"add", "revise", "supersede"})
_MOST_OPERATIONS = 200
_MOST_CITATIONS = 12
_MAX_TEXT_CHARS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A turn by the id that the prompt gave it, with a *quote* from it."""

    turn: str
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedOperation:
    """An operation as proposed. *kind* is the kind of a new entry, *entry* the id of an older one."""

    act: ProposedAct
    citations: tuple[Citation, ...]
    text: str = ""
    kind: ItemKind = "fact"
    entry: str = ""


def parse_answer(answer: str) -> tuple[list[ProposedOperation], list[str]] | None:
    """Return the operations of *answer* and why others were left out, or ``None`` if it is not the requested JSON."""
    start, end = answer.find("{"), answer.rfind("}")
    try:
        data = json.loads(answer[start : end + 1])
        rows = data["operations"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if not isinstance(rows, list):
        return None
    found: list[ProposedOperation] = []
    refused: list[str] = []
    for row in rows[:_MOST_OPERATIONS]:
        operation = _operation(row)
        if isinstance(operation, str):
            refused.append(operation)
        elif operation is not None:
            found.append(operation)
    if len(rows) > _MOST_OPERATIONS:
        refused.append(f"{len(rows) - _MOST_OPERATIONS} operations beyond {_MOST_OPERATIONS}")
    return found, refused


def _operation(row: Any) -> ProposedOperation | str | None:
    """Return the operation of one row, why it is none, or ``None`` for "nothing"."""
    if not isinstance(row, Mapping):
        return "an operation is not an object"
    named = str(row.get("op"))
    act = _ACTS.get(named)
    if act is None:
        return None if named == "nothing" else f"unknown op {named[:40]!r}"
    text, entry, name = row.get("text", ""), row.get("entry", ""), row.get("type", "fact")
    if not all(isinstance(value, str) for value in (text, entry, name)):
        return f"{act}: text, entry and type must be texts"
    text = " ".join(text.split()) if text.isprintable() else text
    if act in _STATING and (not text or len(text) > _MAX_TEXT_CHARS or not text.isprintable()):
        return f"{act}: text must be one line"
    if act == "add" and name not in TYPES:
        return f"add: unknown type {name[:40]!r}"
    if act != "add" and not entry:
        return f"{act}: entry is missing"
    citations = _citations(row.get("cites"))
    if isinstance(citations, str):
        return f"{act}: {citations}"
    return ProposedOperation(
        act=act, citations=citations, text=text if text.isprintable() else "", kind=TYPES.get(name, "fact"),
        entry=entry.strip().strip("[]"),
    )  # fmt: skip


def _citations(rows: Any) -> tuple[Citation, ...] | str:
    if not isinstance(rows, list) or not rows:
        return "it cites no turn"
    found = []
    for row in rows[:_MOST_CITATIONS]:
        turn, quote = (row.get("turn"), row.get("quote")) if isinstance(row, Mapping) else (None, None)
        if not isinstance(turn, str) or not isinstance(quote, str) or not quote.strip():
            return "a citation needs a turn and a quote"
        found.append(Citation(turn=turn.strip().strip("[]"), quote=quote))
    return tuple(found)
