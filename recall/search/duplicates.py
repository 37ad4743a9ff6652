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
from itertools import pairwise
from typing import Protocol, TypeVar

from agent_home.documents.entry import FIELDS, parse_entry

from ..text.terms import index_text

__all__ = ["PassageContent", "group_duplicates", "passage_content", "representative"]

#: Fewer words are no statement of their own.
_LEAST_WORDS = 5
#: Fewer words must be equal: one of them is too large a part of what is said.
_LEAST_NEARLY = 12
#: Pairs of successive words that both have, of those that either has.
_NEARLY = 0.9
#: Statements that a new one is compared with word by word; equal ones are found among all.
_COMPARED = 100
#: Best first: what a person can read and mend before what was said once, what lives before what is put away.
_PREFERRED = ("memory", "knowledge", "projects", "daily", "sessions", "outputs", "archive")
_WORD = re.compile(r"\w+")
_BULLET = re.compile(r"^[ \t]*[-*+][ \t]+", re.MULTILINE)
_FIELD_LINE = re.compile(rf"^[ \t]+(?:{'|'.join(FIELDS)}):.*$", re.MULTILINE)
#: ``(session#message, session#message)`` at the end of a line.
_SOURCES = re.compile(r"[ \t]*\([^()\s]+#[^()\n]*\)[ \t]*$", re.MULTILINE)
#: A word without a digit.
_PLAIN = re.compile(r"[^\W\d]+")
_NEGATIONS = frozenset(("not", "no", "never", "without", "nor", "neither", "none", "cannot", "t", "except", "unless"))
_NEGATING = re.compile("[不没沒别別无無未非勿]|ない|なく|ません|안|못|없")


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
    """The words of a passage in order, the pairs of successive ones, and who spoke (empty for a document)."""

    words: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    speaker: tuple[str, ...]

    def says(self, other: PassageContent) -> bool:
        """Whether both say the same."""
        if self.speaker and other.speaker and self.speaker != other.speaker:
            return False
        if min(len(self.words), len(other.words)) < _LEAST_WORDS:
            return False
        if self.words == other.words:
            return True
        small, large = sorted((len(self.pairs), len(other.pairs)))
        if min(len(self.words), len(other.words)) < _LEAST_NEARLY or small < _NEARLY * large:
            return False
        common = len(self.pairs & other.pairs)
        return common >= _NEARLY * (small + large - common) and _numbers_and_negations(
            self.words
        ) == _numbers_and_negations(other.words)


def passage_content(hit: HitLike) -> PassageContent:
    """What *hit* says, without what its file writes around it."""
    text = hit.text
    if hit.layer != "sessions":
        entry = parse_entry(text if text.endswith("\n") else text + "\n")
        text = entry.text if entry else _SOURCES.sub("", _BULLET.sub("", _FIELD_LINE.sub("", text)))
    words = tuple(_WORD.findall(index_text(text).casefold()))
    speaker = (hit.role, hit.name) if hit.layer == "sessions" else ()
    return PassageContent(words=words, pairs=frozenset(pairwise(words)), speaker=speaker)


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
        place = next((at for at in _candidates(said, known, equal) if known[at].says(said)), None)
        if place is not None:
            groups[place].append(hit)
            continue
        if len(groups) == wanted:
            break
        equal.setdefault(said.words, []).append(len(groups))
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
    yield from equal.get(said.words, ())
    yield from range(min(len(known), _COMPARED))


def _numbers_and_negations(words: Sequence[str]) -> list[str]:
    """The numbers and negations among *words*: one of them makes another statement of the same sentence."""
    return sorted(word for word in words if word in _NEGATIONS or not _PLAIN.fullmatch(word) or _NEGATING.search(word))
