"""Superseded entries stand below the entries that replace them.

An entry says ``Supersedes: KD-2M0Q``, or the older one says ``Superseded-By: KD-7F3A``. Either is enough. The newer
entry takes the best place that any entry it supersedes would have had, and these follow just below it. So a query in
the old words finds the correction first. Nothing is hidden. Entries that supersede each other in a circle keep their
order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from graphlib import TopologicalSorter

import numpy as np
import numpy.typing as npt

from agent_home.documents.entry import ENTRY_ID, parse_entry

from ..index.context_window import ContextWindows
from ..index.reader import IndexReader
from .reranking import DECIMALS, Ranking

__all__ = ["apply_supersession", "order_superseded", "superseding_ids"]

#: Distance to the next higher score: more than the rounding of a printed score.
STEP = 0.001
_ENTRIES = ("memory", "archive")


def apply_supersession(reader: IndexReader, windows: ContextWindows, ranking: Ranking) -> Ranking:
    """Return *ranking* with every superseded entry below those that supersede it, where both were found."""
    if not reader.has_links():
        return ranking
    places = np.flatnonzero(ranking.found & np.isin(windows.layers, _ENTRIES))
    if not len(places):
        return ranking
    found = windows.ids[places].tolist()
    newer = superseding_ids(reader.linking_texts(found))
    if not newer:
        return ranking
    names = sorted({*newer, *(name for over in newer.values() for name in over)})
    place_of = dict(zip(found, places.tolist(), strict=True))
    named: dict[str, list[int]] = {}
    for ident, name in reader.named(found, names):
        named.setdefault(name, []).append(place_of[ident])
    scores = {name: max(float(ranking.total[place]) for place in named[name]) for name in named}
    moved: npt.NDArray[np.float64] = np.zeros(len(windows))
    for name, score in order_superseded(scores, newer).items():
        for place in named[name]:
            moved[place] = score - ranking.total[place]
    parts = {**ranking.parts, "supersession": moved} if moved.any() else ranking.parts
    return replace(ranking, total=np.round(ranking.total + moved, DECIMALS), parts=parts)


def superseding_ids(texts: Iterable[str]) -> dict[str, set[str]]:
    """Return for each superseded id the ids that supersede it, as *texts* of entries say. Circles are left out."""
    newer: dict[str, set[str]] = {}
    for text in texts:
        entry = parse_entry(text if text.endswith("\n") else text + "\n")
        if entry is None:
            continue
        for older in ENTRY_ID.findall(entry.fields.get("Supersedes", "")):
            newer.setdefault(older, set()).add(entry.id)
        for over in ENTRY_ID.findall(entry.fields.get("Superseded-By", "")):
            newer.setdefault(entry.id, set()).add(over)
    kept = {older: {name for name in over if not _reaches(newer, name, older)} for older, over in newer.items()}
    return {older: over for older, over in kept.items() if over}


def order_superseded(scores: Mapping[str, float], newer: Mapping[str, set[str]]) -> dict[str, float]:
    """Return *scores* by id, moved so that each is below those that supersede it. *newer* has no circles.

    An entry in between that was not found still hands its place on. Only ids of *scores* are returned.

    >>> order_superseded({"KD-0001": 0.9, "KD-0002": 0.2}, {"KD-0001": {"KD-0002"}})
    {'KD-0001': 0.899, 'KD-0002': 0.9}
    """
    newest_first = list(TopologicalSorter({older: sorted(over) for older, over in newer.items()}).static_order())
    best = {name: scores.get(name, -np.inf) for name in newest_first}
    for older in reversed(newest_first):
        for over in newer.get(older, ()):
            best[over] = max(best[over], best[older])
    ceiling = dict.fromkeys(newest_first, np.inf)
    for name in newest_first:
        best[name] = min(best[name], min((ceiling[over] for over in newer.get(name, ())), default=np.inf))
        ceiling[name] = best[name] - STEP if name in scores else _lowest(name, newer, ceiling)
    return {name: round(float(best.get(name, score)), DECIMALS) for name, score in scores.items()}


def _lowest(name: str, newer: Mapping[str, set[str]], ceiling: Mapping[str, float]) -> float:
    """Return the lowest ceiling among the entries that supersede *name*.

    An entry that was not found takes no place of its own, and the entries that it supersedes stand below its
    successors.
    """
    return min((ceiling[over] for over in newer.get(name, ())), default=np.inf)


def _reaches(newer: Mapping[str, set[str]], start: str, goal: str) -> bool:
    """Return whether *start* is superseded by *goal*, directly or through others."""
    reached, pending = {start}, [start]
    while pending:
        name = pending.pop()
        if name == goal:
            return True
        unvisited = newer.get(name, set()) - reached
        reached |= unvisited
        pending += unvisited
    return False
