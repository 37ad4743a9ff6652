"""Show the hits of a search across everything, with the layer of each and why it was found."""

from __future__ import annotations

from dataclasses import dataclass

from agent_home.documents.entry import ENTRY_ID, parse_entry
from agent_home.home import Home
from recall.index.passage import LAYERS
from recall.search.hybrid import Hit

from ...api import AgentHome

__all__ = ["FoundPassage", "SearchView", "search_view"]

_MOST_HITS = 25
_MOST_CHARS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassage:
    """A hit with its text cut to a readable length, the id of its entry, and the parts of its score, largest first.

    Of an entry, the text is its statement, whose id and date stand beside it.
    """

    hit: Hit
    text: str
    entry: str
    reasons: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchView:
    """The hits for *words* in *layer*, which is empty for all, best first."""

    words: str
    layer: str
    hits: tuple[FoundPassage, ...]
    degraded: tuple[str, ...]
    ms: float
    without_words: bool

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(LAYERS)


def search_view(home: Home, words: str, layer: str = "") -> SearchView:
    """Return the best hits for *words*. Without words there are none."""
    layer = layer if layer in LAYERS else ""
    if not words.strip():
        return SearchView(words="", layer=layer, hits=(), degraded=(), ms=0.0, without_words=False)
    found = AgentHome(home).search(words, k=_MOST_HITS, layers=[layer] if layer else None)
    return SearchView(
        words=words, layer=layer, hits=tuple(map(_passage, found.hits)), degraded=tuple(found.degraded), ms=found.ms,
        without_words=found.without_words,
    )  # fmt: skip


def _passage(hit: Hit) -> FoundPassage:
    entry = parse_entry(hit.text + "\n") if hit.standing else None
    text = entry.text if entry is not None else hit.text
    text = text if len(text) <= _MOST_CHARS else f"{text[: _MOST_CHARS - 1].rstrip()}…"
    named = ENTRY_ID.search(hit.source) or (ENTRY_ID.search(hit.text[:40]) if hit.standing else None)
    parts = sorted(((name, score) for name, score in hit.parts.items() if score), key=lambda part: -abs(part[1]))
    return FoundPassage(hit=hit, text=text, entry=named[0] if named else "", reasons=tuple(parts))
