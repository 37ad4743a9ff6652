"""Passages that say the same: which of the hits are one statement, and which of them stands for it.

Two passages say the same when their words are the same in the same order, or when nearly all pairs of successive words
are and neither a number nor a negation tells them apart. What a file writes around a statement does not count: id,
date and fields of an entry, bullet and sources of a line in the daily log. Two turns must have the same speaker as
well; a few words that anybody says at any time ("Thanks a lot!") are no statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from agent_home.documents.entry import FIELDS, parse_entry

from ..text.identity import Wording

__all__ = ["PassageContent", "group_duplicates", "passage_content", "representative"]

#: Statements that a new one is compared with word by word; equal ones are found among all.
_COMPARED = 100
#: Best first: what a person can read and mend before what was said once, what lives before what is put away.
_PREFERRED = ("memory", "knowledge", "projects", "daily", "sessions", "outputs", "archive")
_BULLET = re.compile(r"^[ \t]*[-*+][ \t]+", re.MULTILINE)
_FIELD_LINE = re.compile(rf"^[ \t]+(?:{'|'.join(FIELDS)}):.*$", re.MULTILINE)
#: ``(session#message, session#message)`` at the end of a line.
_SOURCES = re.compile(r"[ \t]*\([^()\s]+#[^()\n]*\)[ \t]*$", re.MULTILINE)


class HitLike(Protocol):
    """What is needed of a hit."""

    @property
    def source(self) -> str: ...
    @property
    def layer(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def ts(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def role(self) -> str: ...


Hits = TypeVar("Hits", bound=HitLike)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageContent:
    """The wording of a passage and who spoke. *speaker* is empty for a document."""

    wording: Wording
    speaker: tuple[str, ...]

    def repeats(self, other: PassageContent) -> bool:
        """Return whether both say the same, and the same speaker says both turns."""
        if self.speaker and other.speaker and self.speaker != other.speaker:
            return False
        return self.wording.repeats(other.wording)


def passage_content(hit: HitLike) -> PassageContent:
    """What *hit* says, without what its file writes around it."""
    text = hit.text
    if hit.layer != "sessions":
        entry = parse_entry(text if text.endswith("\n") else text + "\n")
        text = entry.text if entry else _SOURCES.sub("", _BULLET.sub("", _FIELD_LINE.sub("", text)))
    speaker = (hit.role, hit.name) if hit.layer == "sessions" else ()
    return PassageContent(wording=Wording.of(text), speaker=speaker)


def group_duplicates(hits: Iterable[Hits], wanted: int) -> list[list[Hits]]:
    """Hits that say the same, together: groups in order of their first, hits in the order given.

    Takes from *hits* no more than it needs for *wanted* groups.
    """
    groups: list[list[Hits]] = []
    known: list[PassageContent] = []
    equal: dict[tuple[str, ...], list[int]] = {}
    if wanted < 1:
        return groups
    for hit in hits:
        said = passage_content(hit)
        place = next((at for at in _candidates(said, known, equal) if known[at].repeats(said)), None)
        if place is not None:
            groups[place].append(hit)
            continue
        if len(groups) == wanted:
            break
        equal.setdefault(said.wording.words, []).append(len(groups))
        known.append(said)
        groups.append([hit])
    return groups


def representative(group: Sequence[Hits]) -> Hits:
    """The one that stands for the others: by layer, the newest of those, the first address of those."""
    best = min(_PREFERRED.index(hit.layer) for hit in group)
    alike = sorted((hit for hit in group if _PREFERRED.index(hit.layer) == best), key=lambda hit: hit.source)
    return max(alike, key=lambda hit: hit.ts)


def _candidates(
    said: PassageContent, known: Sequence[PassageContent], equal: dict[tuple[str, ...], list[int]]
) -> Iterator[int]:
    yield from equal.get(said.wording.words, ())
    yield from range(min(len(known), _COMPARED))
