"""Own the table ``[assembler]`` of ``agent.toml``: tiers, shares and deadlines."""

from __future__ import annotations

from dataclasses import dataclass

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
        daily_share: largest share of the budget for the daily log.
        sessions_share: largest share of the budget for past conversations (layer 3).
        knowledge_share: largest share of the budget for layer 4: knowledge, projects, daily logs, archive and outputs.
        daily_tokens: largest number of tokens of the daily log. More text does not help, however large the budget is.
        sessions_tokens: largest number of tokens of past conversations.
        knowledge_tokens: largest number of tokens of layer 4.
        sessions_cutoff: turns that score less than this fraction of the best score are left out.
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
    daily_share: float = 0.10
    sessions_share: float = 0.12
    knowledge_share: float = 0.12
    daily_tokens: int = 4_000
    sessions_tokens: int = 2_000
    knowledge_tokens: int = 4_000
    sessions_cutoff: float = 0.6
    memory_first: float = 0.6
    index_share: float = 0.4
    selected_share: float = 0.2
    selective_ms: float = 50.0
    sessions_ms: float = 100.0
    knowledge_ms: float = 150.0
    resume_days: int = 7
    near_misses: int = 10

    def __post_init__(self) -> None:
        for tier in self.tiers:
            if len(tier) != 2 or tier[0] < 1 or tier[1] < 1 or tier[1] * 2 > tier[0]:
                raise ValueError(f"tier {tier!r} is invalid. Write a window and a budget of at most half of it")
        shares = (self.daily_share, self.sessions_share, self.knowledge_share)
        for name in (
            "daily_share", "sessions_share", "knowledge_share", "memory_first", "index_share", "selected_share",
            "sessions_cutoff",
        ):  # fmt: skip
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}. Write a number from 0 to 1")
        if sum(shares) > 0.6:
            raise ValueError(
                f"daily_share, sessions_share and knowledge_share add up to {sum(shares):g}. Lower them to 0.6 or less"
            )
        if self.index_share + self.selected_share > 1:
            total = self.index_share + self.selected_share
            raise ValueError(f"index_share and selected_share add up to {total:g}. Lower them to 1 or less")
        if self.vocabulary not in VOCABULARIES:
            raise ValueError(f"unknown vocabulary {self.vocabulary!r}. Write one of {', '.join(VOCABULARIES)}")
