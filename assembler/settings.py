"""Own the table ``[assembler]`` of ``agent.toml``: tiers, shares and deadlines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_home.tokens import DEFAULT, VOCABULARIES
from agent_home.window_tiers import TIERS, WINDOW

__all__ = ["AssemblerSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblerSettings:
    """The table ``[assembler]`` of ``agent.toml``. Shares are fractions of the memory budget.

    Attributes:
        window: tokens of the model's context window, unless the caller gives a number.
        vocabulary: vocabulary for counting tokens. The default counts Chinese, Japanese and Korean most cautiously.
        tiers: pairs of a window and the memory budget from that window on. Smaller windows get a minimal budget.
        pool_share: smallest share of the budget that the context files leave for the pool: the daily log and everything
            recalled. What the context files do not need goes to the pool as well.
        small_pool_share: the same share in a small budget, up to ``small_pool_tokens``. It is at least 0.85 of 1 000
            tokens.
        small_pool_tokens: largest number of tokens that ``small_pool_share`` grants.
        pool_tokens: largest number of tokens of everything recalled. 0 means as many as there are.
        daily_share: largest share of the budget for the daily log.
        daily_tokens: largest number of tokens of the daily log. More text does not help, however large the budget is.
        recall_floor: passages that score less than this fraction of the best score are left out.
        weak_tokens: largest number of tokens of everything recalled for a message that asks for little: of one word, or
            whose best passage scores less than ``weak_score``.
        weak_score: score of the best passage below which a message is taken to be about something else.
        recall_strong: passages that score at least this fraction of the best score stand before the daily log, and
            turns among them bring their neighbours.
        memory_first: share of ``MEMORY.md`` in the tokens that remain after floors and protected files.
        index_share: largest part of ``MEMORY.md``'s share that layer 2 uses for index lines.
        selected_share: smallest part of ``MEMORY.md``'s share that layer 2 leaves for matching entries.
        selective_ms: deadline of layer 2 in milliseconds.
        sessions_ms: deadline of layer 3 in milliseconds.
        knowledge_ms: deadline of layer 4 in milliseconds.
        resume_days: days after which the prompt no longer mentions an open session.
        near_misses: number of the best entries left out that the receipt names.
    """

    window: int = WINDOW
    vocabulary: str = DEFAULT
    tiers: tuple[tuple[int, ...], ...] = TIERS
    pool_share: float = 0.34
    small_pool_share: float = 0.8
    small_pool_tokens: int = 8_000
    pool_tokens: int = 0
    daily_share: float = 0.10
    daily_tokens: int = 4_000
    recall_floor: float = 0.3
    weak_tokens: int = 2_000
    weak_score: float = 0.25
    recall_strong: float = 0.45
    memory_first: float = 0.6
    index_share: float = 0.4
    selected_share: float = 0.2
    selective_ms: float = 50.0
    sessions_ms: float = 100.0
    knowledge_ms: float = 150.0
    resume_days: int = 7
    near_misses: int = 10

    #: Former settings. Layers 3 and 4 share one pool now.
    RETIRED: ClassVar[frozenset[str]] = frozenset(
        {"sessions_share", "knowledge_share", "sessions_tokens", "knowledge_tokens", "sessions_cutoff"}
    )

    def __post_init__(self) -> None:
        for tier in self.tiers:
            if len(tier) != 2 or tier[0] < 1 or tier[1] < 1 or tier[1] * 2 > tier[0]:
                raise ValueError(f"tier {tier!r} is invalid. Write a window and a budget of at most half of it")
        for name in (
            "pool_share", "small_pool_share", "daily_share", "memory_first", "index_share", "selected_share",
            "recall_floor", "recall_strong",
        ):  # fmt: skip
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}. Write a number from 0 to 1")
        for name in ("pool_share", "small_pool_share"):
            if getattr(self, name) > 0.8:
                raise ValueError(f"{name} is {getattr(self, name)}. Lower it to 0.8 or less")
        if self.index_share + self.selected_share > 1:
            total = self.index_share + self.selected_share
            raise ValueError(f"index_share and selected_share add up to {total:g}. Lower them to 1 or less")
        if self.vocabulary not in VOCABULARIES:
            raise ValueError(f"unknown vocabulary {self.vocabulary!r}. Write one of {', '.join(VOCABULARIES)}")
