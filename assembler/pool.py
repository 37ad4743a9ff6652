"""Own the pool: the tokens that memory entries, past conversations, knowledge and the daily log share.

All passages found compete in one order, best score first, whatever layer found them. Room that one of them leaves goes
to the next. Passages far below the best one of their layer are left out even if room is idle. A line whose turn is
shown already is left out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .progressive import EntryBlock
from .recalled.recall_section import Attempt, PassageBlock, RecalledPassage, Room, SessionBlock, duplicate_lines
from .receipt import EntryLine
from .settings import AssemblerSettings

__all__ = ["Pool"]

#: Layers in the order in which equal scores are served.
_LAYERS = ("L2", "L3", "L4")


@dataclass(slots=True, kw_only=True)
class Pool:
    """The passages found by layer, best first, and the blocks that show them in one *room*.

    *entries* is ``None`` while MEMORY.md is in the prompt as a whole.
    """

    settings: AssemblerSettings
    room: Room
    hits: Mapping[str, Sequence[RecalledPassage]]
    sessions: SessionBlock
    passages: PassageBlock
    entries: EntryBlock | None = None
    #: Ids of the entries that the prefix of the prompt shows in full.
    stable_entries: frozenset[str] = frozenset()
    #: The last attempt by layer, and by place among its hits.
    _tried: dict[str, dict[int, Attempt]] = field(default_factory=lambda: {layer: {} for layer in _LAYERS})
    _neighbours: list[EntryLine] = field(default_factory=list)
    #: The hits of all layers, best first. Equal scores keep the order of the layers and of each search.
    _ranked: list[tuple[str, int, RecalledPassage]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.entries is not None:
            self.entries.score(self.hits.get("L2", ()))
        every = [(layer, place, hit) for layer in _LAYERS for place, hit in enumerate(self.hits.get(layer, ()))]
        scores = [-hit.score for _, _, hit in every]
        self._ranked = [every[at] for at in sorted(range(len(every)), key=scores.__getitem__)]

    @property
    def shown(self) -> Collection[str]:
        """Return the addresses of the turns that are shown."""
        return self.sessions.shown

    def add(self, least: float, *, held: Collection[str] = ()) -> bool:
        """Add the passages that score at least the fraction *least* of the best of their layer, while there is room.

        *held* names addresses that wait. Return whether lines gave back room, because their turns followed them.
        """
        thresholds = {layer: self._threshold(layer, least) for layer in self.hits}
        lowest = min(thresholds.values(), default=0.0)
        for layer, place, hit in self._ranked:
            if hit.score < lowest:
                break
            if hit.score < thresholds[layer] or hit.source in held:
                continue
            if layer == "L2":
                if self.entries is not None:
                    self.entries.add(hit, self.shown)
            elif (tried := self._tried[layer].get(place)) is None or not tried.tokens:
                self._add(layer, place, hit)
        return self._release()

    def add_neighbours(self) -> None:
        """Add the turns beside the turns that were found and stand among the strong ones."""
        threshold = self._threshold("L3", self.settings.recall_strong)
        for place, hit in enumerate(self.hits.get("L3", ())):
            tried = self._tried["L3"].get(place)
            if hit.score >= threshold and tried is not None and tried.tokens:
                self._neighbours += self.sessions.add_neighbours(hit)

    def lines(self, layer: str, *, without: Collection[str] = ()) -> tuple[EntryLine, ...]:
        """Return the receipt's lines about the passages of *layer*, best first, then the turns beside them.

        *without* names addresses that another part of the prompt shows.
        """
        return tuple(self._lines_of(layer, without))

    def _lines_of(self, layer: str, without: Collection[str]) -> Iterator[EntryLine]:
        below = Attempt(reason=f"scores under {self.settings.recall_floor:.0%} of the best")
        for place, hit in enumerate(self.hits.get(layer, ())):
            if hit.source in without:
                continue
            yield self._tried[layer].get(place, below).line(layer, hit)
            if hit.also:
                yield from duplicate_lines(hit)
        if layer == "L3":
            yield from self._neighbours

    def _threshold(self, layer: str, fraction: float) -> float:
        best = max((hit.score for hit in self.hits.get(layer, ())), default=0.0)
        return fraction * best if best > 0 else -math.inf  # cosines may all be negative

    def _add(self, layer: str, place: int, hit: RecalledPassage) -> None:
        if layer == "L3":
            self._tried[layer][place] = self.sessions.add(hit)
        else:
            self._tried[layer][place] = self.passages.add(hit, self.shown, self._entries_shown)

    def _entries_shown(self) -> frozenset[str]:
        return self.stable_entries | (self.entries.shown if self.entries is not None else frozenset())

    def _release(self) -> bool:
        """Give back the room of lines whose turns have all been shown after them. Return whether there were any."""
        left = self.room.left
        gone = self.passages.release(self.shown)
        for place, hit in enumerate(self.hits.get("L4", ()) if gone else ()):
            if hit in gone:
                self._tried["L4"][place] = self.passages.add(hit, self.shown, self._entries_shown)
        if self.entries is not None:
            self.entries.release(self.shown)
        return self.room.left > left
