"""Run sessions from end to end: asked, recorded, read, and promoted when it is due.

Each conversation is a namespace, and every session comes at its own time. Before an exchange is recorded, its first
words are asked for, as an agent does before it answers. Short-term memory hits when the answer has a memory from it.
After each promotion, the share of short-term memory is noted. Then the namespaces of RealMem are copied, row by row in
the database, until there are ten thousand sessions, and questions of the same people are asked in all of them.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import LiteralString

from distill.namespaces.processing import process_messages
from distill.namespaces.promotion import promote_namespace
from distill.namespaces.recording import SaidExchange, record_exchanges
from distill.namespaces.screening import NamespaceGuard
from recall.embedding.embedder import Embedder
from recall.namespaces.answer_cache import AnswerCache
from recall.namespaces.registry import NamespaceCounts, changed, count_rows, find_namespace
from recall.namespaces.retrieval import RecalledMemory, RetrievedMemories, retrieve
from recall.namespaces.schema import database
from recall.namespaces.settings import NamespaceSettings

from .conversations import golds_of, questions_of, sessions_of, turns_of

__all__ = ["AnswerCacheRow", "SessionsRow", "ShortTermRow", "cache_rows", "run_sessions"]

SETTINGS = NamespaceSettings()
_WITHOUT = replace(SETTINGS, essential=0)
#: Conversations on which the choice for short-term memory was made, or the curves of relevance.
CHOSEN_ON = ("adeleke-okonjo", "ethan-hunt", "conv-26", "conv-30", "conv-42", "chat01")
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
    promoted: int
    record_ms: float
    process_ms: float
    promote_p95: float
    p50: float
    p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortTermRow:
    """Shares of questions that short-term memory had a memory for, in the conversations of one *half* of a source.

    Attributes:
        hits: of all questions.
        fitting: of those that any memory fits.
        first: of the first questions of sessions.
        earlier: of all questions, those that have a memory of an earlier session from it.
        golds: questions whose gold turns are known, and the share of these turns in five memories, with short-term
            memory and without it.
    """

    source: str
    half: str
    questions: int
    hits: float
    fitting: float
    first: float
    earlier: float
    golds: int
    gold: float
    gold_without: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCacheRow:
    """The share of questions that a kept answer was given to, for one way of asking, and that needed no model."""

    pattern: str
    questions: int
    hit_rate: float
    known_rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredExchange:
    """The answer of the memories to the first words of an exchange. *gold* is ``None`` where it is not known."""

    first: bool
    found: bool
    hit: bool
    earlier: bool
    gold: float | None
    gold_without: float | None


def run_sessions(
    url: str, data: Path, embedder: Embedder | None, *, people: int, copies: int, fill: bool
) -> tuple[SessionsRow, list[ShortTermRow]]:
    """Run the sessions of the first *people* and of two other sources, copy the people so often, and ask all of them.

    Without *fill*, short-term memory has what passes the thresholds, and nothing else.

    Raises:
        FileNotFoundError: the data is absent.
    """
    transcripts = sorted((data / "realmem").glob("*.transcript.jsonl.gz"))[:people]
    if not transcripts:
        raise FileNotFoundError(data / "realmem")
    run = _SessionsRun(url, embedder, fill=fill)
    for transcript in transcripts:
        run.play(_name(transcript), transcript)
    asked = dict(run.asked)
    for source in ("locomo", "realtalk"):
        others = _SessionsRun(url, embedder, fill=fill)
        for transcript in sorted((data / source).glob("*.transcript.jsonl")):
            others.play(_name(transcript), transcript)
        asked |= others.asked
    for copy in range(1, copies):
        for name in list(run.ended):
            _copy(url, name, f"{name}-{copy}")
    names = [name if not copy else f"{name}-{copy}" for name in run.ended for copy in range(copies)]
    cuts = statistics.quantiles(_ask(url, data, names, run.ended, embedder), n=20)
    row = SessionsRow(
        sessions=run.sessions * copies, namespaces=len(names), memories=run.memories * copies,
        short_term_mean=statistics.fmean(run.shares), short_term_largest=max(run.shares), promotions=run.promotions,
        promoted=run.promoted, record_ms=statistics.median(run.record_ms),
        process_ms=statistics.median(run.process_ms), promote_p95=statistics.quantiles(run.promote_ms, n=20)[18],
        p50=cuts[9], p95=cuts[18],
    )  # fmt: skip
    return row, _short_term_rows(asked)


def _name(transcript: Path) -> str:
    return transcript.name.partition(".")[0]


def _short_term_rows(asked: Mapping[tuple[str, str], list[AnsweredExchange]]) -> list[ShortTermRow]:
    halves: dict[tuple[str, str], list[AnsweredExchange]] = {}
    for (source, name), answers in asked.items():
        halves.setdefault((source, "chosen on" if name in CHOSEN_ON else "unseen"), []).extend(answers)
    rows = []
    for (source, half), answers in sorted(halves.items()):
        golds = [one for one in answers if one.gold is not None]
        rows.append(ShortTermRow(
            source=source, half=half, questions=len(answers), hits=_share(one.hit for one in answers),
            fitting=_share(one.hit for one in answers if one.found),
            first=_share(one.hit for one in answers if one.first), earlier=_share(one.earlier for one in answers),
            golds=len(golds), gold=_share(one.gold or 0.0 for one in golds),
            gold_without=_share(one.gold_without or 0.0 for one in golds),
        ))  # fmt: skip
    return rows


def _share(values: Iterable[float]) -> float:
    found = list(values)
    return statistics.fmean(found) if found else 0.0


class _SessionsRun:
    """One run of sessions of one source, with the times of its steps in milliseconds."""

    def __init__(self, url: str, embedder: Embedder | None, *, fill: bool) -> None:
        self._url, self._embedder, self._guard = url, embedder, NamespaceGuard()
        self._settings = replace(SETTINGS, fill=fill)
        self.record_ms: list[float] = []
        self.process_ms: list[float] = []
        self.promote_ms: list[float] = []
        self.shares: list[float] = []
        self.ended: dict[str, datetime] = {}
        self.asked: dict[tuple[str, str], list[AnsweredExchange]] = {}
        self.sessions = self.memories = self.promoted = self.promotions = 0

    def play(self, name: str, transcript: Path) -> None:
        """Let the sessions of one conversation come at their times, and promote when it is due."""
        golds = golds_of(transcript.with_name(f"{name}.queries.jsonl"))
        answers = self.asked.setdefault((transcript.parent.name, name), [])
        for session in sessions_of(transcript):
            for place, exchange in enumerate(session):
                now = exchange.said
                assert now is not None
                self._promote_until(name, now)
                if name in self.ended and (question := exchange.user_input or exchange.ai_output).strip():
                    answers.append(self._answered(name, question, exchange, golds, first=place == 0, now=now))
                with _timed(self.record_ms):
                    record_exchanges(self._url, name, [exchange], guard=self._guard, now=now)
                with _timed(self.process_ms):
                    process_messages(
                        self._url, name, settings=self._settings, embedder=self._embedder, guard=self._guard, now=now
                    )
                self.ended[name] = max(now, self.ended.get(name, now))
            self.sessions += 1
        self._promote_until(name, self.ended[name] + timedelta(hours=SETTINGS.promote_every_h))
        self.memories += self._counts(name, self.ended[name]).memories

    def _answered(
        self, name: str, question: str, exchange: SaidExchange, golds: Mapping[str, frozenset[str]], *, first: bool,
        now: datetime,
    ) -> AnsweredExchange:  # fmt: skip
        """Ask for what an exchange begins with."""
        gold = frozenset[str]().union(
            *(golds.get(turn, ()) for turn in turns_of(f"{exchange.session}#{exchange.message_id}"))
        )
        found = retrieve(self._url, name, question, settings=self._settings, embedder=self._embedder, now=now).memories
        plain = (
            retrieve(self._url, name, question, settings=_WITHOUT, embedder=self._embedder, now=now).memories
            if gold else ()
        )  # fmt: skip
        return AnsweredExchange(
            first=first, found=bool(found), hit=any(one.essential for one in found),
            earlier=any(one.essential and one.session != exchange.session for one in found),
            gold=_gold_share(found, gold), gold_without=_gold_share(plain, gold),
        )  # fmt: skip

    def _promote_until(self, name: str, end: datetime) -> None:
        """Do the promotions that are due up to *end*, each at its own time, or when the last exchange was read."""
        while name in self.ended:
            due = self._counts(name, end).promote_after
            if due is None or due > end:
                return
            due = max(due, self.ended[name])  # after a pause it is due at once, and not before what was read
            with _timed(self.promote_ms):
                done = promote_namespace(
                    self._url, name, settings=self._settings, embedder=self._embedder, guard=self._guard, now=due,
                    if_due=True,
                )  # fmt: skip
            self.promoted += len(done.promoted)
            counts = self._counts(name, due)
            if counts.memories * SETTINGS.short_term_share >= SETTINGS.short_term_least:
                self.shares.append(counts.short_term / counts.memories)
            self.promotions += 1

    def _counts(self, name: str, now: datetime) -> NamespaceCounts:
        with database(self._url) as conn:
            return count_rows(conn, find_namespace(conn, name), name, now)


def _gold_share(memories: Sequence[RecalledMemory], gold: frozenset[str]) -> float | None:
    if not gold:
        return None
    turns = {turn for memory in memories for source in memory.sources for turn in turns_of(source)}
    return len(gold & turns) / len(gold)


def _ask(
    url: str, data: Path, names: Sequence[str], ended: Mapping[str, datetime], embedder: Embedder | None
) -> list[float]:
    """Ask each namespace questions of its person. Return milliseconds."""
    chance = random.Random(3)  # noqa: S311 - a measurement that is repeated
    ms = list[float]()
    for name in names:
        person = next(one for one in ended if name == one or name.startswith(f"{one}-"))
        questions = questions_of(data / "realmem" / f"{person}.queries.jsonl")
        for question in chance.sample(questions, min(20, len(questions))):
            with _timed(ms):
                retrieve(url, name, question.query, settings=SETTINGS, embedder=embedder, now=ended[person], cache=None)
    return ms


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
        counts = cache.counts()
        yield AnswerCacheRow(
            pattern=pattern, questions=len(asked), hit_rate=counts.hit_rate, known_rate=counts.known_rate
        )  # fmt: skip


@contextmanager
def _timed(ms: list[float]) -> Iterator[None]:
    started = time.perf_counter()
    yield
    ms.append((time.perf_counter() - started) * 1000)
