"""Own the receipt: it lists the contents of a prompt with reasons and costs, and everything left out or degraded."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

__all__ = ["EntryLine", "LayerLine", "Receipt", "SectionLine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionLine:
    """A section with *tokens* in the prompt of *full_tokens* in the file. *action* is kept, cut, indexed or dropped.

    *floor* is the least number of tokens that a context file keeps in this budget. It is 0 for other sections.
    """

    name: str
    tokens: int
    full_tokens: int
    action: str
    reason: str
    floor: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryLine:
    """An entry by its id, or a recalled passage by its source, with recall's *score*.

    *action* is kept, indexed or dropped. Text that the guard keeps out of prompts is *blocked*, with a placeholder in
    the prompt, or *redacted*. If such a text is not in an entry, *id* is its file and line.
    """

    id: str
    action: str
    reason: str
    tokens: int
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerLine:
    """Cost of a layer, and its degraded parts."""

    ms: float
    tokens: int
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A prompt and its explanation.

    *stable_prefix_tokens* counts the leading tokens that depend neither on the message nor on the day.
    *unchanged_prefix_tokens* counts the leading tokens that equal the previous prompt for the same audience and window
    on this machine, and is ``None`` for the first one. *near_misses* are the best entries left out, best first.
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
        """Return the receipt as JSON types. ``dataclasses.asdict`` would copy each value of thousands of lines."""
        found: dict[str, Any] = {name: getattr(self, name) for name in _FIELDS}
        found |= {name: [_values(line) for line in found[name]] for name in ("sections", "entries", "near_misses")}
        found["layers"] = {name: _values(line) for name, line in self.layers.items()}
        return found


def _values(line: SectionLine | EntryLine | LayerLine) -> dict[str, Any]:
    return {name: getattr(line, name) for name in line.__slots__}


_FIELDS = tuple(field.name for field in dataclasses.fields(Receipt))
