"""Count the memories of RealMem that a line of memory or of the log tells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from agent_home.tokens import count_tokens
from distill.statements.topics import content_terms
from recall.embedding.embedder import Embedder, NoEmbedder

from .citations import leading
from .closed_homes import closed_home, read_messages

__all__ = ["GoldMemoryCounts", "measure_gold_memories"]

#: Share of a memory's terms that the lines about its turns must hold to tell it.
_TELLS = 0.4


@dataclass(slots=True, kw_only=True)
class GoldMemoryCounts:
    """Counts of memories: those whose turn is *cited*, those *told*, and the same of the first lines of the turns."""

    memories: int = 0
    cited: int = 0
    told: int = 0
    lead_cited: int = 0
    lead_told: int = 0


def measure_gold_memories(
    folder: Path, embedder: Embedder | NoEmbedder | None, *, most: int = 0, sessions: int = 60
) -> GoldMemoryCounts:
    """Close the first *sessions* sessions of each person, of at most *most* people, and count."""
    counts = GoldMemoryCounts()
    for path in sorted(folder.glob("*.transcript.jsonl.gz"))[: most or None]:
        groups = [list(group) for _, group in groupby(read_messages(path), key=lambda message: message.session)]
        messages = [message for group in groups[:sessions] for message in group]
        gold = _gold(path.with_name(path.name.replace(".transcript.jsonl.gz", ".memories.jsonl")), messages)
        with closed_home(messages, embedder) as closed:
            lines = [(source, line.text) for line in (*closed.entries, *closed.log) for source in line.sources]
            room = sum(count_tokens(line.text) for line in (*closed.entries, *closed.log))
        lead = list(leading(messages, room))
        counts.memories += len(gold)
        counts.cited, counts.told = _add(counts.cited, counts.told, gold, lines)
        counts.lead_cited, counts.lead_told = _add(counts.lead_cited, counts.lead_told, gold, lead)
    return counts


def _gold(path: Path, messages: Sequence[object]) -> list[tuple[set[str], set[str]]]:
    """Return sources and terms of the memories whose turns are all among *messages*."""
    there = {getattr(message, "source", "") for message in messages}
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return [
        (set(row["sources"]), _terms(row["text"])) for row in rows if row["sources"] and there >= set(row["sources"])
    ]


def _add(
    cited: int, told: int, gold: Sequence[tuple[set[str], set[str]]], lines: Iterable[tuple[str, str]]
) -> tuple[int, int]:
    by_source: dict[str, set[str]] = {}
    for source, text in lines:
        by_source.setdefault(source, set()).update(_terms(text))
    for sources, terms in gold:
        held = set().union(*(by_source.get(source, set()) for source in sources))
        cited += not sources.isdisjoint(by_source)
        told += bool(terms) and len(terms & held) >= _TELLS * len(terms)
    return cited, told


def _terms(text: str) -> set[str]:
    """Return content words, cut to five letters so that forms of one word agree."""
    return {term.casefold()[:5] for term in content_terms(text)}
