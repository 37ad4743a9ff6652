"""Time retrieval over very many small namespaces, whose rows are made set-wise.

Texts and vectors come from a pool. A text is a few words whose frequencies fall as in a language, and vectors of the
pool lie around common directions. The memories of a namespace are written one after the other over all namespaces, so
the rows of one namespace lie far apart, as they do after months of use. A question is made of words of one memory and
lies near its vector.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from recall.embedding.embedder import Vector
from recall.namespaces.memories import vector_text
from recall.namespaces.retrieval import RetrievedMemories, retrieve
from recall.namespaces.schema import DIMENSION, database
from recall.namespaces.settings import NamespaceSettings
from recall.namespaces.words import word_vector

__all__ = ["Latency", "SyntheticPool", "fill", "made_pool", "stored_bytes", "timed_retrievals"]

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
#: Distinct memories, directions, words of the language and words of a text.
_POOL, _DIRECTIONS, _WORDS, _LENGTH = 20_000, 400, 30_000, (8, 18)
#: Share of a direction in a vector, and of the memory in the vector of a question about it.
_NEAR, _ASKED = 0.6, 0.7
#: Short-term memories of a namespace of fifty.
_SHORT_TERM = 2
#: Memories of every namespace that are written in one transaction.
_AT_ONCE = 10
_FINGERPRINT = "bench:synthetic"
_MAKE = """
INSERT INTO agent_memory.namespaces(name, appearance, made)
SELECT 'bench-' || n, 'bench-' || n, %s FROM generate_series(1, %s) n
"""
_FILL = """
INSERT INTO agent_memory.long_term_memory(
    namespace, session, category, role, source, summary, words, importance, said, made, messages, model, embedding)
SELECT n.id, 's', 'fact', 'user', 'user', p.summary, p.words, (k %% 10) / 10.0, %(now)s - k * interval '1 day',
       %(now)s, '{}', %(model)s, p.embedding
FROM generate_series(%(first)s::int, %(last)s::int) k CROSS JOIN agent_memory.namespaces n
JOIN bench_pool p ON p.id = (n.id * 7919 + k * 104729) %% %(pool)s
ORDER BY k
"""
_PROMOTE = """
INSERT INTO agent_memory.short_term_memory
SELECT namespace, id, importance, 1, 4, 'rule', %(now)s, %(now)s + interval '1 day'
FROM (SELECT *, row_number() OVER (PARTITION BY namespace ORDER BY importance DESC, id) AS place
      FROM agent_memory.long_term_memory) m WHERE place <= %(most)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticPool:
    """Texts and unit vectors (n, DIMENSION) of the memories that namespaces share."""

    texts: tuple[str, ...]
    vectors: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Milliseconds of *n* retrievals, and the share that found the memory asked for."""

    what: str
    n: int
    p50: float
    p95: float
    p99: float
    found: float


class _GivenVectors:
    """An embedder that has the vector of each question already, so that the model's own time is not measured."""

    name = fingerprint = _FINGERPRINT
    dimension = DIMENSION

    def __init__(self) -> None:
        self.questions: dict[str, Vector] = {}

    def embed(self, texts: Sequence[str]) -> Vector:
        return np.stack([self.questions[text] for text in texts])

    def embed_query(self, text: str) -> Vector:
        return self.questions[text]


def made_pool(seed: int = 7) -> SyntheticPool:
    """Return the pool, the same for every run."""
    rng = np.random.default_rng(seed)
    directions = _unit(rng.normal(size=(_DIRECTIONS, DIMENSION)))
    own = _unit(rng.normal(size=(_POOL, DIMENSION)))
    vectors = _unit(_NEAR * directions[rng.integers(_DIRECTIONS, size=_POOL)] + (1 - _NEAR) * own)
    ranks = np.arange(1, _WORDS + 1)
    shares = (1 / ranks) / (1 / ranks).sum()
    lengths = rng.integers(*_LENGTH, size=_POOL)
    texts = (" ".join(f"w{word}" for word in rng.choice(_WORDS, size=length, p=shares)) for length in lengths)
    return SyntheticPool(texts=tuple(texts), vectors=vectors.astype(np.float32))


def fill(url: str, pool: SyntheticPool, *, namespaces: int, memories: int) -> float:
    """Make *namespaces* with so many *memories* each, and return the seconds that it took."""
    started = time.perf_counter()
    with database(url) as conn:
        model = conn.execute(
            "INSERT INTO agent_memory.embedding_models(fingerprint) VALUES(%s) RETURNING id", (_FINGERPRINT,)
        ).fetchone()
        assert model is not None
        conn.execute("CREATE TABLE bench_pool(id INT PRIMARY KEY, summary TEXT, words TSVECTOR, embedding HALFVEC)")
        with conn.cursor() as cursor, cursor.copy("COPY bench_pool FROM STDIN") as copy:
            for place, (text, vector) in enumerate(zip(pool.texts, pool.vectors, strict=True)):
                copy.write_row((place, text, word_vector(text), vector_text(vector)))
        conn.execute(_MAKE, (NOW, namespaces))
    given = {"now": NOW, "model": model[0], "pool": len(pool.texts), "most": _SHORT_TERM}
    for first in range(1, memories + 1, _AT_ONCE):
        with database(url) as conn:
            conn.execute(_FILL, {**given, "first": first, "last": min(first + _AT_ONCE - 1, memories)})
    with database(url) as conn:
        conn.execute(_PROMOTE, given)
    with database(url) as conn:
        conn.commit()
        conn.autocommit = True
        conn.execute("VACUUM (ANALYZE) agent_memory.long_term_memory")
        conn.autocommit = False
    return time.perf_counter() - started


def stored_bytes(url: str) -> int:
    """Return the bytes of the tables with their indexes."""
    with database(url) as conn:
        found = conn.execute(
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c "
            "WHERE relnamespace = 'agent_memory'::regnamespace AND relkind = 'r'"
        ).fetchone()
    assert found is not None
    return int(found[0])


def timed_retrievals(
    url: str, pool: SyntheticPool, *, namespaces: int, memories: int, questions: int, threads: int, seed: int
) -> Latency:
    """Ask *questions*, each of a namespace at random, by so many *threads* at once."""
    rng = np.random.default_rng(seed)
    embedder = _GivenVectors()
    asked = list(_questions(rng, pool, embedder, namespaces=namespaces, memories=memories, questions=questions))
    settings = NamespaceSettings()

    def ask(one: tuple[str, str, str]) -> tuple[float, bool]:
        name, question, wanted = one
        started = time.perf_counter()
        found: RetrievedMemories = retrieve(
            url, name, question, settings=settings, embedder=embedder, now=NOW, cache=None
        )  # fmt: skip
        return (time.perf_counter() - started) * 1000, any(memory.summary == wanted for memory in found.memories)

    ask(asked[0])  # the first one opens the pool of connections
    with ThreadPoolExecutor(threads) as workers:
        done = list(workers.map(ask, asked))
    ms = [spent for spent, _ in done]
    cuts = statistics.quantiles(ms, n=100)
    return Latency(
        what=f"{threads} at once" if threads > 1 else "one after the other", n=len(ms), p50=cuts[49], p95=cuts[94],
        p99=cuts[98], found=sum(hit for _, hit in done) / len(done),
    )  # fmt: skip


def _questions(
    rng: np.random.Generator,
    pool: SyntheticPool,
    embedder: _GivenVectors,
    *,
    namespaces: int,
    memories: int,
    questions: int,
) -> Iterator[tuple[str, str, str]]:
    """Yield the namespace, the question and the text of the memory that it is about."""
    chance = random.Random(int(rng.integers(1 << 30)))  # noqa: S311 - a measurement that is repeated
    for number in range(questions):
        namespace, k = chance.randint(1, namespaces), chance.randint(1, memories)
        place = (namespace * 7919 + k * 104729) % len(pool.texts)
        words = chance.sample(pool.texts[place].split(), 4)
        question = f"{' '.join(words)} q{number}"
        noise = _unit(rng.normal(size=(1, DIMENSION)))[0]
        embedder.questions[question] = _unit((_ASKED * pool.vectors[place] + (1 - _ASKED) * noise)[None])[0].astype(
            np.float32
        )
        yield f"bench-{namespace}", question, pool.texts[place]


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return found
