"""Own the searches of layers 2 to 4, each with its own deadline.

A layer that fails or is late costs only its own part of the prompt.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from agent_home.documents.entry import Entry

from ..receipt import LayerLine
from .recall_section import RecalledPassage, RecalledTurn

__all__ = ["LAYERS", "RecallHits", "Searcher", "search_layer"]

#: Layers of recall that each layer of the prompt searches.
LAYERS = {
    "L2": ("memory",),
    "L3": ("sessions",),
    "L4": ("knowledge", "projects", "daily", "archive", "outputs"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallHits:
    """Hits of a search, best first, and its degraded parts. *turns* has the turns of the hits and their neighbours.

    *ended* has the entries that may have ended, archived ones too, with those that superseded them. *relevant* is false
    when the hits fit the query no better than chance.
    """

    hits: Sequence[RecalledPassage]
    degraded: tuple[str, ...] = ()
    turns: Mapping[str, RecalledTurn] = field(default_factory=dict)
    ended: Sequence[Entry] = ()
    relevant: bool = True


class Searcher(Protocol):
    """Finder of passages. *load_ms* is the time to open index and model, apart from any search."""

    @property
    def load_ms(self) -> float: ...

    def refresh(self, query: str) -> None:
        """Prepare for searches of *query*. Raises nothing: the hits report problems."""

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
    ) -> RecallHits:
        """Find the *k* best passages that *audience* may read. *exclude* names sessions and files to leave out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerResult:
    """Hits of one layer and its line of the receipt, still without tokens. The rest is as in :class:`RecallHits`."""

    hits: Sequence[RecalledPassage]
    line: LayerLine
    turns: Mapping[str, RecalledTurn] = field(default_factory=dict)
    ended: Sequence[Entry] = ()
    relevant: bool = True


def search_layer(
    searcher: Searcher | None,
    layer: str,
    query: str,
    *,
    k: int,
    audience: str,
    now: datetime,
    deadline_ms: float,
    exclude: Collection[str] = (),
) -> LayerResult:
    """Search *layer* for *query*. An empty query finds nothing. Every problem is reported in the result's line."""
    if not query.strip():
        return LayerResult(hits=(), line=LayerLine(ms=0.0, tokens=0))
    if searcher is None:
        return LayerResult(hits=(), line=LayerLine(ms=0.0, tokens=0, degraded=("recall is not available",)))
    started = time.perf_counter()
    try:
        found = searcher.search(
            query, layers=LAYERS[layer], k=k, audience=audience, now=now, deadline_ms=deadline_ms, exclude=exclude
        )
    except Exception as error:  # noqa: BLE001 - the prompt is made even if recall fails, and the receipt names it
        found = RecallHits(
            hits=(), degraded=(f"recall failed: {type(error).__name__}: {' '.join(str(error).split())}",)
        )
    ms = (time.perf_counter() - started) * 1000
    line = LayerLine(ms=round(ms, 2), tokens=0, degraded=found.degraded)
    return LayerResult(hits=found.hits, line=line, turns=found.turns, ended=found.ended, relevant=found.relevant)
