"""Asking recall on behalf of layers 2 to 4, each with its own deadline.

A layer that fails or is late costs its own part of the prompt and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from .recall_section import Passage, Spoken
from .receipt import LayerLine

__all__ = ["LAYERS", "Findings", "Searcher", "ask"]

#: What each layer of the prompt looks through, by recall's names.
LAYERS = {
    "L2": ("memory",),
    "L3": ("sessions",),
    "L4": ("knowledge", "projects", "daily", "archive", "outputs"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a search found, best first, and what did not work in it. *turns* has those found and their neighbours."""

    hits: Sequence[Passage]
    degraded: tuple[str, ...] = ()
    turns: Mapping[str, Spoken] = field(default_factory=dict)


class Searcher(Protocol):
    """Finds passages. *load_ms* is what opening index and model took, apart from any search."""

    @property
    def load_ms(self) -> float: ...

    def search(
        self,
        query: str,
        *,
        layers: Collection[str],
        k: int,
        audience: str,
        now: datetime,
        deadline_ms: float,
        exclude: Collection[str],
    ) -> Findings:
        """The *k* best passages that *audience* may read; *exclude* names sessions and files to leave out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One layer's hits and its line of the receipt; *line* has no tokens yet. *turns* as in :class:`Findings`."""

    hits: Sequence[Passage]
    line: LayerLine
    turns: Mapping[str, Spoken] = field(default_factory=dict)


def ask(
    searcher: Searcher | None,
    layer: str,
    query: str,
    *,
    k: int,
    audience: str,
    now: datetime,
    deadline_ms: float,
    exclude: Collection[str] = (),
) -> Answer:
    """Search *layer* for *query*; an empty query asks nothing. Whatever goes wrong is in the answer's line."""
    if not query.strip():
        return Answer(hits=(), line=LayerLine(ms=0.0, tokens=0))
    if searcher is None:
        return Answer(hits=(), line=LayerLine(ms=0.0, tokens=0, degraded=("recall is not available",)))
    started = time.perf_counter()
    try:
        found = searcher.search(
            query, layers=LAYERS[layer], k=k, audience=audience, now=now, deadline_ms=deadline_ms, exclude=exclude
        )
    except Exception as error:  # noqa: BLE001 - the prompt must come whatever recall does; the receipt names it
        found = Findings(hits=(), degraded=(f"recall failed: {type(error).__name__}: {' '.join(str(error).split())}",))
    ms = (time.perf_counter() - started) * 1000
    line = LayerLine(ms=round(ms, 2), tokens=0, degraded=found.degraded)
    return Answer(hits=found.hits, line=line, turns=found.turns)
