"""Sum up the prompts of each day from the event log: their tokens, and how long recall took."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo

from agent_home.events.reading import EventFilter, events
from agent_home.home import Home

__all__ = ["MOST_PROMPTS", "DayOfPrompts", "days_of_prompts"]

#: Prompts that are read, the newest, and how much of the log is searched for them.
MOST_PROMPTS, _MOST_BYTES = 2_000, 8 << 20
#: Larger figures are damaged.
_MOST = 1e9
_HIGH = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOfPrompts:
    """Prompts of a day: their number, the median and the largest tokens, the median and a high time of recall in ms.

    The high time is one that 95 % of the prompts stayed below. A figure is ``None`` where no prompt has it.
    """

    prompts: int = 0
    tokens: float | None = None
    most_tokens: float | None = None
    recall_ms: float | None = None
    high_recall_ms: float | None = None


def days_of_prompts(home: Home, start: datetime, zone: tzinfo | None) -> Mapping[date, DayOfPrompts]:
    """Return the days since *start* that had prompts, oldest first.

    Only the newest :data:`MOST_PROMPTS` are read. Prompts that earlier versions recorded have no time of recall.
    """
    found = events(home, EventFilter(type="prompt", start=start), limit=MOST_PROMPTS, most_bytes=_MOST_BYTES)
    tokens: dict[date, list[float]] = defaultdict(list)
    recall_ms: dict[date, list[float]] = defaultdict(list)
    prompts: dict[date, int] = defaultdict(int)
    for event in found:
        day = event.moment.astimezone(zone).date()
        prompts[day] += 1
        for name, values in (("tokens", tokens), ("recall_ms", recall_ms)):
            value = event.details.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST:
                values[day].append(value)
    return {
        day: DayOfPrompts(
            prompts=count, tokens=_share(tokens[day], 0.5), most_tokens=_share(tokens[day], 1.0),
            recall_ms=_share(recall_ms[day], 0.5), high_recall_ms=_share(recall_ms[day], _HIGH),
        )
        for day, count in sorted(prompts.items())
    }  # fmt: skip


def _share(values: Sequence[float], share: float) -> float | None:
    """Return the smallest of *values* that is not below *share* of them, or ``None`` without values."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
