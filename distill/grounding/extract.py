"""Check that an entry is an extract of its turns: their words in their order, with few allowed changes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..statements.cited_values import day_of
from .alignment import Said, align
from .differences import Differences, find_differences, glosses
from .tokens import Token, tokenise

__all__ = ["SaidTurn", "compare"]

#: Longer turns are compared up to here.
_MAX_TURN_CHARS = 8000


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidTurn:
    """A turn that a line cites: who said it, by *role* and *name*, when (ISO 8601), and its whole *content*."""

    role: str
    content: str
    name: str = ""
    ts: str = ""


def compare(text: str, cited: Sequence[SaidTurn], *, also: Sequence[str] = ()) -> Differences:
    """Return how *text* differs from an extract of *cited* and of the older entries *also*."""
    speakers = _speakers(cited)
    days = [day_of(turn.ts) for turn in cited] + [None] * len(also)
    contents = [turn.content[:_MAX_TURN_CHARS] for turn in cited] + list(also)
    tokens: list[Token] = []
    for turn, (content, day) in enumerate(zip(contents, days, strict=True)):
        clause, sentence = (tokens[-1].clause + 1, tokens[-1].sentence + 1) if tokens else (0, 0)
        tokens += tokenise(content, day, speakers, turn=turn, clause=clause, sentence=sentence)
    plain, dates = glosses(text)
    last = next((day for day in reversed(days) if day), None)
    entry = tokenise(plain, last, speakers, expand=False)
    names = [_name(turn) for turn in cited] + [""] * len(also)
    said = Said(tokens=tokens, names=names, roles=[turn.role for turn in cited] + ["entry"] * len(also))
    return find_differences(text, align(entry, said), dates, contents, days)


def _name(turn: SaidTurn) -> str:
    return turn.name.casefold() or turn.role


def _speakers(cited: Sequence[SaidTurn]) -> Mapping[str, str]:
    """Return the names of the speakers, their parts, and what else names them, with the full name."""
    found: dict[str, str] = {}
    for turn in cited:
        name = _name(turn)
        for part in (name, *re.split(r"[\s\-_.]+", name)):
            if len(part) > 1 or not part.isascii():
                found.setdefault(part, name)
        for word in {"user": ("user", "用户"), "assistant": ("assistant", "助手")}.get(turn.role, ()):
            found.setdefault(word, name)
    return found
