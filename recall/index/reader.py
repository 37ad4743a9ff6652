"""The interface between a search and the index that it reads, wherever that is.

Ranking is the same code for every index (``recall.search``). A reader gives it candidates and their features: passages
by words and by vectors, context windows, texts, and links between entries. ``recall.index.sqlite`` reads the file of a
home, and ``recall.index.postgresql`` a database. ``tests/recall/index/test_store_conformance.py`` holds both to this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from .context_window import ContextWindows

__all__ = [
    "EntryRow",
    "IndexReader",
    "IndexUnreadable",
    "Nearest",
    "PassageRow",
    "Scope",
    "SearchLate",
    "TurnRow",
    "VocabularyEntry",
]

_Answer = TypeVar("_Answer")
#: Address, path, text, time, session, name, role, heading and layer of a passage.
PassageRow: TypeAlias = tuple[str, str, str, str, str, str, str, str, str]
#: Address, text, time, heading, layer and path of an entry.
EntryRow: TypeAlias = tuple[str, str, str, str, str, str]
#: File, path, address, ordinal, text, session, name, role and time of a passage of a turn.
TurnRow: TypeAlias = tuple[int, str, str, int, str, str, str, str, str]


class IndexUnreadable(Exception):
    """The index cannot be read now. The text is the note of a search without it."""


class SearchLate(Exception):
    """A deadline passed while the index was asked."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A restriction of a search: *layers* by code, *files* as a JSON list of ids. ``None`` means all."""

    layers: tuple[int, ...] | None = None
    files: str | None = None


@dataclass(frozen=True, slots=True)
class VocabularyEntry:
    """An expression's words in order, and the numbers of passages that have them in their text and in their heading."""

    codes: tuple[int, ...]
    having: int
    headed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """Cosines of the nearest vectors, best first: of passages, and of turns with their neighbours.

    *files* has the best cosine of each file, in no order.
    """

    passages: Mapping[int, float] = field(default_factory=dict)
    windows: Mapping[int, float] = field(default_factory=dict)
    files: Mapping[int, float] = field(default_factory=dict)


class IndexReader(Protocol):
    """One state of the index of one home. A reader is used by one thread.

    Expressions are those of :attr:`recall.text.terms.Query.spellings`: words in quotation marks, or a prefix with a
    star behind them. Passages and files are known by numbers, which another state may give to others.
    """

    @property
    def resident(self) -> bool:
        """Return whether the process has the passages in memory, so that no question takes long."""

    def description(self) -> dict[str, str]:
        """Return what the index records of itself, such as the model of its vectors."""

    def within(self, deadline_ms: float) -> AbstractContextManager[None]:
        """Let the questions of the block take *deadline_ms* milliseconds together.

        Raises:
            SearchLate: they took longer.
        """

    def totals(self) -> tuple[int, int]:
        """Return the number of passages, and of words in their texts."""

    def pending(self) -> int:
        """Return the number of passages that have no vector yet."""

    def vocabulary(self, expressions: Iterable[str]) -> Mapping[str, Sequence[VocabularyEntry]]:
        """Return the entries for each of *expressions*. A prefix has several, and an unknown word may have none."""

    def best_passages(self, expressions: Sequence[str], limit: int, scope: Scope) -> dict[int, float]:
        """Return the *limit* passages in *scope* with the best BM25 for *expressions*, best first, and the scores."""

    def best_files(self, expressions: Sequence[str], limit: int) -> dict[int, float]:
        """Return the *limit* files with the best BM25 for *expressions*, best first, with their scores."""

    def nearest(self, vector: npt.NDArray[np.float32], scope: Scope, limit: int, *, keep: bool = False) -> Nearest:
        """Return the *limit* passages, and turns with neighbours, in *scope* whose vectors are nearest to *vector*.

        With *keep*, vectors may stay in memory for the next search.
        """

    def windows(self, passages: Sequence[int]) -> ContextWindows:
        """Return the context windows that hold *passages*, in order of file and number."""

    def texts(self, passages: Sequence[int]) -> Mapping[int, PassageRow]:
        """Return the rows of *passages* that the index has."""

    def passages_at(self, source: str) -> Sequence[tuple[str, str, str, str, str, str, str, str]]:
        """Return text, time, session, name, role, heading, layer and path of all passages at an address, in order."""

    def turns(self, sources: Collection[str]) -> Sequence[TurnRow]:
        """Return the passages of the turns at *sources* and of those beside them, in order of file and ordinal."""

    def files(self) -> Iterable[tuple[int, str]]:
        """Return number and path of every file."""

    def file_numbers(self, paths: Collection[str]) -> dict[str, int]:
        """Return the numbers of those of *paths* that the index has."""

    def has_links(self) -> bool:
        """Return whether an entry may supersede another one. ``True`` may be wrong, ``False`` is not."""

    def linking_texts(self, passages: Sequence[int]) -> Sequence[str]:
        """Return the texts of those of *passages* that link entries."""

    def named(self, passages: Sequence[int], names: Collection[str]) -> Sequence[tuple[int, str]]:
        """Return those of *passages* whose address ends with one of *names*, and that name."""

    def entry_texts(self, *, ended: bool) -> Sequence[str]:
        """Return the texts of all entries that link entries. With *ended*, also of those that have a state."""

    def entry(self, entry_id: str) -> EntryRow | None:
        """Return the entry with this id, a live one rather than an archived one."""

    def remembered(self, kind: str, keys: Iterable[Hashable]) -> dict[Any, Any]:
        """Return what earlier searches of this state remembered of *keys*, by key."""

    def remember(self, kind: str, found: Mapping[Any, Any]) -> None:
        """Keep what a search read, by key, for the next searches of this state, if the process has memory for it."""

    def answered(self, kind: str, key: Hashable, answer: Callable[[], _Answer]) -> _Answer:
        """Return *answer* to the question *key*, or the same one as last time. It must not be changed."""
