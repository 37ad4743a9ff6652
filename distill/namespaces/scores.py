"""Own the three scores of a memory for promotion: its importance, how young it is, and how many messages mention it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from recall.namespaces.chat_log import RecentMentions
from recall.namespaces.settings import NamespaceSettings

from .entities import entity_weight

__all__ = ["PromotionScores", "common_entities", "mention_count", "passes", "recency"]

#: Weight of common entities from which on a message mentions a memory: one name, or two pairs of Chinese characters.
_MENTIONED = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionScores:
    """The three scores of a memory: *importance* and *recency* are 0 to 1, *frequency* is a number of messages."""

    importance: float
    recency: float
    frequency: int


def passes(scores: PromotionScores, settings: NamespaceSettings) -> bool:
    """Return whether all three scores are above their thresholds.

    >>> passes(PromotionScores(importance=0.8, recency=0.9, frequency=4), NamespaceSettings())
    True
    >>> passes(PromotionScores(importance=0.8, recency=0.9, frequency=3), NamespaceSettings())
    False
    """
    return (
        scores.importance > settings.importance
        and scores.frequency > settings.mentions
        and scores.recency > settings.recency
    )


def recency(said: datetime, now: datetime, settings: NamespaceSettings) -> float:
    """Return 1 for a memory that was said now, falling to 0 at the age of ``recency_days``."""
    age_days = (now - said).total_seconds() / 86_400
    return max(0.0, min(1.0, 1 - age_days / settings.recency_days))


def mention_count(entities: Collection[str], messages: Collection[int], mentions: RecentMentions) -> int:
    """Return how many recent messages mention a memory.

    A message mentions it that states it, or that has one of its names, or two of its pairs of Chinese characters.
    """
    weights: dict[int, float] = {}
    for entity in entities:
        for number in mentions.named.get(entity, ()):
            weights[number] = weights.get(number, 0.0) + entity_weight(entity)
    named = {number for number, weight in weights.items() if weight >= _MENTIONED}
    return len(named | (mentions.messages & frozenset(messages)))


def common_entities(counts: Mapping[str, int], memories: int, settings: NamespaceSettings) -> frozenset[str]:
    """Return the entities that so many memories have that they tell none from another."""
    if memories < settings.common_least:
        return frozenset()
    return frozenset(entity for entity, count in counts.items() if count > settings.common_share * memories)
