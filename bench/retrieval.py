"""How well and how fast recall finds, beside two plain ways on the same questions in the same run.

    python -m bench.retrieval --data DIR [--sets locomo,realtalk,...] [--split choose|confirm] [--cached] [--json FILE]

For each development set a home is made in a temporary folder, filled through the importer (conversations) or written
as Knowledge files (documents), synced, and asked every question. Beside the three modes stand naive FTS5 (whole
messages, `porter unicode61`, stop words out, any of the words) and its plain reciprocal rank fusion with MiniLM
vectors of whole messages. ``--split`` asks only the questions by which settings were chosen, or only those that
confirm them; the home holds the whole set all the same. ``--cached`` keeps vectors between runs in the user's cache;
then no embedding rate is shown.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import apsw
import numpy as np

from agent_home.clock import now
from agent_home.creation import create
from agent_home.home import Home
from agent_home.imports import import_chat
from recall.embedding import Embedder, NoEmbedder, Vector, open_embedder
from recall.evaluation import Grain, Question, evaluate, measure, percentile, read_questions
from recall.model import EmbeddingSettings, cache_folder
from recall.passage import session_of
from recall.settings import RecallSettings
from recall.sync import SyncReport, sync
from recall.terms import index_text

__all__ = ["SETS", "CachedEmbedder", "Half", "fill", "main", "split_questions"]

#: Set and the grain at which its sources are given.
SETS: dict[str, Grain] = {
    "locomo": "message",
    "realtalk": "message",
    "beam100k": "message",
    "cmrc2018": "file",
    "scifact": "file",
}
Half = Literal["choose", "confirm"]
KS = (5, 10)
#: Of reciprocal rank fusion, as published.
RRF_K = 60
#: Results of each leg that the fusion sees.
_DEPTH = 100
#: Rows that are inserted one by one, each in its own transaction, to see what batching is worth.
_SINGLE_INSERTS = 500
_STOP = frozenset(
    """a about after all an and any are as at be been before but by can could d did do does doing for from had has have
    having he her here him his how i if in into is it its just ll m may me might more most must my no nor not of off on
    or our out over re s shall she should so some such t than that the their them then there these they this to too
    under up ve very was we were what when where which who whom whose why will with would you your""".split()  # noqa: SIM905 - a page of words
)
_COLUMNS = ("frac@5", "frac@10", "any@5", "mrr@10", "ndcg@10")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    system: str
    measures: dict[str, float]
    p50: float
    p95: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen sets; 0, or 1 when no set was there."""
    parser = argparse.ArgumentParser(prog="bench.retrieval", description="Recall beside plain FTS5 and rank fusion.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the development sets")
    parser.add_argument("--sets", default=",".join(SETS), help="which sets, with commas between")
    parser.add_argument("--split", choices=get_args(Half), help="only one half of the questions")
    parser.add_argument("--cached", action="store_true", help="keep vectors between runs in the user's cache")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    given = parser.parse_args(arguments)
    opened = open_embedder(EmbeddingSettings(), build_missing=True, progress=_say)
    if isinstance(opened, NoEmbedder):
        _say(f"no vectors: {opened.reason}")
    embedder = opened if isinstance(opened, NoEmbedder) or not given.cached else CachedEmbedder(opened)
    results: dict[str, Any] = {}
    for name in given.sets.split(","):
        if name not in SETS:
            parser.error(f"unknown set {name!r}; known are {', '.join(SETS)}")
        folder = given.data / name
        if not any(folder.glob("*queries.jsonl")):
            _say(f"{folder} is absent; {name} is left out")
            continue
        with tempfile.TemporaryDirectory(prefix="bench-retrieval-") as place:
            results[name] = _measure_set(name, folder, Path(place), embedder, given.split)
        if isinstance(embedder, CachedEmbedder):
            embedder.save()
    if given.json and results:
        given.json.write_text(json.dumps(results, indent=2) + "\n", "utf-8")
    return 0 if results else 1


def _measure_set(
    name: str, folder: Path, place: Path, embedder: Embedder | NoEmbedder, half: Half | None
) -> dict[str, Any]:
    grain = SETS[name]
    home = create(place / "home", name="bench", now=now()).home
    texts = fill(home, folder)
    settings = home.manifest.settings("recall", RecallSettings)
    halves = split_questions(folder)
    questions = [q for name_of, asked in halves.items() if half in {None, name_of} for q in asked]
    words = sync(home, settings, None)
    vectors = sync(home, settings, embedder, progress=_meter)
    single = _single_insert_rate(list(texts.values()), place / "single.db")
    report = evaluate(home, questions, settings=settings, embedder=embedder, ks=KS, grain=grain, progress=_meter)
    rows = [
        Row(system=mode, measures=scores.measures, p50=scores.latency_ms["p50"], p95=scores.latency_ms["p95"])
        for mode, scores in report.modes.items()
    ]
    rows += _baselines(texts, questions, grain, embedder)
    rates = _rates(words, vectors, single, cached=isinstance(embedder, CachedEmbedder))
    print(f"\n{name}: {len(texts)} texts, {words.passages} passages, {len(questions)} questions, grain {grain}")
    print(f"  {rates}")
    print(f"  {'':22}" + "".join(f"{column:>10}" for column in _COLUMNS) + f"{'p50 ms':>10}{'p95 ms':>10}")
    for row in rows:
        figures = "".join(f"{row.measures[column]:10.3f}" for column in _COLUMNS)
        print(f"  {row.system:22}{figures}{row.p50:10.1f}{row.p95:10.1f}")
    return {
        "n": len(questions),
        "rates": rates,
        "systems": {row.system: {**row.measures, "p50": row.p50, "p95": row.p95} for row in rows},
        "categories": report.as_json()["categories"],
    }


def fill(home: Home, folder: Path) -> dict[str, str]:
    """Put the set into the home; its whole texts by their source, for the baselines."""
    texts: dict[str, str] = {}
    transcripts = sorted(folder.glob("*transcript.jsonl"))
    for path in transcripts:
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            texts[f"{row['session']}#{row['id']}"] = f"{row['name']}: {row['content']}"
    if transcripts:
        done = import_chat(home, transcripts, now=now())
        _say(f"imported {done.messages} messages; {done.redacted} texts redacted, {len(done.quarantined)} quarantined")
    documents = folder / "documents.jsonl"
    for line in documents.read_text("utf-8").splitlines() if documents.exists() else ():
        row = json.loads(line)
        path = home.root / row["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {row['title']}\n\n{row['text']}\n", "utf-8")
        texts[row["path"]] = f"{row['title']}\n{row['text']}"
    return texts


def split_questions(folder: Path) -> dict[Half, list[Question]]:
    """The set's questions in two halves: three conversations of five and the rest, or every other question."""
    files = [[q for q in read_questions(path) if q.expect] for path in sorted(folder.glob("*queries.jsonl"))]
    if len(files) == 1:
        return {"choose": files[0][::2], "confirm": files[0][1::2]}
    chosen = -(-len(files) * 3 // 5)
    return {
        "choose": [q for file in files[:chosen] for q in file],
        "confirm": [q for file in files[chosen:] for q in file],
    }


def _baselines(
    texts: dict[str, str], questions: Sequence[Question], grain: Grain, embedder: Embedder | NoEmbedder
) -> list[Row]:
    sources = list(texts)
    conn = apsw.Connection(":memory:")
    conn.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter unicode61')")
    with conn:
        conn.executemany("INSERT INTO t(rowid, body) VALUES(?, ?)", enumerate(texts.values()))

    def naive(query: str) -> list[str]:
        words = list(dict.fromkeys(re.findall(r"\w+", query.lower())))
        words = [word for word in words if word not in _STOP] or words
        match = " OR ".join(f'"{word}"' for word in words)
        statement = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?"
        return [sources[int(str(row[0]))] for row in conn.execute(statement, (match, _DEPTH))] if match else []

    rows = [_asked("naive FTS5", naive, questions, grain)]
    if isinstance(embedder, NoEmbedder):
        return rows
    _say(f"embedding {len(texts)} whole texts for the baselines")
    matrix = embedder.embed(list(texts.values()))

    def nearest(query: str) -> list[str]:
        order = np.argsort(-(matrix @ embedder.embed_query(query)), kind="stable")
        return [sources[at] for at in order[:_DEPTH]]

    def fused(query: str) -> list[str]:
        scores: dict[str, float] = {}
        for ranking in (naive(query), nearest(query)):
            for rank, source in enumerate(ranking, 1):
                scores[source] = scores.get(source, 0.0) + 1 / (RRF_K + rank)
        return sorted(scores, key=lambda source: (-scores[source], source))

    return [*rows, _asked("MiniLM", nearest, questions, grain), _asked("RRF of both", fused, questions, grain)]


def _asked(name: str, find: Callable[[str], list[str]], questions: Sequence[Question], grain: Grain) -> Row:
    measured, times = [], []
    for question in questions:
        start = time.perf_counter()
        found = find(question.query)
        times.append((time.perf_counter() - start) * 1000)
        if grain != "message":
            found = list(dict.fromkeys(map(session_of, found)))
        measured.append(measure(found, question.expect, KS))
    means = {key: sum(one[key] for one in measured) / len(measured) for key in measured[0]}
    return Row(system=name, measures=means, p50=percentile(times, 50), p95=percentile(times, 95))


def _single_insert_rate(texts: Sequence[str], path: Path) -> float:
    """Texts a second, their terms made alike, when each is inserted in its own transaction."""
    conn = apsw.Connection(str(path))
    conn.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter unicode61')")
    chosen = texts[:_SINGLE_INSERTS]
    start = time.perf_counter()
    for text in chosen:
        conn.execute("INSERT INTO t(body) VALUES(?)", (index_text(text),))
    conn.close()
    return len(chosen) / (time.perf_counter() - start)


def _rates(words: SyncReport, vectors: SyncReport, single: float, *, cached: bool) -> str:
    rate = words.added / words.seconds
    line = f"words: {rate:.0f} passages a second, reading included; single inserts alone: {single:.0f} texts a second"
    if vectors.embedded and not cached:
        line += f"; vectors: {vectors.embedded / vectors.seconds:.0f} a second"
    return line


class CachedEmbedder:
    """An embedder that keeps what it made in a file of the user's cache, by the hash of the text."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name, self.fingerprint, self.dimension = inner.name, inner.fingerprint, inner.dimension
        label = hashlib.sha256(inner.fingerprint.encode()).hexdigest()[:12]
        self._path = cache_folder() / f"bench-vectors-{label}.npz"
        self._known: dict[bytes, Vector] = {}
        if self._path.exists():
            with np.load(self._path) as stored:
                self._known = dict(zip((bytes(k) for k in stored["keys"]), stored["vectors"], strict=True))

    def embed(self, texts: Sequence[str]) -> Vector:
        keys = [self._key(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            self._known |= zip(new, self._inner.embed(list(new.values())), strict=True)
        return np.stack([self._known[key] for key in keys]) if keys else self._inner.embed([])

    def embed_query(self, text: str) -> Vector:
        return self._inner.embed_query(text)

    def save(self) -> None:
        """Write what is known now to the user's cache."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        keys = np.array([list(key) for key in self._known], np.uint8)
        np.savez(self._path, keys=keys, vectors=np.stack(list(self._known.values())))

    @staticmethod
    def _key(text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _meter(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{what}: {done} of {total}", end="" if done < total else "\n", file=sys.stderr, flush=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
