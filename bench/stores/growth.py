"""One namespace that grows: time, memory and disk of both stores, and how many of the exact ten they find."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from agent_home.creation import create
from agent_home.home import Home
from recall.embedding.embedder import Vector
from recall.index import ingest
from recall.index.indexable import Screen
from recall.index.reader import Scope
from recall.index.store import index_store
from recall.index.store_choice import choose_namespace, chosen_namespace
from recall.index.sync import sync
from recall.postgres.connections import connection
from recall.search.hybrid import search
from recall.search.retrievers import NEAREST
from recall.servers import database_url
from recall.settings import RecallSettings

from ..scale import FIRST_DAY, Drawn, conversations, drawn, joined_turn, questions_of, turns_of

__all__ = ["growth_rows"]

#: Turns of a session, and every how many sessions is Chinese.
_TURNS, _CHINESE = 100, 3
_WARM_UP = 10
#: Passages whose vectors are compared at once with all questions.
_AT_ONCE = 20_000
_PATIENT = RecallSettings(lexical_deadline_ms=60_000, vector_deadline_ms=60_000)


def growth_rows(
    folder: Path, data: Path, sizes: Sequence[int], questions: int
) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return a table with a column for each size and store. Each cell is measured in a process of its own."""
    measured: dict[str, dict[str, Any]] = {}
    for size in sizes:
        for store in ("SQLite", "PostgreSQL"):
            name = f"{size:,} in {store}".replace(",", " ")
            measured[name] = {}
            for phase in ("fill", "ask"):
                command = [sys.executable, "-m", "bench.stores.growth", str(folder), str(data), str(size), store, phase,
                           str(questions)]  # fmt: skip
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
                measured[name] |= json.loads(done.stdout)
            print(f"{name}: {measured[name]}", file=sys.stderr, flush=True)
    names = list(dict.fromkeys(row for cells in measured.values() for row in cells))
    return ("", *measured), [(row, *(str(cells.get(row, "")) for cells in measured.values())) for row in names]


def _main(folder: str, data: str, size: str, store: str, phase: str, questions: str) -> None:
    place, source = Path(folder), Path(data)
    home = _home(place / f"home-{size}", source, int(size))
    embedder = drawn(place, source)
    if store == "PostgreSQL" and not chosen_namespace(home):
        choose_namespace(home, f"growth-{size}-{uuid.uuid4().hex[:8]}")
    elif store == "SQLite":
        choose_namespace(home, "")
    answers = _fill(home, embedder, store) if phase == "fill" else _ask(home, source, embedder, int(questions))
    print(json.dumps(answers))


def _home(root: Path, data: Path, size: int) -> Home:
    """Return a home with sessions of real turns, every third of them of Chinese sentences."""
    home = create(root, name="Growth", now=FIRST_DAY).home
    if any(home.sessions.glob("*/*/*.jsonl")):
        return home
    english = [turns_of(file) for file in conversations(data)]
    chinese = _chinese(data)
    rng = np.random.default_rng(0)
    for number in range(-(-size // _TURNS)):
        start = FIRST_DAY + timedelta(hours=8 * number)
        turns = english[number % len(english)] if number % _CHINESE else chinese
        picked = rng.integers(0, len(turns), (_TURNS, 2))
        rows = [joined_turn(number, at, start, turns[a], turns[b]) for at, (a, b) in enumerate(picked)]
        path = home.sessions / f"{start:%Y}" / f"{start:%m}" / f"scale-{number:05d}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return home


def _chinese(data: Path) -> list[dict[str, Any]]:
    """Return the sentences of the Chinese documents as turns of two people."""
    documents = [json.loads(line) for line in (data / "cmrc2018/documents.jsonl").read_text("utf-8").splitlines()]
    sentences = [part for row in documents for part in str(row["text"]).split("。") if 8 < len(part) < 120]
    return [
        {"role": ("user", "assistant")[at % 2], "name": ("Lin", "agent")[at % 2], "content": f"{sentence}。"}
        for at, sentence in enumerate(sentences)
    ]


class _Unscreened(Screen):
    """Let every turn pass. The guard takes the same time for both stores, and most of an hour for a million turns."""

    def message(self, path: str, content: str) -> str:
        """Return *content*."""
        del path
        return content

    def name(self, path: str, name: str) -> str:
        """Return *name*."""
        del path
        return name


def _fill(home: Home, embedder: Drawn, store: str) -> dict[str, Any]:
    vars(ingest)["Screen"] = _Unscreened
    before = _disk(home, store) if store == "PostgreSQL" else 0  # the smaller sizes are in the same database
    start = time.perf_counter()
    words = sync(home, RecallSettings(), None)
    between = time.perf_counter()
    vectors = sync(home, RecallSettings(), embedder)
    end = time.perf_counter()
    found: dict[str, Any] = {}
    if words.added:  # else an earlier run has filled it
        found["words indexed a second"] = round(words.added / (between - start))
        found["vectors stored and indexed a second"] = round(vectors.embedded / (end - between))
        found["disk, MB"] = round((_disk(home, store) - before) / 1e6)
    found["peak memory of the sync, MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
    return found


def _disk(home: Home, store: str) -> int:
    if store == "SQLite":
        return home.index.stat().st_size
    with connection(database_url()) as conn:
        conn.execute("SELECT 1")
        ((size,),) = conn.execute("SELECT pg_database_size(current_database())").fetchall()
    return int(size)


def _ask(home: Home, data: Path, embedder: Drawn, number: int) -> dict[str, Any]:
    """Ask each question in each way. Return p50 / p95 in milliseconds, and the share of the exact ten nearest."""
    questions = [*questions_of(data, number - number // 3), *_chinese_questions(data, number // 3)]
    times: dict[str, list[float]] = {}
    for at, question in enumerate([*questions[:_WARM_UP], *questions]):
        if at == _WARM_UP:
            times.clear()
        for name, ms in _ways(home, question, embedder):
            times.setdefault(name, []).append(ms)
    shown: dict[str, Any] = {name: _quantiles(values) for name, values in times.items()}
    shown["peak memory of the searches, MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
    shown["exact ten nearest that were found"] = round(_recall(home, questions, embedder), 3)
    return shown


def _chinese_questions(data: Path, number: int) -> list[str]:
    rows = [json.loads(line) for line in (data / "cmrc2018/queries.jsonl").read_text("utf-8").splitlines()]
    return [str(row["query"]) for row in rows[:: max(1, len(rows) // max(number, 1))]][:number]


def _ways(home: Home, question: str, embedder: Drawn) -> Iterator[tuple[str, float]]:
    start = time.perf_counter()
    result = search(home, question, settings=_PATIENT, embedder=embedder)
    yield "hybrid, ten hits, p50 / p95 ms", (time.perf_counter() - start) * 1000
    if result.degraded:
        raise RuntimeError(result.degraded[0])
    yield "- word retriever", result.retriever_ms["lexical"]
    yield "- vector retriever", result.retriever_ms["vector"]


def _quantiles(values: Sequence[float]) -> str:
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return f"{cuts[9]:.0f} / {cuts[18]:.0f}"


def _recall(home: Home, questions: Sequence[str], embedder: Drawn) -> float:
    """Return the share of the ten nearest passages that the store found. Equal texts have equal vectors."""
    asked = np.array([embedder.embed_query(question) for question in questions])
    shares, store = [], index_store(home)
    for vector, least in zip(asked, _tenth(home, asked, embedder), strict=True):
        with store.reading() as reader:
            if reader is None:
                raise RuntimeError("the index is empty")
            nearest = list(islice(reader.nearest(vector, Scope(), NEAREST).passages, 10))
            rows = reader.texts(nearest)
        texts = [f"{rows[ident][5]}: {rows[ident][2]}" for ident in nearest]
        cosines = embedder.embed(texts) @ vector
        shares.append(float(np.count_nonzero(cosines >= least - 0.002)) / 10)
    return statistics.fmean(shares)


def _tenth(home: Home, asked: Vector, embedder: Drawn) -> list[float]:
    """Return the tenth best cosine of each question among all passages."""
    best = np.full((len(asked), 10), -1.0, np.float32)
    batch: list[str] = []
    for text in [*_texts(home), ""]:
        if text:
            batch.append(text)
        if batch and (len(batch) == _AT_ONCE or not text):
            scores = asked @ embedder.embed(batch).T
            best = np.partition(np.concatenate([best, scores], axis=1), -10, axis=1)[:, -10:]
            batch = []
    return [float(value) for value in best.min(axis=1)]


def _texts(home: Home) -> Iterator[str]:
    for path in sorted(home.sessions.glob("*/*/*.jsonl")):
        for row in turns_of(path):
            yield f"{row['name']}: {row['content']}"


if __name__ == "__main__":
    _main(*sys.argv[1:])
