"""Own every constant of namespaces: promotion, merging, retrieval, limits of texts. None is in ``agent.toml``."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NamespaceSettings"]

#: Hours or days that a time can be computed with.
_LEAST_TIME, _MOST_TIME = 0.001, 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSettings:
    """Constants of namespaces. ``docs/namespaces.md`` says what each of them was chosen by.

    Attributes:
        read_chars: characters of each side of a message that are read for memories. The log keeps all of them.
        batch_messages: messages that are processed in one transaction.
        context_messages: earlier messages of a session that are read beside new ones.
        least_importance: least importance, 0 to 1, of a statement that becomes a memory.
        side_statements: most memories of one side of an exchange, the most important ones. A long report has more.
        summary_chars: longest summary in characters, merged ones included. Longer statements are shortened.
        related_memories: nearest memories that a new one is compared with.
        least_relation: least strength, 0 to 1, of a relationship that is stored.
        promote_every_h: hours between two promotions of a namespace.
        promote_loaded_h: the same, under load.
        load_messages: messages since the last promotion, read and unread, from which on a namespace is under load.
        importance: a promoted memory has more importance than this.
        mentions: a promoted memory was mentioned in more messages of ``mention_hours`` than this.
        mention_hours: hours in which messages are counted.
        recency: a promoted memory has more recency than this. Recency is 1 - age / ``recency_days``.
        recency_days: days after which recency is 0.
        common_share: an entity in more than this share of the memories says nothing, and counts for no mention.
        common_least: memories of a namespace from which on an entity can be common.
        short_term_h: hours after which a promoted memory leaves short-term memory, unless it is promoted again.
        short_term_cap: most short-term memories of a namespace. More are demoted and archived.
        short_term_share: largest share of the memories in short-term memory.
        short_term_least: so many may be there in any case.
        fill: whether the room that promoted memories leave is filled.
        fill_half_life_days: days in which a memory loses half of its claim to that room.
        fill_likeness: cosine of two memories from which on only one of them is chosen for that room.
        merge_strength: memories with a stronger relationship are merged.
        merge_parts: most memories that one merged memory holds.
        limit: most memories of an answer.
        essential: how many of them come from short-term memory.
        budget_tokens: most tokens of the text of an answer, with its fence.
        relevance: least relevance of a memory that is not essential. It is the chance that a question of another
            namespace has no memory here that fits it as well (``recall.namespaces.relevance``).
        cache_s: seconds for which an answer is kept.
        cache_answers: most answers that a process keeps.
    """

    read_chars: int = 20_000
    batch_messages: int = 32
    context_messages: int = 6
    least_importance: float = 0.02
    side_statements: int = 12
    summary_chars: int = 600
    related_memories: int = 8
    least_relation: float = 0.3

    promote_every_h: float = 6.0
    promote_loaded_h: float = 2.0
    load_messages: int = 200
    importance: float = 0.7
    mentions: int = 3
    mention_hours: float = 24.0
    recency: float = 0.5
    recency_days: float = 30.0
    common_share: float = 0.5
    common_least: int = 20
    short_term_h: float = 24.0
    short_term_cap: int = 1000
    short_term_share: float = 0.05
    short_term_least: int = 2
    fill: bool = True
    fill_half_life_days: float = 7.0
    fill_likeness: float = 0.6
    merge_strength: float = 0.6
    merge_parts: int = 4

    limit: int = 5
    essential: int = 2
    budget_tokens: int = 2000
    relevance: float = 0.6
    cache_s: float = 3600.0
    cache_answers: int = 10_000

    def __post_init__(self) -> None:
        for name in (
            "least_importance", "least_relation", "importance", "recency", "common_share", "short_term_share",
            "fill_likeness", "merge_strength", "relevance",
        ):  # fmt: skip
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}. Write a number from 0 to 1")
        for name in (
            "read_chars", "batch_messages", "side_statements", "summary_chars", "short_term_cap", "limit",
            "budget_tokens", "recency_days", "mention_hours", "promote_every_h", "promote_loaded_h", "short_term_h",
            "fill_half_life_days",
        ):  # fmt: skip
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}. Write a number above 0")
        for name in ("recency_days", "fill_half_life_days", "mention_hours", "short_term_h"):
            if not _LEAST_TIME <= getattr(self, name) <= _MOST_TIME:
                raise ValueError(f"{name} is {getattr(self, name)}. Write a number from {_LEAST_TIME} to {_MOST_TIME}")
        if not 0 <= self.essential <= self.limit:
            raise ValueError(f"essential is {self.essential}. Write a number from 0 to limit, which is {self.limit}")
