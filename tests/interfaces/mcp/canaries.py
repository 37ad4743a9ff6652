"""Words that stand in one private place of a home each, and nowhere else."""

from __future__ import annotations

from agent_home.home import Home

__all__ = ["CANARIES", "hidden_from", "shown_to"]

CANARIES = {
    "USER.md": "quokkafruit",
    "TOOLS.md": "wombatlamp",
    "STEERING.md": "numbatstone",
    "MEMORY.md": "bilbyriver",
    "EVOLUTION.md": "dingosalt",
    "Projects/rocket/PROJECT.md": "possumglass",
    "DailyActivity/2026-11-20.md": "koalathread",
    "Archive/MEMORY-2026-10.md": "emucandle",
    "Knowledge/open.md": "platypuschalk",
    "Knowledge/private/salary.md": "tapirvelvet",
    "sessions": "galahmarble",
}


def shown_to(home: Home, audience: str) -> set[str]:
    """Return the words of the files that *audience* may read."""
    transcript = "sessions/2026/11/talk.jsonl"
    return {
        word for path, word in CANARIES.items() if home.may_read(transcript if path == "sessions" else path, audience)
    }


def hidden_from(home: Home, audience: str) -> set[str]:
    """Return the words of the other files."""
    return set(CANARIES.values()) - shown_to(home, audience)
