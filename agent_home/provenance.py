"""Who said what is written, from most to least trusted, and what a text of several authors counts as.

An entry carries its least trusted author in the field ``Origin``; nothing that unites or moves entries may raise it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from guard import Source

from .document import Block, parse

__all__ = ["TRUST", "least_trusted", "source_of", "written_by"]

#: From most to least trusted.
TRUST = tuple(str(source) for source in (Source.USER, Source.AGENT, Source.TOOL, Source.WEB))


def least_trusted(sources: Iterable[str]) -> str:
    """The least trusted of *sources*; ``agent`` where there is none or one is not known.

    >>> least_trusted(["user", "tool"]), least_trusted(["user", "somebody"]), least_trusted([])
    ('tool', 'agent', 'agent')
    """
    known = [source if source in TRUST else "agent" for source in sources] or ["agent"]
    return max(known, key=TRUST.index)


def source_of(blocks: Sequence[Block], source: str) -> str:
    """Who answers for *blocks* that *source* writes: an entry among them may name somebody less trusted."""
    origins = [block.entry.fields["Origin"] for block in blocks if block.entry and block.entry.fields.get("Origin")]
    return least_trusted([source, *origins])


def written_by(before: Mapping[str, str], after: Mapping[str, str], source: str) -> str:
    """Who answers for what *source* changes from the texts *before* to those *after*, by their paths."""
    sources = [source]
    for path, text in after.items():
        if path.endswith(".md"):
            known = {block.raw for block in parse(before.get(path, "")).blocks}
            sources.append(source_of([block for block in parse(text).blocks if block.raw not in known], source))
    return least_trusted(sources)
