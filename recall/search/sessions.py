"""The order of conversations and files: one score for each, from all of its passages that were found.

The best passage counts most, and further passages that match as well add a little. Conversations of the people who
speak in the leading ones stand higher: a question is mostly about one circle of people. Recent conversations stand
higher too. The conversation that is going on at the time of the question stands last, because whoever asks has it in
view. ``docs/recall.md`` has the measured effect of each part.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

import numpy as np

from ..index.context_window import ContextWindows
from ..index.passage import session_of
from .reranking import DECIMALS

__all__ = ["PASSAGES_PER_SESSION", "rank_sessions", "speakers_of"]

#: Passages read for each session of the result.
PASSAGES_PER_SESSION = 30
#: Most passages of a session that add to its score.
_POOLED = 8
#: Distance from the best passage at which another one adds less by e.
_POOL_SPREAD = 0.05
#: Leading sessions whose people are looked at, and the distance at which one of them counts less by e.
_LEADING, _LEADING_SPREAD = 20, 0.05
#: Weight of the share of the leading sessions in which the same people speak.
_PEOPLE_WEIGHT = 0.2
#: Weight of a session that has just ended, and the days after which it is less by e.
_RECENT_WEIGHT, _RECENT_DAYS = 0.2, 30.0
#: Days without a turn after which a conversation is no longer going on: ten minutes.
_PAUSE_DAYS = 10 / (24 * 60)
_SECONDS_PER_DAY = 86_400.0
#: Bits of the code of a word of a name.
_NAME_BITS = 32


class ScoredHit(Protocol):
    """The fields of a hit that are read."""

    @property
    def source(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def layer(self) -> str: ...
    @property
    def ts(self) -> str: ...
    @property
    def path(self) -> str: ...


H = TypeVar("H", bound=ScoredHit)


def rank_sessions(
    hits: Sequence[H], speakers: Mapping[str, Hashable], moment: datetime | None = None
) -> list[tuple[H, float]]:
    """Return the best hit of each session or file with the score of the whole, best first.

    *hits* are best first. *speakers* has by path who speaks there. At *moment* the question is asked. Without it, no
    session is recent or going on. Equal scores are ordered by name.
    """
    groups: dict[str, list[H]] = defaultdict(list)
    for hit in hits:
        groups[session_of(hit.source)].append(hit)
    ages = {name: _age_days(group, moment) for name, group in groups.items()}
    scores = {name: _pooled(group) + _recency(ages[name]) for name, group in groups.items()}
    circles = {name: speakers.get(group[0].path) or name for name, group in groups.items()}
    shares = _shares(scores, circles)
    totals = {name: round(score + _PEOPLE_WEIGHT * shares[circles[name]], DECIMALS) for name, score in scores.items()}
    order = sorted(groups, key=lambda name: (0 <= ages[name] < _PAUSE_DAYS, -totals[name], name))
    return [(groups[name][0], totals[name]) for name in order]


def speakers_of(windows: ContextWindows, files: Collection[int]) -> dict[int, Hashable]:
    """Return the words of the names of all who speak in each of *files* that is a conversation."""
    spoken = (windows.layers == "sessions")[windows.headings.owners]
    keys = windows.files[windows.headings.owners][spoken] << _NAME_BITS | windows.headings.codes[spoken].astype(
        np.int64
    )
    found: dict[int, set[int]] = defaultdict(set)
    for key in np.unique(keys).tolist():
        if (file := key >> _NAME_BITS) in files:
            found[file].add(key & (1 << _NAME_BITS) - 1)
    return {file: frozenset(names) for file, names in found.items()}


def _pooled(group: Sequence[ScoredHit]) -> float:
    """Return a soft maximum of the scores of the best passages, at least the best score."""
    best = group[0].score
    return best + _POOL_SPREAD * math.log(sum(math.exp((hit.score - best) / _POOL_SPREAD) for hit in group[:_POOLED]))


def _recency(days: float) -> float:
    return _RECENT_WEIGHT * math.exp(-max(days, 0.0) / _RECENT_DAYS)


def _age_days(group: Sequence[ScoredHit], moment: datetime | None) -> float:
    """Return the days from the last turn that was found to *moment*. What is not a conversation has no age."""
    if moment is None or group[0].layer != "sessions":
        return math.inf
    try:
        last = datetime.fromisoformat(max(hit.ts for hit in group))
    except ValueError:
        return math.inf
    if last.tzinfo is None or moment.tzinfo is None:
        last, moment = last.replace(tzinfo=None), moment.replace(tzinfo=None)
    return (moment - last).total_seconds() / _SECONDS_PER_DAY


def _shares(scores: Mapping[str, float], circles: Mapping[str, Hashable]) -> dict[Hashable, float]:
    """Return the share of the leading sessions that each circle of people has. All shares together are 1."""
    leading = sorted(scores, key=lambda name: (-scores[name], name))[:_LEADING]
    shares: dict[Hashable, float] = dict.fromkeys(circles.values(), 0.0)
    if not leading:
        return shares
    weights = {name: math.exp((scores[name] - scores[leading[0]]) / _LEADING_SPREAD) for name in leading}
    for name, weight in weights.items():
        shares[circles[name]] += weight / sum(weights.values())
    return shares
