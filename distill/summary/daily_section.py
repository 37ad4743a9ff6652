"""Text of one closing in the daily log: topics, items by kind with their turns, files and commits.

Every item is a list item of its own, so that the guard can hold one back and keep the rest. A contradiction by git is
a field of its item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from urllib.parse import quote

from agent_home.documents.daily_log import NOTHING_KEPT
from agent_home.documents.entry import fold_fields
from agent_home.tokens import count_tokens
from guard.lazy_regex import lazy_regex

from ..evidence.status import Evidence
from ..reading.labels import KINDS, ItemKind
from .extraction import Item, Summary

__all__ = ["HEADINGS", "count_item_tokens", "render_body"]

#: Characters of a source that would end its line or cannot be encoded, and the percent sign of the quoting itself.
_QUOTED = lazy_regex(r"[%\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

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
    """Render *summary* as Markdown without headings of level 1 and 2, ending in one newline.

    *origins* are the origins of the items' words. An origin other than user and agent becomes a field of the item, and
    the guard screens the item as coming from there.
    """
    parts = []
    if summary.topics:
        # A heading separates the topics, which the guard may remove, from the watermark line above them.
        parts.append(f"### Topics\n\n{', '.join(summary.topics)}\n")
    for kind in KINDS:
        items = [item for item in summary.items if item.kind == kind]
        if items:
            parts.append(f"### {HEADINGS[kind]}\n\n{_list(items, evidence, origins, max_items)}")
    for heading, names in (("Files", summary.files), ("Commits", summary.commits)):
        if names:
            parts.append(f"### {heading}\n\n{', '.join(f'`{name}`' for name in names)}\n")
    return "\n".join(parts) or NOTHING_KEPT


def count_item_tokens(item: Item) -> int:
    """Count the tokens of *item* in the daily log, without the fields for evidence and origin."""
    return count_tokens("\n".join(_lines(item, None, "agent")) + "\n")


def _list(items: Sequence[Item], evidence: Mapping[Item, Evidence], origins: Mapping[Item, str], limit: int) -> str:
    lines = [line for item in items[:limit] for line in _lines(item, evidence.get(item), origins.get(item, "agent"))]
    if len(items) > limit:
        lines.append(f"- … {len(items) - limit} more in the transcript")
    return "\n".join(lines) + "\n"


def _lines(item: Item, evidence: Evidence | None, origin: str) -> list[str]:
    sources = dict.fromkeys((*item.sources, *item.context))
    lines = [f"- {_escape_block(item.told)} ({', '.join(map(_quote_source, sources))})"]
    if item.replaces:
        lines.append(f"  Instead of: {item.replaces}")
    fields = {
        "State": _state(item),
        "Evidence": evidence.render() if evidence is not None else "",
        "Origin": origin if origin not in {"user", "agent"} else "",
    }
    folded = fold_fields(fields)
    return [*lines, f"  {folded}"] if folded else lines


def _state(item: Item) -> str:
    """Return what a later turn did to *item*, or an empty string."""
    if item.corrected:
        return "corrected later in this session"
    return f"resolved later in this session ({_quote_source(item.resolved)})" if item.resolved else ""


def _quote_source(source: str) -> str:
    """Quote *source* if it holds a line break or another control character, which could begin a block of the log."""
    if not _QUOTED.search(source.replace("%", "")):
        return source
    return _QUOTED.sub(lambda match: quote(match.group(), safe="", errors="surrogatepass"), source)


def _escape_block(text: str) -> str:
    """Escape a *text* that would start a heading, list, quotation or fence inside its list item."""
    starts = text.startswith(("#", ">", "- ", "* ", "+ ", "```", "~~~", "|", "<", "**["))
    return f"\\{text}" if starts else text
