"""Own the counts of a home: what it holds, what of it does not work, and how many texts wait for a person."""

from __future__ import annotations

from dataclasses import dataclass

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import SECTIONS, superseded_by
from agent_home.home import MEMORY, Home
from agent_home.store import transcript

from .api import AgentHome

__all__ = ["HomeStatus", "home_status"]

#: Counted folders: the key in a status, the folder and the pattern of its files.
_FOLDERS = {
    "daily_logs": ("DailyActivity", "*.md"),
    "knowledge_files": ("Knowledge", "**/*.md"),
    "project_files": ("Projects", "**/*.md"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeStatus:
    """Counts of a home, as far as an audience may know them. A count that it may not know is ``None``.

    *sections* counts live entries by the title of their section. *ended* counts superseded, resolved and retracted
    entries that are still in ``MEMORY.md``. *degraded* says what does not work. *waiting* counts the texts that wait
    for a person.
    """

    sections: dict[str, int] | None
    ended: int | None
    archived: int | None
    sessions: int | None
    files: dict[str, int | None]
    degraded: tuple[str, ...]
    waiting: int | None


def home_status(agent: AgentHome, *, audience: str = "owner") -> HomeStatus:
    """Return the counts of the home of *agent* for *audience*. No content, name or path is in them.

    What does not work is named for the owner only. Others learn that something does not.
    """
    home, own = agent.home, audience == "owner"
    degraded = tuple(dict.fromkeys((*agent.search(" ").degraded, *agent.warnings)))
    sections, ended = _entries(home) if home.may_read(MEMORY, audience) else (None, None)
    return HomeStatus(
        sections=sections,
        ended=ended,
        archived=_archived(home) if home.may_read("Archive/MEMORY.md", audience) else None,
        sessions=transcript.count(home) if home.may_read("sessions/one.jsonl", audience) else None,
        files={
            key: len(home.files(folder, pattern)) if home.may_read(f"{folder}/one.md", audience) else None
            for key, (folder, pattern) in _FOLDERS.items()
        },
        degraded=degraded if own or not degraded else ("a part of the home does not work. Its owner can see which",),
        waiting=len(agent.review()) if own else None,
    )


def _entries(home: Home) -> tuple[dict[str, int], int]:
    """Return the number of live entries of each section, and the number of ended ones."""
    entries = list(parse(storage.read_text(home.root / MEMORY)).entries())
    replaced = superseded_by(entries)
    live = [entry for entry in entries if not entry.retired and entry.id not in replaced]
    sections = {rule.title: sum(entry.prefix == rule.prefix for entry in live) for rule in SECTIONS}
    return sections, len(entries) - len(live)


def _archived(home: Home) -> int:
    paths = home.files("Archive", "*.md")
    return sum(1 for path in paths for _ in parse(storage.read_text(path)).entries())
