"""How a session becomes memory: limits of summaries and of the questions to git."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent_home.documents.entry import SECTIONS

from .language_model.endpoint import EndpointSettings

__all__ = ["DistillSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillSettings:
    """The table ``[distill]`` of ``agent.toml``.

    Attributes:
        claim_timeout_s: how long all questions to git about one claim may take; then it is ``unchecked``.
        session_timeout_s: the same for all claims of one closing together.
        window_slack_s: how much before its first and after its last message a session's commits may lie.
        max_topics: topics named in the daily log.
        max_items: items of one kind in one section of the daily log; facts that only a figure marks get a third of it.
        log_share: how much of the tokens of what was said the daily log may hold; what a cue marks stands there anyway,
            and sentences without one fill what is left. 0 selects none.
        max_entries_per_section: entries that one closing may add to one section of ``MEMORY.md``; what is over stays in
            the daily log.
        max_title_chars: length of an entry's title; longer text goes on in its body.
        archive_after_days: how long nobody refers to an entry before it may leave for the archive; and how old a daily
            log is when it does.
        recurrence_days: of how many days the daily logs are looked through for topics that come up again; 0 for none.
        max_recurring: facts that earn an entry in one closing because another session had their topic.
        recurring: titles of sections whose entries, too, are only made when another session had their topic.
        section_entries: how many entries a section of ``MEMORY.md`` holds before the least fit that may leave are
            archived; *room* says it for single sections by their titles.
        memory_tokens: what ``MEMORY.md`` may cost before the same happens.
        rule_after_sessions: in how many sessions a correction is made before it is proposed as a rule.
        retire_rules_after_days: how long nobody names or breaks a rule before its retirement is proposed.
        resume_tokens: how much `memory resume` says of a session.
        review: by section of ``MEMORY.md``, whether a closing commits its new entries (``commit``, where nothing is
            said) or proposes them to a person (``propose``).
        endpoint: a language model that rewords summaries; without the table ``[distill.endpoint]`` none is asked.
    """

    claim_timeout_s: float = 5.0
    session_timeout_s: float = 60.0
    window_slack_s: float = 3600.0
    max_topics: int = 6
    max_items: int = 36
    log_share: float = 0.25
    max_title_chars: int = 80
    max_entries_per_section: int = 50
    archive_after_days: int = 90
    recurrence_days: int = 30
    max_recurring: int = 5
    recurring: tuple[str, ...] = ()
    section_entries: int = 150
    room: Mapping[str, int] = field(default_factory=dict)
    memory_tokens: int = 24_000
    rule_after_sessions: int = 2
    retire_rules_after_days: int = 90
    resume_tokens: int = 600
    review: Mapping[str, Literal["commit", "propose"]] = field(default_factory=dict)
    endpoint: EndpointSettings | None = None

    def __post_init__(self) -> None:
        for name in (
            "claim_timeout_s", "session_timeout_s", "window_slack_s", "max_topics", "max_entries_per_section",
            "recurrence_days", "max_recurring",
        ):  # fmt: skip
            if getattr(self, name) < 0:
                raise ValueError(f"{name.replace('_', '-')} is {getattr(self, name)}, wanted 0 or more")
        if not 0 <= self.log_share <= 1:
            raise ValueError(f"log-share is {self.log_share}, wanted 0 to 1")
        if self.archive_after_days < 1:
            raise ValueError(f"archive-after-days is {self.archive_after_days}, wanted 1 or more")
        if self.rule_after_sessions < 2 or self.retire_rules_after_days < 1:
            raise ValueError("rule-after-sessions must be at least 2 and retire-rules-after-days at least 1")
        if self.resume_tokens < 100:
            raise ValueError(f"resume-tokens is {self.resume_tokens}, wanted 100 or more")
        if min(self.section_entries, *self.room.values(), self.memory_tokens) < 1:
            raise ValueError("section-entries, memory-tokens and every number of room must be at least 1")
        titles = [rule.title for rule in SECTIONS]
        for key, table in (("review", self.review), ("room", self.room), ("recurring", self.recurring)):
            unknown = next((title for title in table if title not in titles), None)
            if unknown is not None:
                raise ValueError(f"{key} names the section {unknown!r}, known are {', '.join(titles)}")
        if self.max_items < 3 or self.max_title_chars < 20:
            raise ValueError("max-items must be at least 3 and max-title-chars at least 20")

    @property
    def proposed_sections(self) -> frozenset[str]:
        """The sections whose new entries wait for a person."""
        return frozenset(title for title, how in self.review.items() if how == "propose")

    @property
    def section_sizes(self) -> dict[str, int]:
        """How many entries each section may hold, by its prefix."""
        return {rule.prefix: self.room.get(rule.title, self.section_entries) for rule in SECTIONS}
