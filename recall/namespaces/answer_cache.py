"""Own the answers that a process keeps, each valid for the versions of the namespaces that it was made from.

The versions come from the database at every question. So an answer is never given again after another process changed,
shared or deleted something, and a write of this process drops the answers of its namespace at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["AnswerCache", "CacheCounts"]

A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheCounts:
    """Numbers of questions that an answer was kept for (*hits*) and of all others (*misses*), and of kept answers."""

    hits: int
    misses: int
    answers: int

    @property
    def hit_rate(self) -> float:
        """The share of hits, 0 to 1. Without questions it is 0."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0


class AnswerCache(Generic[A]):
    """Answers by namespace and question. An object may be shared between threads."""

    def __init__(self, *, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._kept: OrderedDict[tuple[Hashable, Hashable], tuple[Hashable, datetime, A]] = OrderedDict()
        self._hits = self._misses = 0

    def get(self, namespace: Hashable, question: Hashable, versions: Hashable, now: datetime) -> A | None:
        """Return the answer to *question* that was made from these *versions*, or ``None``. Count a hit or a miss."""
        key = namespace, question
        with self._lock:
            found = self._kept.get(key)
            if found is not None and found[0] == versions and now < found[1]:
                self._kept.move_to_end(key)
                self._hits += 1
                return found[2]
            self._kept.pop(key, None)
            self._misses += 1
            return None

    def keep(self, namespace: Hashable, question: Hashable, versions: Hashable, answer: A, until: datetime) -> None:
        """Keep *answer* before the time *until*. The answer that was asked for least recently makes room."""
        with self._lock:
            self._kept[namespace, question] = versions, until, answer
            self._kept.move_to_end((namespace, question))
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def drop(self, namespace: Hashable) -> None:
        """Drop the answers of *namespace*."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == namespace]:
                del self._kept[key]

    def counts(self) -> CacheCounts:
        """Return the numbers since the object was made."""
        with self._lock:
            return CacheCounts(hits=self._hits, misses=self._misses, answers=len(self._kept))
