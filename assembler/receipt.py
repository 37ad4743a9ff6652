"""The receipt: what is in a prompt and what is not, why, what it cost, and what was degraded."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

__all__ = ["EntryLine", "LayerLine", "Receipt", "SectionLine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionLine:
    """A section: *tokens* in the prompt of *full_tokens* in the file. *action* is kept, cut, indexed or dropped.

    *floor* is what a context file keeps at least in this budget, 0 for other sections.
    """

    name: str
    tokens: int
    full_tokens: int
    action: str
    reason: str
    floor: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryLine:
    """An entry, or a recalled passage by its source. *action* is kept, indexed or dropped; *score* is recall's.

    What the guard would not have in a prompt is *blocked*, and stands there as a placeholder, or *redacted*; where it
    is no entry, it is named by its file and line.
    """

    id: str
    action: str
    reason: str
    tokens: int
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerLine:
    """A layer's cost and what did not work in it."""

    ms: float
    tokens: int
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A prompt and its explanation.

    *stable_prefix_tokens* counts the leading tokens that depend neither on the message nor on the day.
    *unchanged_prefix_tokens* counts those that are as in the prompt assembled before this one for the same audience
    and window on this machine; ``None`` for the first. *near_misses* are the best that were left out, best first.
    """

    text: str
    tokens: int
    budget: int
    tier: str
    window: int
    advice: str
    sha256: str
    stable_prefix_tokens: int
    unchanged_prefix_tokens: int | None
    sections: tuple[SectionLine, ...]
    entries: tuple[EntryLine, ...]
    layers: dict[str, LayerLine]
    near_misses: tuple[EntryLine, ...]
    degraded: tuple[str, ...]
    load_ms: float

    def as_dict(self) -> dict[str, Any]:
        """The receipt as JSON types."""
        return dataclasses.asdict(self)
