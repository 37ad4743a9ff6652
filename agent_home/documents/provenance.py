"""Rank authors by trust, and find the least trusted author of a text.

An entry names its least trusted author in the field ``Origin``. An item of the daily log has that field when the author
is neither the user nor the agent. Merging or moving entries must never raise the trust of a tool's or a stranger's
words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from guard import Source

from .document import Block, parse
from .entry import parse_fields

__all__ = ["TRUST", "least_trusted", "origin_of_blocks", "origin_of_changes", "origin_of_restated"]

#: From most to least trusted.
TRUST = tuple(map(str, (Source.USER, Source.AGENT, Source.PARTICIPANT, Source.TOOL, Source.WEB)))


def least_trusted(sources: Iterable[str]) -> str:
    """Return the least trusted of *sources*. An unknown author counts as ``agent``, and so does an empty list.

    >>> least_trusted(["user", "tool"]), least_trusted(["user", "somebody"]), least_trusted([])
    ('tool', 'agent', 'agent')
    """
    known = [source if source in TRUST else "agent" for source in sources] or ["agent"]
    return max(known, key=TRUST.index)


def origin_of_restated(sources: Iterable[str]) -> str:
    """Return the origin of a statement that each of *sources* made.

    The agent often repeats the user, whose statement it stays. Otherwise the least trusted source counts.

    >>> origin_of_restated(["user", "agent"]), origin_of_restated(["user", "web"])
    ('user', 'web')
    """
    known = list(sources)
    found = least_trusted(known)
    return "user" if found == "agent" and "user" in known else found


def origin_of_blocks(blocks: Sequence[Block], source: str) -> str:
    """Return the least trusted author of *blocks* that *source* writes, with the origins that the blocks name."""
    return least_trusted([source, *(origin for block in blocks if (origin := _origin(block)))])


def _origin(block: Block) -> str:
    if block.entry:
        return block.entry.fields.get("Origin", "")
    if block.kind != "item" or "Origin:" not in block.raw:
        return ""
    found = [fields["Origin"] for line in block.raw.splitlines() if "Origin" in (fields := parse_fields(line))]
    return least_trusted(found) if found else ""


def origin_of_changes(before: Mapping[str, str], after: Mapping[str, str], source: str) -> str:
    """Return the least trusted author of the changes that *source* makes. *before* and *after* map paths to texts."""
    sources = [source]
    for path, text in after.items():
        if path.endswith(".md"):
            known = {block.raw for block in parse(before.get(path, "")).blocks}
            sources.append(origin_of_blocks([block for block in parse(text).blocks if block.raw not in known], source))
    return least_trusted(sources)
