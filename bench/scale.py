"""Time, memory and recall of searches in homes of ten thousand to a million passages.

    python -m bench.scale --data DIR [--sizes 10000,100000,1000000] [--questions N] [--keep FOLDER] [--only PHASE]
                          [--json] [--write-docs]

A home is a folder of transcripts of a hundred turns each (``--turns``). A turn joins two sentences of one development
conversation. The program's own sync indexes the home. Its vectors are drawn from the real vectors of those turns: two
of them are mixed with noise, because a transformer would take a day for a million turns. Questions and their vectors
are real.

Phases, each in a process of its own: *sync* makes home and index. *ask* times searches in one warm process, with FTS5
alone as the baseline. *cold* times the first search of a process whose model is loaded. *candidates* compares our
one-bit codes with tables of sqlite-vec, on the same vectors and questions. *during* asks while another process syncs
(in the home of 100 000 passages).

``--keep`` leaves the homes in a folder, and uses those that exist there. ``--write-docs`` puts the table of
*candidates* into ``docs/benchmarks.md``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from agent_home.creation import create
from agent_home.home import Home
from recall.embedding.embedder import Embedder, NoEmbedder, Vector, open_embedder
from recall.embedding.model import EmbeddingSettings
from recall.index.sqlite import schema
from recall.index.sqlite.readers import close_readers
from recall.index.store import index_store
from recall.index.sync import sync
from recall.index.vector_math import candidate_count, dequantize
from recall.search.hybrid import search
from recall.search.retrievers import NEAREST, Scope, start_vector_retrieval
from recall.settings import RecallSettings
from recall.text.terms import parse_query

from .measure.candidate_search import HEAD, WAYS, compare_ways, table_row
from .measure.page import DOCS, markdown, put, stamp

__all__ = ["FIRST_DAY", "Drawn", "conversations", "drawn", "joined_turn", "make_home", "questions_of", "turns_of"]

#: Passages of the home that is searched while as many again are synced.
_DURING = 100_000
SIZES = (10_000, 100_000, 1_000_000)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
#: Real turns whose vectors the others are drawn from.
_POOL = 4_000
_POOL_FILE = "pool.npy"
_WARM_UP = 10
#: Questions for which the ways to find candidates are compared: vec0 takes seconds for each among a million.
_COMPARED_QUESTIONS = 53
#: Passages up to which whole vectors are stored in vec0 as well: it writes some 1 600 a second.
_MOST_FLOATS = 100_000
#: Vectors compared at once when all are.
_AT_ONCE = 10_000
#: Texts that occur several times have the same vector: so many of them are counted as the tenth at most.
_TIES = 60
_EQUAL = 1e-6
#: Parts of a drawn vector: two real ones and noise, by length.
_MIX = (0.7, 0.5, 0.3)
FIRST_DAY = datetime(2016, 1, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Embedder with real vectors of questions. Vectors of passages are drawn from *pool* and *noise*, by their text."""

    inner: Embedder
    pool: Vector
    noise: Vector

    @property
    def name(self) -> str:
        return f"{self.inner.name}, drawn"

    @property
    def fingerprint(self) -> str:
        return f"{self.inner.fingerprint} drawn"

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def embed(self, texts: Sequence[str]) -> Vector:
        seeds = [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest() for text in texts]
        numbers = np.frombuffer(b"".join(seeds), np.uint64)
        size = np.uint64(len(self.pool))
        first, second = numbers % size, (numbers // size) % size
        noise = self.noise[(numbers // (size * size)) % np.uint64(len(self.noise))]
        mixed = _MIX[0] * self.pool[first] + _MIX[1] * self.pool[second] + _MIX[2] * noise
        return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), np.float32)

    def embed_query(self, text: str) -> Vector:
        return self.inner.embed_query(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="Folder of evaluation data.")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="Passages, one home for each.")
    parser.add_argument("--turns", type=int, default=100, help="Turns of a session.")
    parser.add_argument("--questions", type=int, default=200, help="Questions asked of each home.")
    parser.add_argument("--keep", type=Path, help="Folder of homes that are kept and used again.")
    parser.add_argument("--only", action="append", choices=sorted(_PHASES), help="Run this phase, after sync.")
    parser.add_argument("--json", action="store_true", help="Print one JSON document.")
    parser.add_argument("--write-docs", action="store_true", help="Put the candidates' table into docs/benchmarks.md.")
    parser.add_argument("--phase", choices=sorted(_PHASES), help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.phase:
        print(json.dumps(_PHASES[options.phase](options)))
        return 0
    if not conversations(options.data):
        print(f"no conversations in {options.data}; the scale run is left out", file=sys.stderr)
        return 2
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes.split(","):
            home = (options.keep or Path(folder)) / f"home-{size}-{options.turns}"
            rows.append({"passages": int(size), "turns": options.turns})
            for phase in _phases(int(size), options.only):
                rows[-1] |= _child(phase, home, options, size)
            print(f"{size}: {rows[-1]}", file=sys.stderr)
    tables = _candidate_tables(rows)
    if options.write_docs:
        put(DOCS / "benchmarks.md", {"candidates": f"{stamp('python -m bench.scale --data DIR')}\n\n{tables}"})
    print(json.dumps(rows, indent=2) if options.json else f"{_table(rows)}\n\n{tables}")
    return 0


def _phases(size: int, only: Sequence[str] | None) -> list[str]:
    """Return the phases for a home of *size* passages. Each runs alone, so that its peak memory is its own."""
    chosen = only or ["ask", "cold", "candidates", *(["during"] if size == _DURING else [])]
    return ["sync", *(phase for phase in chosen if phase != "sync")]


def _child(phase: str, home: Path, options: argparse.Namespace, size: str) -> dict[str, Any]:
    done = subprocess.run(_command(phase, home, options, size), check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _command(phase: str, home: Path, options: argparse.Namespace, size: str) -> list[str]:
    return [
        sys.executable, "-m", "bench.scale", "--data", str(options.data), "--sizes", size, "--phase", phase,
        "--turns", str(options.turns), "--questions", str(options.questions), "--home", str(home),
    ]  # fmt: skip


def _sync(options: argparse.Namespace) -> dict[str, Any]:
    """Make the home and its index. Return passages a second with words alone, and vectors a second."""
    home = make_home(options.home, options.data, int(options.sizes), options.turns)
    embedder = drawn(options.home.parent, options.data)
    settings = RecallSettings()
    start = time.perf_counter()
    words = sync(home, settings, None)
    between = time.perf_counter()
    vectors = sync(home, settings, embedder)
    end = time.perf_counter()
    rates = {"words/s": words.added / (between - start), "vectors/s": vectors.embedded / (end - between)}
    return {**rates, "index MB": home.index.stat().st_size / 1e6, "sync peak MB": _peak_mb()}


def _ask(options: argparse.Namespace) -> dict[str, Any]:
    """Ask every question. Return milliseconds of each way, and the share of the exact ten nearest that were found."""
    home = Home(options.home)
    embedder = drawn(options.home.parent, options.data)
    questions = questions_of(options.data, options.questions + _WARM_UP)
    found: dict[str, list[float]] = defaultdict(list)
    for number, query in enumerate(questions):
        if number == _WARM_UP:
            found.clear()
        for ms, name in _searches(home, query, embedder):
            found[name].append(ms)
    peak = _peak_mb()
    conn = schema.open_reader(home.index)
    if conn is None:
        raise FileNotFoundError(home.index)
    for query in questions[_WARM_UP:]:
        match = parse_query(query).match
        start = time.perf_counter()
        conn.execute(
            "SELECT rowid FROM passage_words WHERE passage_words MATCH ? ORDER BY rank LIMIT 100", (match,)
        ).fetchall()
        found["FTS5 alone"].append(_since(start))
    times = {name: [round(value, 1) for value in _quantiles(values)] for name, values in found.items()}
    shares = _recall(conn, home, questions[_WARM_UP:], embedder)
    return {**times, **shares, "search peak MB": peak}


def _cold(options: argparse.Namespace) -> dict[str, Any]:
    """Ask one question in a new process, as it is and with nothing of the index in the system's memory."""
    home, embedder = Home(options.home), drawn(options.home.parent, options.data)
    (query,) = questions_of(options.data, 1)
    embedder.embed_query(query)
    ms = _asked(home, query, embedder)[0]
    close_readers()
    with home.index.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return {
        "first search of a process": round(ms, 1),
        "search after the file left memory": round(_asked(home, query, embedder)[0], 1),
    }


def _candidates(options: argparse.Namespace) -> dict[str, Any]:
    """Measure each way to find candidate vectors, on this home's index."""
    embedder = drawn(options.home.parent, options.data)
    questions = questions_of(options.data, min(options.questions, _COMPARED_QUESTIONS))
    passages = int(options.sizes)
    with tempfile.TemporaryDirectory() as folder:
        measured = compare_ways(
            Home(options.home).index,
            [embedder.embed_query(query) for query in questions],
            Path(folder),
            compared=candidate_count(passages, NEAREST),
            limit=NEAREST,
            ways=[way for way in WAYS if way.approximate or passages <= _MOST_FLOATS],
        )
    return {"candidates": [table_row(row) for row in measured]}


def _during(options: argparse.Namespace) -> dict[str, Any]:
    """Ask while another process syncs as many passages again, and ask the same questions before and after."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "home"
        shutil.copytree(options.home, root)
        home, embedder = Home(root), drawn(options.home.parent, options.data)
        questions = questions_of(options.data, options.questions)
        quiet = [_asked(home, query, embedder) for query in questions]
        sessions = -(-int(options.sizes) // options.turns)
        _write_sessions(home, options.data, range(sessions, 2 * sessions), options.turns)
        shutil.copy(options.home.parent / _POOL_FILE, root.parent)
        command = _command("sync", root, options, options.sizes)
        busy: list[tuple[float, tuple[str, ...]]] = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as syncing:
            while syncing.poll() is None:
                busy.append(_asked(home, questions[len(busy) % len(questions)], embedder))
        after = [_asked(home, query, embedder) for query in questions]
    problems = sorted({problem for _, found in (*quiet, *busy, *after) for problem in found})
    times = {"quiet": quiet[_WARM_UP:], "while another process syncs": busy, "quiet again, twice the size": after}
    return {
        **{name: [round(value, 1) for value in _quantiles([ms for ms, _ in rows])] for name, rows in times.items()},
        "asked while syncing": len(busy),
        "problems": problems,
    }


def _asked(home: Home, query: str, embedder: Embedder) -> tuple[float, tuple[str, ...]]:
    start = time.perf_counter()
    result = search(home, query, settings=RecallSettings(), embedder=embedder)
    return _since(start), (*result.degraded, *(() if result.hits else (f"nothing found for {query!r}",)))


_PHASES: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "sync": _sync,
    "ask": _ask,
    "cold": _cold,
    "candidates": _candidates,
    "during": _during,
}


def _searches(home: Home, query: str, embedder: Embedder) -> Iterator[tuple[float, str]]:
    settings = RecallSettings(lexical_deadline_ms=60_000, vector_deadline_ms=60_000)
    start, cpu = time.perf_counter(), time.process_time()
    result = search(home, query, settings=settings, embedder=embedder)
    yield _since(start), "hybrid"
    yield (time.process_time() - cpu) * 1000, "- CPU of all threads"
    yield result.retriever_ms["lexical"], "- word retriever"
    yield result.retriever_ms["vector"], "- vector retriever"
    yield _since(start) - max(result.retriever_ms.values()), "- the rest"
    start = time.perf_counter()
    search(home, query, settings=settings, mode="lexical")
    yield _since(start), "lexical"
    start = time.perf_counter()
    search(home, query, settings=settings, embedder=embedder, k=40, layers=["sessions"])
    yield _since(start), "sessions, 40 hits"


def drawn(folder: Path, data: Path) -> Drawn:
    """Return the embedder, with the vectors of some real turns cached in *folder*."""
    inner = open_embedder(EmbeddingSettings(), build_missing=True)
    if isinstance(inner, NoEmbedder):
        raise SystemExit(f"no embedding model: {inner.reason}")
    file = folder / _POOL_FILE
    if not file.exists():
        turns = [f"{turn['name']}: {turn['content']}" for path in conversations(data) for turn in turns_of(path)]
        np.save(file, inner.embed(turns[:: max(1, len(turns) // _POOL)][:_POOL]))
    noise = np.random.default_rng(0).standard_normal((_POOL, inner.dimension), np.float32)
    return Drawn(inner, np.load(file), noise / np.sqrt(inner.dimension))


def questions_of(data: Path, number: int) -> list[str]:
    """Return questions spread evenly over all conversations."""
    rows = [row for file in sorted(data.glob("locomo/*.queries.jsonl")) for row in turns_of(file)]
    return [str(row["query"]) for row in rows[:: max(1, len(rows) // number)]][:number]


def _quantiles(values: Sequence[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return cuts[9], cuts[18]


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _since(start: float) -> float:
    return (time.perf_counter() - start) * 1000


def make_home(root: Path, data: Path, passages: int, turns: int) -> Home:
    """Return a home with transcripts of *passages* turns in all, *turns* in each. An existing one is used unchanged."""
    home = create(root, name="Scale", now=FIRST_DAY).home
    if not any(home.sessions.glob("*/*/*.jsonl")):
        _write_sessions(home, data, range(-(-passages // turns)), turns)
    return home


def _write_sessions(home: Home, data: Path, numbers: range, turns: int) -> None:
    talks = [turns_of(file) for file in conversations(data)]
    rng = np.random.default_rng(numbers.start)
    for number in numbers:
        conversation = talks[number % len(talks)]
        start = FIRST_DAY + timedelta(hours=8 * number)
        picked = rng.integers(0, len(conversation), (turns, 2))
        rows = [joined_turn(number, at, start, conversation[a], conversation[b]) for at, (a, b) in enumerate(picked)]
        path = home.sessions / f"{start:%Y}" / f"{start:%m}" / f"scale-{number:05d}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def conversations(data: Path) -> list[Path]:
    return sorted([*data.glob("locomo/*.transcript.jsonl"), *data.glob("realtalk/*.transcript.jsonl")])


def turns_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def joined_turn(number: int, at: int, start: datetime, one: dict[str, Any], other: dict[str, Any]) -> dict[str, str]:
    """Return a turn of the first turn's speaker: its first sentence and the last sentence of the second turn."""
    content = f"{_SENTENCE.split(one['content'])[0]} {_SENTENCE.split(other['content'])[-1]}"
    ts = (start + timedelta(seconds=30 * at)).isoformat()
    return {
        "session": f"scale-{number:05d}", "id": f"m{at}", "ts": ts, "role": one["role"], "name": one["name"],
        "content": content, "source": "user",
    }  # fmt: skip


def _recall(conn: apsw.Connection, home: Home, questions: Sequence[str], embedder: Embedder) -> dict[str, float]:
    """Return the share of the ten nearest of all vectors that vector retrieval found, for each kind of vector.

    Passages are compared with the vectors as the model gave them, before the index rounded them.
    """
    asked = np.array([embedder.embed_query(query) for query in questions])
    found = []
    for query in questions:
        leg = start_vector_retrieval(index_store(home), query, embedder, Scope(), NEAREST).result(60_000, 60_000)
        if leg.nearest is None:
            raise RuntimeError(leg.problem)
        found.append(leg.nearest)
    exact = _exhaustive(conn, asked, "p.meaning", embedder.embed)
    windows = _exhaustive(conn, asked, "e.window", lambda blobs: dequantize(blobs, embedder.dimension))
    return {
        "recall of the 10 nearest": _share(exact, [list(leg.passages)[:10] for leg in found]),
        "recall of the 10 nearest windows": _share(windows, [list(leg.windows)[:10] for leg in found]),
    }


def _exhaustive(
    conn: apsw.Connection, asked: Vector, column: str, vectors_of: Callable[[list[Any]], Vector]
) -> list[set[int]]:
    """Compare each question with all passages. Return the ten nearest, and those that are as near as the tenth."""
    best: list[list[tuple[float, int]]] = [[] for _ in asked]
    cursor = conn.execute(f"SELECT p.id, {column} FROM passages p JOIN embeddings e ON e.passage = p.id ORDER BY p.id")  # noqa: S608
    while rows := list(islice(cursor, _AT_ONCE)):
        scores = asked @ vectors_of([row[1] for row in rows]).T
        for at, line in enumerate(scores):
            top = np.argpartition(-line, min(_TIES, len(line) - 1))[:_TIES]
            best[at] = sorted([*best[at], *((float(line[i]), int(rows[i][0])) for i in top)], reverse=True)[:_TIES]
    return [{ident for score, ident in line if score >= line[9][0] - _EQUAL} for line in best]


def _share(exact: Sequence[set[int]], found: Sequence[Sequence[int]]) -> float:
    return sum(len(a & set(b)) for a, b in zip(exact, found, strict=True)) / sum(map(len, found))


def _table(rows: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table with a row for each measure and a column for each home."""
    names = list(dict.fromkeys(name for row in rows for name in row if name not in {"passages", "turns", "candidates"}))
    head = " | ".join(f"{row['passages']:,} passages in {row['passages'] // row['turns']:,} sessions" for row in rows)
    lines = [f"| | {head} |", "|---|" + "---:|" * len(rows)]
    lines += [f"| {name} | {' | '.join(_cell(row.get(name)) for row in rows)} |" for name in names]
    return "\n".join(lines)


def _candidate_tables(rows: Sequence[dict[str, Any]]) -> str:
    """Return one Markdown table of the ways to find candidates for each home where they were compared."""
    return "\n\n".join(
        f"{row['passages']:,} passages:\n\n".replace(",", " ") + markdown(HEAD, row["candidates"], align="lrrrrrrr")
        for row in rows
        if "candidates" in row
    )


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return " / ".join(str(item) for item in value) or "none"
    if isinstance(value, float):
        return f"{value:.3f}" if value <= 1 else f"{value:,.0f}"
    return "" if value is None else str(value)


if __name__ == "__main__":
    sys.exit(main())
