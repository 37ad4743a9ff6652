"""The text of one closing in the daily log: topics, items by kind with their turns, files and commits.

Every item is one list item that stands alone, so that the guard can hold one back and keep the rest. What git
contradicts is marked where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from urllib.parse import quote

from agent_home.tokens import count_tokens

from ..evidence.status import Evidence
from .cues import KINDS, ItemKind
from .extraction import Item, Summary

__all__ = ["HEADINGS", "count_item_tokens", "render_body"]

#: What would end the line that a source stands in, or cannot be written; percent signs, so that it can be read back.
_NOT_PLAIN = re.compile(r"[%\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

HEADINGS: Mapping[ItemKind, str] = {
    "conclusion": "Conclusions",
    "decision": "Decisions",
    "rejected": "Rejected approaches",
    "correction": "Corrections",
    "root_cause": "Root causes",
    "lesson": "Lessons",
    "preference": "Preferences",
    "deliverable": "Deliverables",
    "open_thread": "Open threads",
    "next_step": "Next steps",
    "fact": "Facts",
}


def render_body(
    summary: Summary,
    evidence: Mapping[Item, Evidence],
    max_items: int,
    origins: Mapping[Item, str] = MappingProxyType({}),
) -> str:
    """Markdown without level 1 and 2 headings, ending in one newline.

    *origins* names who answers for an item's words; strangers are named below it, and the guard judges it as theirs.
    """
    parts = []
    if summary.topics:
        # A heading first: what the guard makes of the topics must not touch the watermark line above them.
        parts.append(f"### Topics\n\n{', '.join(summary.topics)}\n")
    for kind in KINDS:
        items = [item for item in summary.items if item.kind == kind]
        if items:
            parts.append(f"### {HEADINGS[kind]}\n\n{_list(items, evidence, origins, max_items)}")
    for heading, names in (("Files", summary.files), ("Commits", summary.commits)):
        if names:
            parts.append(f"### {heading}\n\n{', '.join(f'`{name}`' for name in names)}\n")
    return "\n".join(parts) or "Nothing was said that a rule marks as worth keeping.\n"


def count_item_tokens(item: Item) -> int:
    """The tokens that *item* takes in the log, before git was asked about it and for words of the user or agent."""
    return count_tokens("\n".join(_lines(item, None, "agent")) + "\n")


def _list(items: Sequence[Item], evidence: Mapping[Item, Evidence], origins: Mapping[Item, str], limit: int) -> str:
    lines = [line for item in items[:limit] for line in _lines(item, evidence.get(item), origins.get(item, "agent"))]
    if len(items) > limit:
        lines.append(f"- … {len(items) - limit} more in the transcript")
    return "\n".join(lines) + "\n"


def _lines(item: Item, evidence: Evidence | None, origin: str) -> list[str]:
    lines = [f"- {_inert(item.text)} ({', '.join(map(_one_line, item.sources))})"]
    if item.replaces:
        lines.append(f"  Instead of: {item.replaces}")
    if item.corrected:
        lines.append("  State: corrected later in this session")
    if evidence is not None:
        lines.append(f"  Evidence: {evidence.render()}")
    if origin not in {"user", "agent"}:
        lines.append(f"  Origin: {origin}")
    return lines


def _one_line(source: str) -> str:
    """*source* as it is, unless it holds line breaks: a name must not begin a block in the daily log."""
    if not _NOT_PLAIN.search(source.replace("%", "")):
        return source
    return _NOT_PLAIN.sub(lambda match: quote(match.group(), safe="", errors="surrogatepass"), source)


def _inert(text: str) -> str:
    """*text* that starts no block of its own inside a list item: no heading, list, quotation or fence."""
    starts = text.startswith(("#", ">", "- ", "* ", "+ ", "```", "~~~", "|", "<", "**["))
    return f"\\{text}" if starts else text
