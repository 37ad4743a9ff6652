"""Settings of closing, promotion, archiving and evolution: the table ``[distill]`` of ``agent.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from agent_home.documents.entry import SECTIONS

from .language_model.endpoint import EndpointSettings

__all__ = ["DistillSettings"]


#: Least value of each setting that has one.
_LEAST: Mapping[str, int] = {
    "claim_timeout_s": 0,
    "session_timeout_s": 0,
    "window_slack_s": 0,
    "max_topics": 0,
    "max_entries_per_section": 0,
    "outputs_days": 0,
    "recurrence_days": 0,
    "max_items": 3,
    "archive_after_days": 1,
    "section_entries": 0,
    "memory_tokens": 0,
    "rule_after_sessions": 2,
    "retire_rules_after_days": 1,
    "resume_tokens": 100,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillSettings:
    """The table ``[distill]`` of ``agent.toml``.

    Attributes:
        claim_timeout_s: limit in seconds of all git queries about one claim. A claim beyond it is ``unchecked``.
        session_timeout_s: limit in seconds of all git queries of one closing.
        window_slack_s: seconds before the first and after the last message in which a commit belongs to the session.
        max_topics: largest number of topics in a section of the daily log.
        max_items: largest number of items of one kind in a section of the daily log. Figures get a third of it.
        log_share: the section's share of the tokens of the conversation, 0 to 1. Facts fill what items of other kinds
            leave of it, and those stand there in any case. 0 selects no facts.
        max_entries_per_section: largest number of entries that one closing adds to a section of ``MEMORY.md``. Further
            items stay in the daily log.
        archive_after_days: days without a reference after which an entry may be archived, and the age at which a daily
            log is archived.
        outputs_days: days after which the nightly run drops outputs of tools and checkpoints that nothing refers to. 0
            keeps them.
        recurrence_days: days of daily logs that are searched for the topics of sections in ``recurring``.
        recurring: titles of sections whose entries need an earlier session with their topic.
        section_entries: largest number of entries in a section of ``MEMORY.md``. Beyond it, the least useful ones are
            archived. 0 sets no limit but ``memory_tokens``.
        room: the limit ``section_entries`` for single sections, by title.
        memory_tokens: largest number of tokens of ``MEMORY.md``. Beyond it, the least useful entries are archived. 0
            takes it from the tier of the model's window: 46 000 for 200 000 tokens, 80 000 for 500 000.
        rule_after_sessions: number of sessions with the same correction after which a rule is proposed.
        retire_rules_after_days: days without a mention or breach of a rule after which its retirement is proposed.
        resume_tokens: size of the summary of ``memory resume``.
        review: by section title, ``commit`` or ``propose``: whether a closing commits new entries or proposes them to a
            person. The default is ``commit``.
        endpoint: the language model that reads sessions. Without the table ``[distill.endpoint]`` none is used.
    """

    claim_timeout_s: float = 5.0
    session_timeout_s: float = 60.0
    window_slack_s: float = 3600.0
    max_topics: int = 6
    max_items: int = 36
    log_share: float = 0.35
    max_entries_per_section: int = 50
    archive_after_days: int = 90
    outputs_days: int = 30
    recurrence_days: int = 30
    recurring: tuple[str, ...] = ()
    section_entries: int = 0
    room: Mapping[str, int] = field(default_factory=dict)
    memory_tokens: int = 0
    rule_after_sessions: int = 2
    retire_rules_after_days: int = 90
    resume_tokens: int = 600
    review: Mapping[str, Literal["commit", "propose"]] = field(default_factory=dict)
    endpoint: EndpointSettings | None = None

    #: Former settings. Naming one in ``agent.toml`` is an error that says so.
    RETIRED: ClassVar[frozenset[str]] = frozenset({"max_recurring", "max_title_chars"})

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name.replace('_', '-')} is {getattr(self, name)}. Write {least} or more")
        if not 0 <= self.log_share <= 1:
            raise ValueError(f"log-share is {self.log_share}. Write a number from 0 to 1")
        for title, number in self.room.items():
            if number < 1:
                raise ValueError(f"room {title!r} is {number}. Write 1 or more")
        titles = [rule.title for rule in SECTIONS]
        for key, table in (("review", self.review), ("room", self.room), ("recurring", self.recurring)):
            unknown = next((title for title in table if title not in titles), None)
            if unknown is not None:
                raise ValueError(f"{key} names the unknown section {unknown!r}. Sections are {', '.join(titles)}")

    @property
    def proposed_sections(self) -> frozenset[str]:
        """The titles of sections whose new entries wait for a person."""
        return frozenset(title for title, mode in self.review.items() if mode == "propose")

    @property
    def section_sizes(self) -> dict[str, int]:
        """The largest number of entries of each section that has a limit, by its prefix."""
        sizes = {rule.prefix: self.room.get(rule.title, self.section_entries) for rule in SECTIONS}
        return {prefix: size for prefix, size in sizes.items() if size}
