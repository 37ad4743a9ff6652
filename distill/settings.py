"""How a session becomes memory: limits of summaries and of the questions to git."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DistillSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillSettings:
    """The table ``[distill]`` of ``agent.toml``.

    Attributes:
        claim_timeout_s: how long all questions to git about one claim may take; then it is ``unchecked``.
        session_timeout_s: the same for all claims of one closing together.
        window_slack_s: how much before its first and after its last message a session's commits may lie.
        max_topics: topics named in the daily log.
        max_items: items of one kind in one section of the daily log; facts get a third of it.
        max_entries_per_section: entries that one closing may add to one section of ``MEMORY.md``; what is over stays in
            the daily log.
        max_title_chars: length of an entry's title; longer text goes on in its body.
        archive_after_days: how long nobody refers to an entry before it may leave for the archive; and how old a daily
            log is when it does.
    """

    claim_timeout_s: float = 5.0
    session_timeout_s: float = 60.0
    window_slack_s: float = 3600.0
    max_topics: int = 6
    max_items: int = 36
    max_title_chars: int = 80
    max_entries_per_section: int = 50
    archive_after_days: int = 90

    def __post_init__(self) -> None:
        for name in ("claim_timeout_s", "session_timeout_s", "window_slack_s", "max_topics", "max_entries_per_section"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name.replace('_', '-')} is {getattr(self, name)}, wanted 0 or more")
        if self.archive_after_days < 1:
            raise ValueError(f"archive-after-days is {self.archive_after_days}, wanted 1 or more")
        if self.max_items < 3 or self.max_title_chars < 20:
            raise ValueError("max-items must be at least 3 and max-title-chars at least 20")
