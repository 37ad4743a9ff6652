"""Own the answers that a process keeps, each valid for the versions of the namespaces that it was made from.

The versions come from the database at every question. So an answer is never given again after another process changed,
shared or deleted something, and a write of this process drops the answers of its namespace at once.

The vector of a question does not change with the memories. It is kept apart, under a hash of the question, so that the
model is needed once for a question, however often the memories change.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Generic, TypeVar

from ..embedding.embedder import Vector

__all__ = ["AnswerCache", "CacheCounts"]

A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheCounts:
    """Numbers of questions since the process began.

    Attributes:
        hits: questions that an answer was kept for.
        misses: all others, and *known*, those of them whose vector was kept.
        found: questions whose answer had a memory, and *short_term*, those that short-term memory had one for.
        answers: answers that are kept.
    """

    hits: int
    misses: int
    known: int
    found: int
    short_term: int
    answers: int

    @property
    def hit_rate(self) -> float:
        """The share of questions whose answer was kept, 0 to 1. Without questions it is 0."""
        return self._share(self.hits)

    @property
    def known_rate(self) -> float:
        """The share of questions whose answer or vector was kept, 0 to 1. Without questions it is 0."""
        return self._share(self.hits + self.known)

    @property
    def short_term_rate(self) -> float:
        """The share of questions that short-term memory had a memory for, 0 to 1. Without questions it is 0."""
        return self._share(self.short_term)

    def _share(self, questions: int) -> float:
        asked = self.hits + self.misses
        return questions / asked if asked else 0.0


class AnswerCache(Generic[A]):
    """Answers by namespace and question. An object may be shared between threads."""

    def __init__(self, *, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._kept: OrderedDict[tuple[Hashable, Hashable], tuple[Hashable, datetime, A]] = OrderedDict()
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._hits = self._misses = self._known = self._found = self._short_term = 0

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

    def count_answer(self, *, found: bool, short_term: bool) -> None:
        """Count an answer: whether it *found* a memory, and whether one of *short_term* memory."""
        with self._lock:
            self._found += found
            self._short_term += short_term

    def get_vector(self, fingerprint: str, question: str) -> Vector | None:
        """Return the vector that the model with that *fingerprint* made of *question*, or ``None``. Count it."""
        key = _vector_key(fingerprint, question)
        with self._lock:
            found = self._vectors.get(key)
            if found is not None:
                self._vectors.move_to_end(key)
                self._known += 1
            return found

    def keep_vector(self, fingerprint: str, question: str, vector: Vector) -> None:
        """Keep the vector of *question*. The one that was needed least recently makes room."""
        key = _vector_key(fingerprint, question)
        with self._lock:
            self._vectors[key] = vector
            self._vectors.move_to_end(key)
            while len(self._vectors) > self._most:
                self._vectors.popitem(last=False)

    def drop(self, namespace: Hashable) -> None:
        """Drop the answers of *namespace*."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == namespace]:
                del self._kept[key]

    def counts(self) -> CacheCounts:
        """Return the numbers since the object was made."""
        with self._lock:
            return CacheCounts(
                hits=self._hits, misses=self._misses, known=self._known, found=self._found,
                short_term=self._short_term, answers=len(self._kept)
            )  # fmt: skip


def _vector_key(fingerprint: str, question: str) -> bytes:
    return hashlib.blake2b(f"{fingerprint}\0{question}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
