"""Measure whether the five memories of an answer come from the turns that answer the question.

The conversations are those of LoCoMo. Constants were chosen on the first two, and the others are unseen. An answer has
a gold turn if one of its memories was read from the exchange with that turn. The baselines return whole exchanges, the
last five, or the best five by FTS5 with the words of the question, which is more text than five memories.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from agent_home.tokens import count_tokens
from distill.namespaces.processing import process_messages
from distill.namespaces.promotion import promote_namespace
from distill.namespaces.recording import SaidExchange, record_exchanges
from distill.namespaces.screening import NamespaceGuard
from recall.embedding.embedder import Embedder
from recall.namespaces.retrieval import retrieve
from recall.namespaces.settings import NamespaceSettings

from ..measure.bootstrap import Bootstrap, Interval
from .conversations import AskedQuestion, exchanges_of, questions_of, turns_of

__all__ = ["CHOSEN_ON", "QualityRow", "quality_rows"]

#: Conversations on which the weights, the curves of relevance and the least importance were chosen.
CHOSEN_ON = ("conv-26", "conv-30")
_LIMIT = 5
_NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)

#: Of a question, the addresses of turns, and the tokens of the answer.
_Answer = tuple[set[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRow:
    """The mean share of gold turns in answers, for one system on one half of the conversations."""

    half: str
    system: str
    questions: int
    share: Interval
    tokens: float


def quality_rows(url: str, data: Path, embedder: Embedder | None) -> Iterator[QualityRow]:
    """Record and read all conversations in the database at *url*, and yield the rows of both halves.

    Raises:
        FileNotFoundError: the data is absent.
    """
    transcripts = sorted((data / "locomo").glob("*.transcript.jsonl"))
    if not transcripts:
        raise FileNotFoundError(data / "locomo")
    guard, settings = NamespaceGuard(), NamespaceSettings()
    found: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for transcript in transcripts:
        name = transcript.name.partition(".")[0]
        exchanges = exchanges_of(transcript)
        record_exchanges(url, name, exchanges, guard=guard, now=_NOW)
        process_messages(url, name, settings=settings, embedder=embedder, guard=guard, now=_NOW)
        questions = questions_of(transcript.with_name(f"{name}.queries.jsonl"))
        half = "chosen on" if name in CHOSEN_ON else "unseen"
        systems: dict[str, Callable[[str], _Answer]] = {
            "last five exchanges": _last(exchanges),
            "FTS5, words alone, five exchanges": _by_words(exchanges),
            "five memories by words": _retrieved(url, name, None, settings),
            "five memories": _retrieved(url, name, embedder, settings),
        }
        for system, answer in systems.items():
            found.setdefault((half, system), []).extend(_judged(questions, answer))
        promote_namespace(url, name, settings=settings, embedder=embedder, guard=guard, now=_NOW)
        merged = _retrieved(url, name, embedder, settings)
        found.setdefault((half, "five memories, after merging"), []).extend(_judged(questions, merged))
    for (half, system), judged in sorted(found.items(), key=lambda item: item[0][0]):
        shares = [share for share, _ in judged]
        yield QualityRow(
            half=half, system=system, questions=len(judged), share=Bootstrap(len(shares)).interval(shares),
            tokens=sum(tokens for _, tokens in judged) / len(judged),
        )  # fmt: skip


def _judged(questions: Sequence[AskedQuestion], answer: Callable[[str], _Answer]) -> Iterator[tuple[float, int]]:
    for question in questions:
        turns, tokens = answer(question.query)
        yield len(question.gold & turns) / len(question.gold), tokens


def _retrieved(url: str, name: str, embedder: Embedder | None, settings: NamespaceSettings) -> Callable[[str], _Answer]:
    def answer(question: str) -> _Answer:
        found = retrieve(url, name, question, settings=settings, embedder=embedder, now=_NOW, cache=None)
        return {
            turn for memory in found.memories for source in memory.sources for turn in turns_of(source)
        }, found.tokens

    return answer


def _last(exchanges: Sequence[SaidExchange]) -> Callable[[str], _Answer]:
    last = list(exchanges[-_LIMIT:])
    return lambda _question: (set().union(*map(_turns, last)), sum(map(_tokens, last)))


def _by_words(exchanges: Sequence[SaidExchange]) -> Callable[[str], _Answer]:
    conn = apsw.Connection(":memory:")
    conn.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter unicode61')")
    conn.executemany("INSERT INTO t(rowid, body) VALUES(?, ?)", enumerate(map(_text, exchanges)))

    def answer(question: str) -> _Answer:
        match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        rows = conn.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?", (match, _LIMIT))
        best = [exchanges[place] for (place,) in rows]
        return set().union(*map(_turns, best)), sum(map(_tokens, best))

    return answer


def _turns(exchange: SaidExchange) -> set[str]:
    return turns_of(f"{exchange.session}#{exchange.message_id}")


def _text(exchange: SaidExchange) -> str:
    return f"{exchange.user_name}: {exchange.user_input}\n{exchange.agent_name}: {exchange.ai_output}"


def _tokens(exchange: SaidExchange) -> int:
    return count_tokens(_text(exchange))
