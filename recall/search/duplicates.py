"""Groups of hits that make the same statement, and the hit that represents each group.

Words are compared by ``recall.text.identity``. The text that a file writes around a statement does not count: the id,
date and fields of an entry, and the bullet and sources of a line in the daily log. Two turns must also have the same
speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeVar

from agent_home.documents.entry import FIELDS, parse_entry
from guard.lazy_regex import lazy_regex

from ..text.identity import Wording

__all__ = ["PassageContent", "group_duplicates", "passage_content", "representative"]

#: Statements that a new one is compared with word by word. Equal ones are found among all.
_COMPARED = 100
#: Passages of which a process keeps the words: about a kilobyte each.
_KEPT = 8_192
#: Layers, best first: files that a person can correct before conversations, living ones before the archive.
_PREFERRED = ("memory", "knowledge", "projects", "daily", "sessions", "outputs", "archive")
_BULLET = lazy_regex(r"^[ \t]*[-*+][ \t]+", re.MULTILINE)
_FIELD_LINE = lazy_regex(rf"^[ \t]+(?:{'|'.join(FIELDS)}):.*$", re.MULTILINE)
#: ``(session#message, session#message)`` at the end of a line.
_SOURCES = lazy_regex(r"[ \t]*\([^()\s]+#[^()\n]*\)[ \t]*$", re.MULTILINE)


class HitLike(Protocol):
    """The fields of a hit that are compared."""

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
    """Return the words of *hit* without the text that its file writes around them."""
    return _content(hit.text, (hit.role, hit.name) if hit.layer == "sessions" else ())


@lru_cache(maxsize=_KEPT)
def _content(text: str, speaker: tuple[str, ...]) -> PassageContent:
    """Return the words of a passage. A process that searches the same home again needs them again."""
    if not speaker:
        entry = parse_entry(text if text.endswith("\n") else text + "\n")
        text = entry.text if entry else _SOURCES.sub("", _BULLET.sub("", _FIELD_LINE.sub("", text)))
    return PassageContent(wording=Wording.of(text), speaker=speaker)


def group_duplicates(hits: Iterable[Hits], count: int) -> list[list[Hits]]:
    """Return hits that say the same in groups, in order of the first hit of each.

    Reads no more of *hits* than *count* groups need.
    """
    groups: list[list[Hits]] = []
    known: list[PassageContent] = []
    equal: dict[str, list[int]] = {}
    similar: dict[int, list[int]] = {}  # places of the first statements, by the hashes of their signatures
    if count < 1:
        return groups
    similar_to = similar.keys()
    for hit in hits:
        content = passage_content(hit)
        wording = content.wording
        near = equal.get(wording.joined, ())
        if not similar_to.isdisjoint(wording.signature):
            near = [*near, *_similar(wording, similar)]
        place = next((at for at in near if known[at].repeats(content)), None) if near else None
        if place is not None:
            groups[place].append(hit)
            continue
        if len(groups) == count:
            break
        equal.setdefault(wording.joined, []).append(len(groups))
        if len(groups) < _COMPARED:
            for code in wording.signature:
                similar.setdefault(code, []).append(len(groups))
        known.append(content)
        groups.append([hit])
    return groups


def representative(group: Sequence[Hits]) -> Hits:
    """Return the hit that stands for *group*: by layer, then the newest, then the first address."""
    best = min(_PREFERRED.index(hit.layer) for hit in group)
    alike = sorted((hit for hit in group if _PREFERRED.index(hit.layer) == best), key=lambda hit: hit.source)
    return max(alike, key=lambda hit: hit.ts)


def _similar(wording: Wording, similar: Mapping[int, list[int]]) -> Sequence[int]:
    """Return the places of the statements that *wording* may nearly repeat."""
    return sorted({at for code in wording.signature if code in similar for at in similar[code]})
