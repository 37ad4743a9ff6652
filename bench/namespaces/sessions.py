"""Run sessions from end to end: recorded, read, promoted when it is due, and then asked.

Each person of RealMem is a namespace, and every session comes at its own time. After each promotion, the share of
short-term memory is noted. Then the namespaces are copied, row by row in the database, until there are ten thousand
sessions, and questions of the same people are asked in all of them.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import LiteralString

from distill.namespaces.processing import process_messages
from distill.namespaces.promotion import promote_namespace
from distill.namespaces.recording import record_exchanges
from distill.namespaces.screening import NamespaceGuard
from recall.embedding.embedder import Embedder
from recall.namespaces.answer_cache import AnswerCache
from recall.namespaces.registry import NamespaceCounts, changed, count_rows, find_namespace
from recall.namespaces.retrieval import RetrievedMemories, retrieve
from recall.namespaces.schema import database
from recall.namespaces.settings import NamespaceSettings

from .conversations import questions_of, sessions_of

__all__ = ["AnswerCacheRow", "SessionsRow", "cache_rows", "run_sessions"]

SETTINGS = NamespaceSettings()
#: Columns of the tables that are copied, besides the namespace.
_COLUMNS: Mapping[LiteralString, LiteralString] = {
    "long_term_memory": "id, session, category, role, source, summary, words, importance, retention_type, said, made, "
    "messages, parts, merged_into, superseded_by, model, embedding",
    "memory_entities": "entity, memory",
    "short_term_memory": "memory, importance, recency_score, frequency_score, reason, promoted, expires_at",
    "chat_history": "id, session, message_id, source, user_name, agent_name, user_input, ai_output, said, "
    "utc_offset_s, recorded, digest, entities, held",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsRow:
    """Figures of what a run of sessions gave. Shares are of memories, times in milliseconds."""

    sessions: int
    namespaces: int
    memories: int
    short_term_mean: float
    short_term_largest: float
    promotions: int
    record_ms: float
    process_ms: float
    promote_p95: float
    p50: float
    p95: float
    essential: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCacheRow:
    """The share of questions that a kept answer was given to, for one way of asking."""

    pattern: str
    questions: int
    hit_rate: float


def run_sessions(url: str, data: Path, embedder: Embedder | None, *, people: int, copies: int) -> SessionsRow:
    """Run the sessions of the first *people*, copy their namespaces so often, and ask all of them.

    Raises:
        FileNotFoundError: the data is absent.
    """
    transcripts = sorted((data / "realmem").glob("*.transcript.jsonl.gz"))[:people]
    if not transcripts:
        raise FileNotFoundError(data / "realmem")
    run = _SessionsRun(url, embedder)
    for transcript in transcripts:
        run.play(transcript.name.partition(".")[0], transcript)
    for copy in range(1, copies):
        for name in list(run.ended):
            _copy(url, name, f"{name}-{copy}")
    names = [name if not copy else f"{name}-{copy}" for name in run.ended for copy in range(copies)]
    asked, essential = _ask(url, data, names, run.ended, embedder)
    cuts = statistics.quantiles(asked, n=20)
    return SessionsRow(
        sessions=run.sessions * copies, namespaces=len(names), memories=run.memories * copies,
        short_term_mean=statistics.fmean(run.shares), short_term_largest=max(run.shares), promotions=len(run.shares),
        record_ms=statistics.median(run.record_ms), process_ms=statistics.median(run.process_ms),
        promote_p95=statistics.quantiles(run.promote_ms, n=20)[18], p50=cuts[9], p95=cuts[18], essential=essential,
    )  # fmt: skip


class _SessionsRun:
    """One run of sessions, with the times of its steps in milliseconds."""

    def __init__(self, url: str, embedder: Embedder | None) -> None:
        self._url, self._embedder, self._guard = url, embedder, NamespaceGuard()
        self.record_ms: list[float] = []
        self.process_ms: list[float] = []
        self.promote_ms: list[float] = []
        self.shares: list[float] = []
        self.ended: dict[str, datetime] = {}
        self.sessions = self.memories = 0

    def play(self, name: str, transcript: Path) -> None:
        """Let the sessions of one person come at their times, and promote when it is due."""
        for session in sessions_of(transcript):
            now = max(said for one in session if (said := one.said) is not None)
            self._promote_until(name, now)
            for exchange in session:
                with _timed(self.record_ms):
                    record_exchanges(self._url, name, [exchange], guard=self._guard, now=now)
            with _timed(self.process_ms):
                process_messages(
                    self._url, name, settings=SETTINGS, embedder=self._embedder, guard=self._guard, now=now
                )
            self.process_ms[-1] /= len(session)
            self.ended[name] = now
            self.sessions += 1
        self._promote_until(name, self.ended[name] + timedelta(hours=SETTINGS.promote_every_h))
        self.memories += self._counts(name, self.ended[name]).memories

    def _promote_until(self, name: str, end: datetime) -> None:
        """Do the promotions that are due up to *end*, each at its own time."""
        while name in self.ended:
            due = self._counts(name, end).promote_after
            if due is None or due > end:
                return
            with _timed(self.promote_ms):
                promote_namespace(
                    self._url, name, settings=SETTINGS, embedder=self._embedder, guard=self._guard, now=due,
                    if_due=True,
                )  # fmt: skip
            counts = self._counts(name, due)
            self.shares.append(counts.short_term / max(1, counts.memories))

    def _counts(self, name: str, now: datetime) -> NamespaceCounts:
        with database(self._url) as conn:
            return count_rows(conn, find_namespace(conn, name), name, now)


def _ask(
    url: str, data: Path, names: Sequence[str], ended: Mapping[str, datetime], embedder: Embedder | None
) -> tuple[list[float], float]:
    """Ask each namespace questions of its person. Return milliseconds, and the share of answers with an essential."""
    chance = random.Random(3)  # noqa: S311 - a measurement that is repeated
    ms, essential = list[float](), 0
    for name in names:
        person = next(one for one in ended if name == one or name.startswith(f"{one}-"))
        questions = questions_of(data / "realmem" / f"{person}.queries.jsonl")
        for question in chance.sample(questions, min(20, len(questions))):
            with _timed(ms):
                found = retrieve(
                    url, name, question.query, settings=SETTINGS, embedder=embedder, now=ended[person], cache=None
                )
            essential += any(memory.essential for memory in found.memories)
    return ms, essential / len(ms)


def _copy(url: str, name: str, other: str) -> None:
    """Copy the namespace *name* to *other*. Memories keep their numbers, which belong to the namespace."""
    with database(url) as conn:
        namespace = find_namespace(conn, name)
        row = conn.execute(
            "INSERT INTO agent_memory.namespaces(name, appearance, made) VALUES(%s, %s, now()) RETURNING id",
            (other, other),
        ).fetchone()
        assert row is not None
        for table, columns in _COLUMNS.items():
            target: LiteralString = "INSERT INTO agent_memory." + table + "(namespace, " + columns + ") "
            source: LiteralString = "SELECT %s, " + columns + " FROM agent_memory." + table  # noqa: S608 - constants
            conn.execute(target + source + " WHERE namespace = %s", (row[0], namespace))


def cache_rows(url: str, name: str, questions: Sequence[str], embedder: Embedder | None) -> Iterator[AnswerCacheRow]:
    """Ask in several ways, each with an empty cache, and yield how often an answer was given again.

    A turn of a crew is one question that each of its agents asks, before what they say is read as memory.
    """
    chance = random.Random(5)  # noqa: S311 - a measurement that is repeated
    turns = list(questions[:60])
    ways: dict[str, list[tuple[str, bool]]] = {
        f"a crew of {size}, memory changes after every turn": [
            (turn, agent == size - 1) for turn in turns for agent in range(size)
        ]
        for size in (3, 5)
    }
    ranks = [1 / (place + 1) for place in range(len(turns))]
    ways["one agent, questions by rank, memory changes every 20th time"] = [
        (question, number % 20 == 19) for number, question in enumerate(chance.choices(turns, ranks, k=600))
    ]
    ways["one agent that never repeats itself"] = [(turn, False) for turn in turns]
    for pattern, asked in ways.items():
        cache = AnswerCache[RetrievedMemories](most=SETTINGS.cache_answers)
        for question, changes in asked:
            retrieve(url, name, question, settings=SETTINGS, embedder=embedder, now=datetime.now(UTC), cache=cache)
            if changes:
                with database(url) as conn:
                    changed(conn, find_namespace(conn, name))
        yield AnswerCacheRow(pattern=pattern, questions=len(asked), hit_rate=cache.counts().hit_rate)


@contextmanager
def _timed(ms: list[float]) -> Iterator[None]:
    started = time.perf_counter()
    yield
    ms.append((time.perf_counter() - started) * 1000)
