"""Which entries of a past MEMORY.md matter for a message. The index knows the present only, so this reads the text.

Words are weighted by how few entries have them, as the index weighs them; there are no vectors. Conversations and
knowledge of the past are not searched.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from agent_home.documents.document import parse
from agent_home.home import MEMORY, Home
from recall.text.terms import index_text

from .layers import LAYERS, Findings
from .sources import Sources

__all__ = ["PastSearcher"]

NOT_SEARCHED = "recall looks at the present, so it is left out of a prompt of the past"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """An entry as a passage of recall."""

    source: str
    score: float
    text: str
    ts: str = ""
    session: str = ""
    name: str = ""
    role: str = ""
    heading: str = ""
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PastSearcher:
    """A :class:`assembler.layers.Searcher` over the entries that MEMORY.md had, as *sources* show it."""

    home: Home
    sources: Sources

    @property
    def load_ms(self) -> float:
        return 0.0

    def search(
        self,
        query: str,
        *,
        layers: Collection[str],
        k: int,
        audience: str,  # noqa: ARG002 - the sources are one audience's
        now: datetime,  # noqa: ARG002
        deadline_ms: float,  # noqa: ARG002
        exclude: Collection[str],  # noqa: ARG002
    ) -> Findings:
        """The entries that share words with *query*, best first; ties are ordered by id. Nothing in other layers."""
        if not set(LAYERS["L2"]) & set(layers):
            return Findings(hits=(), degraded=(NOT_SEARCHED,))
        entries = list(parse(self.sources.read(self.home.context_path(MEMORY)).text).entries())
        words = [_words(entry.text) for entry in entries]
        counts = Counter(word for said in words for word in said)
        asked = _words(query)
        hits = [
            _Entry(source=f"{MEMORY}#{entry.id}", score=_score(asked & said, counts, len(entries)), text=entry.text)
            for entry, said in zip(entries, words, strict=True)
            if asked & said
        ]
        return Findings(hits=sorted(hits, key=lambda hit: (-hit.score, hit.source))[:k])


def _words(text: str) -> set[str]:
    return set(_WORD.findall(index_text(text).casefold()))


def _score(shared: Collection[str], counts: Counter[str], entries: int) -> float:
    return sum(math.log(1 + (entries - counts[word] + 0.5) / (counts[word] + 0.5)) for word in shared)
