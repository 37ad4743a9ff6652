"""A turn that an entry cites, and whether a text is a whole sentence of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from recall.text.identity import identity_key

from ..statements.sentences import prose_lines, split_sentences

__all__ = ["SaidTurn", "is_verbatim"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidTurn:
    """A turn that an entry cites: who said it, by *role* and *name*, when (ISO 8601), and its whole *content*."""

    role: str
    content: str
    name: str = ""
    ts: str = ""


def is_verbatim(text: str, cited: Sequence[SaidTurn]) -> bool:
    """Return whether *text* is a whole sentence or line of a turn."""
    key = identity_key(text)
    return bool(key) and any(key in _sentences(turn.content) for turn in cited)


@lru_cache(maxsize=256)
def _sentences(content: str) -> frozenset[str]:
    lines = [line.text for line in prose_lines(content)]
    parts = [sentence for line in lines for sentence in split_sentences(line)]
    return frozenset(identity_key(part) for part in (content, *lines, *parts))
