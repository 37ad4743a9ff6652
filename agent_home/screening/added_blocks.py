"""Find the blocks that a new version of a document adds: they are what has to pass the guard."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from guard.lazy_regex import lazy_regex

from ..documents.document import Block, parse
from .ruleset import destination_of

__all__ = ["moved_blocks", "runs", "same_words"]

#: Kinds that are screened alone: after another block, each would look like a forged part of it.
_ALONE = frozenset({"entry", "heading"})
_PRIVATE = lazy_regex(r"<\s{0,4}(/?)\s{0,4}private\b", re.IGNORECASE)


def runs(
    before: str, after: str, moved: Mapping[str, int] = MappingProxyType({})
) -> Iterator[tuple[bool, list[Block]]]:
    """Yield the blocks of *after* in order, as runs ``(is new, blocks)``. Entries and headings are runs of their own.

    A block is known when *before* has it, or when *moved* counts it as taken from another file.
    """
    known = Counter(block.raw for block in parse(before).blocks)
    known.update(moved)
    run: list[Block] = []
    adding = False
    for block in parse(after).blocks:
        if block.kind == "blank" and run:
            run.append(block)
            continue
        added = block.kind != "blank" and known[block.raw] <= 0
        known[block.raw] -= 1
        alone = (block.kind in _ALONE or run[0].kind in _ALONE) and not _in_private(run) if run else False
        if run and (added != adding or alone):
            yield from _without_last_blanks(adding, run)
            run = []
        adding = added
        run.append(block)
    if run:
        yield from _without_last_blanks(adding, run)


def moved_blocks(changed: Mapping[str, str], before: Mapping[str, str]) -> dict[str, Counter[str]]:
    """Count for each path the blocks that a transaction moves there: out of other files with the same destination.

    Such a block adds nothing to memory. *changed* are the new texts by path, and *before* the old ones.
    """
    taken: dict[str, Counter[str]] = {}
    gone: dict[str, Counter[str]] = {}
    for path, text in changed.items():
        if path.endswith(".md"):  # a ledger has no blocks
            taken[path] = Counter(block.raw for block in parse(before[path]).blocks)
            taken[path].subtract(block.raw for block in parse(text).blocks)
            taken[path] = +taken[path]
            gone.setdefault(destination_of(path), Counter()).update(taken[path])
    moved = {}
    for path, text in changed.items():
        left, own = gone.get(destination_of(path), Counter[str]()), taken.get(path, Counter[str]())
        wanted = {block.raw for block in parse(text).blocks} if left else ()
        moved[path] = +Counter({raw: left[raw] - own[raw] for raw in wanted})
    return moved


def same_words(first: str, second: str) -> bool:
    """Return whether two documents differ in blank lines at most, as after all additions were held back."""
    words = [[block.raw.rstrip() for block in parse(text).blocks if block.kind != "blank"] for text in (first, second)]
    return words[0] == words[1]


def _in_private(run: Sequence[Block]) -> bool:
    """Return whether a private passage is still open at the end of *run*: the next block belongs to it."""
    tags = [tag for block in run for tag in _PRIVATE.findall(block.raw)]
    return bool(tags) and not tags[-1]


def _without_last_blanks(adding: bool, run: list[Block]) -> Iterator[tuple[bool, list[Block]]]:  # noqa: FBT001
    """Yield *run*, and the blank lines at its end as a run that is known."""
    end = len(run)
    while end > 1 and run[end - 1].kind == "blank":
        end -= 1
    yield adding, run[:end]
    if end < len(run):
        yield False, run[end:]
