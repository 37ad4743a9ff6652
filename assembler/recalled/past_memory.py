"""Own the search for entries of a past MEMORY.md. It reads the text, because the index knows only the present.

A word weighs more the fewer entries have it, as in the index. There are no vectors. Past conversations and knowledge
are not searched.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from agent_home.documents.document import parse
from agent_home.documents.standing import Standing
from agent_home.home import MEMORY, Home
from recall.text.terms import words_of

from ..sources import Sources
from .layers import LAYERS, RecallHits

__all__ = ["NOT_SEARCHED", "PastSearcher"]

#: Degradation of the layers that a past prompt does not search.
NOT_SEARCHED = "Past prompts are made without recall, because the index holds only the present"


@dataclass(frozen=True, slots=True, kw_only=True)
class _EntryHit:
    """An entry in the form of a recalled passage."""

    source: str
    score: float
    text: str
    ts: str = ""
    session: str = ""
    name: str = ""
    role: str = ""
    heading: str = ""
    also: tuple[str, ...] = ()
    standing: Standing | None = None


@dataclass(frozen=True, slots=True)
class PastSearcher:
    """A :class:`assembler.recalled.layers.Searcher` over the entries of the MEMORY.md that *sources* read."""

    home: Home
    sources: Sources

    @property
    def load_ms(self) -> float:
        return 0.0

    def refresh(self, query: str) -> None:
        """Do nothing. The sources are read when they are searched."""

    def search(
        self,
        query: str,
        *,
        layers: Collection[str],
        k: int,
        audience: str,  # noqa: ARG002 - the sources have an audience
        now: datetime,  # noqa: ARG002
        deadline_ms: float,  # noqa: ARG002
        exclude: Collection[str],  # noqa: ARG002
    ) -> RecallHits:
        """Find the entries that share words with *query*, best first and ties by id. Other layers find nothing."""
        if not set(LAYERS["L2"]) & set(layers):
            return RecallHits(hits=(), degraded=(NOT_SEARCHED,))
        entries = list(parse(self.sources.read(self.home.context_path(MEMORY)).text).entries())
        words = [_words(entry.text) for entry in entries]
        counts = Counter(word for entry_words in words for word in entry_words)
        query_words = _words(query)
        hits = [
            _EntryHit(
                source=f"{MEMORY}#{entry.id}",
                score=_score(query_words & entry_words, counts, len(entries)),
                text=entry.text,
            )
            for entry, entry_words in zip(entries, words, strict=True)
            if query_words & entry_words
        ]
        return RecallHits(hits=sorted(hits, key=lambda hit: (-hit.score, hit.source))[:k])


def _words(text: str) -> set[str]:
    return set(words_of(text))


def _score(shared: Collection[str], counts: Counter[str], entries: int) -> float:
    return sum(math.log(1 + (entries - counts[word] + 0.5) / (counts[word] + 0.5)) for word in shared)
