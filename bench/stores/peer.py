"""The same conversations in a peer's server store: LangGraph's PostgreSQL store, with the same model's vectors."""

from __future__ import annotations

import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agent_home.clock import now
from agent_home.creation import create
from recall.embedding.embedder import Embedder
from recall.evaluation.metrics import EvalCase, measure
from recall.index.store_choice import choose_namespace
from recall.index.sync import sync
from recall.postgres.connections import close_pools
from recall.search.hybrid import search
from recall.settings import RecallSettings

from ..measure.datasets import fill, homes_of

__all__ = ["HEAD", "peer_rows"]

HEAD = ("LoCoMo turns in PostgreSQL", "frac@5", "frac@10", "p50 / p95 ms", "filled in s, vectors known")
_SET = "locomo"
#: Items that LangGraph's store gets at once.
_BATCH = 200


def peer_rows(data: Path, embedder: Embedder, url: str, most: int) -> list[Sequence[str]]:
    """Return a row for each store. At most *most* questions are asked, spread evenly."""
    (one,) = homes_of(_SET, data)
    every = [question for half in one.halves.values() for question in half]
    questions = every[:: max(1, len(every) // most)][:most]
    rows: list[Sequence[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        home = create(Path(folder) / "home", name="bench", now=now()).home
        texts = fill(home, one)
        embedder.embed(list(texts.values()))  # so that no store's time has the model's
        choose_namespace(home, uuid.uuid4().hex)
        start = time.perf_counter()
        sync(home, RecallSettings(), embedder)
        filled = time.perf_counter() - start
        for name, mode in (("ours, hybrid", "hybrid"), ("ours, vectors alone", "vector")):

            def ours(question: str, mode: Any = mode) -> list[str]:
                found = search(home, question, settings=RecallSettings(), embedder=embedder, mode=mode)
                return [hit.source for hit in found.hits]

            rows.append(_row(name, questions, ours, filled))
    close_pools()
    return [*rows, _langgraph(texts, questions, embedder, url)]


def _langgraph(texts: dict[str, str], questions: Sequence[EvalCase], embedder: Embedder, url: str) -> Sequence[str]:
    from langgraph.store.base import PutOp
    from langgraph.store.postgres import PostgresStore

    def vectors(asked: Sequence[str]) -> list[list[float]]:
        if len(asked) == 1:
            return [embedder.embed_query(asked[0]).tolist()]
        return [vector.tolist() for vector in embedder.embed(list(asked))]

    index: Any = {"dims": embedder.dimension, "embed": vectors, "fields": ["text"]}
    with PostgresStore.from_conn_string(url, index=index) as store:
        store.setup()
        start = time.perf_counter()
        items = list(texts.items())
        for at in range(0, len(items), _BATCH):
            store.batch([PutOp(("locomo",), source, {"text": text}) for source, text in items[at : at + _BATCH]])
        filled = time.perf_counter() - start

        def theirs(question: str) -> list[str]:
            return [item.key for item in store.search(("locomo",), query=question, limit=10)]

        return _row("LangGraph's PostgresStore", questions, theirs, filled)


def _row(name: str, questions: Sequence[EvalCase], find: Callable[[str], list[str]], filled: float) -> Sequence[str]:
    times, scores = [], []
    for number, question in enumerate([*questions[:10], *questions]):
        start = time.perf_counter()
        found = find(question.query)
        if number >= 10:
            times.append((time.perf_counter() - start) * 1000)
            scores.append(measure(found, list(question.expect), (5, 10)))
    cuts = statistics.quantiles(times, n=20, method="inclusive")
    means = [statistics.fmean(score[key] for score in scores) for key in ("frac@5", "frac@10")]
    return name, *(f"{mean:.3f}" for mean in means), f"{cuts[9]:.0f} / {cuts[18]:.0f}", f"{filled:.1f}"
