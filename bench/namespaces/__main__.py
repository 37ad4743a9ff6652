"""Measure namespaces: ``python -m bench.namespaces [--only PART ...] [--namespaces N] [--people N] [--write-docs]``.

``rows`` times retrieval over 100 000 namespaces of 50 memories, ``sessions`` runs 10 000 sessions from end to end, and
``quality`` looks for the gold of LoCoMo in answers. PostgreSQL runs in a folder of its own, which goes with the run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from recall.embedding.embedder import Embedder, NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings
from recall.postgres.connections import close_pools

from ..measure import servers
from ..measure.page import DOCS, aligned, markdown, put, stamp
from . import synthetic
from .conversations import questions_of
from .quality import quality_rows
from .sessions import cache_rows, run_sessions

__all__ = ["main"]

_PARTS = ("rows", "sessions", "quality")
_PAGE = DOCS / "namespaces.md"
#: Copies of the people of RealMem that make ten thousand sessions.
_SESSIONS = 10_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts, and return 0 when all of them ran."""
    parser = argparse.ArgumentParser(prog="python -m bench.namespaces", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of evaluation data")
    parser.add_argument("--only", action="append", choices=_PARTS, help="run this part; may be repeated")
    parser.add_argument("--namespaces", type=int, default=100_000, help="namespaces of `rows`")
    parser.add_argument("--memories", type=int, default=50, help="memories of each of them")
    parser.add_argument("--questions", type=int, default=2_000, help="questions of `rows`")
    parser.add_argument("--people", type=int, default=5, help="people of `sessions`, 205 sessions each")
    parser.add_argument("--sessions", type=int, default=_SESSIONS, help="sessions, most of them copies")
    parser.add_argument("--thresholds-alone", action="store_true", help="`sessions` without filling short-term memory")
    parser.add_argument("--folder", type=Path, help="put the database here (default: a temporary folder)")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/namespaces.md")
    options = parser.parse_args(arguments)
    embedder = _embedder()
    missing = 0
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        server = servers.postgresql(folder)
        try:
            for part in options.only or _PARTS:
                print(f"{part}\n", flush=True)
                try:
                    head, rows, note = _run(part, server, embedder, options)
                except FileNotFoundError as error:
                    print(f"no data in {error}; {part} is left out", file=sys.stderr)
                    missing = 2
                    continue
                _show(part, head, rows, note, write=options.write_docs)
        finally:
            close_pools()
            servers.stop(folder)
    return missing


def _run(
    part: str, server: str, embedder: Embedder | None, options: argparse.Namespace
) -> tuple[Sequence[str], list[Sequence[str]], str]:
    url = servers.database(server, part)
    if part == "rows":
        return _rows(url, options)
    return _sessions(url, embedder, options) if part == "sessions" else _quality(url, embedder, options)


def _rows(url: str, options: argparse.Namespace) -> tuple[Sequence[str], list[Sequence[str]], str]:
    pool = synthetic.made_pool()
    spent = synthetic.fill(url, pool, namespaces=options.namespaces, memories=options.memories)
    size = synthetic.stored_bytes(url)
    rows: list[Sequence[str]] = []
    for threads in (1, 8):
        found = synthetic.timed_retrievals(
            url, pool, namespaces=options.namespaces, memories=options.memories, questions=options.questions,
            threads=threads, seed=threads,
        )  # fmt: skip
        rows.append(
            [found.what, str(found.n), *(f"{ms:.1f}" for ms in (found.p50, found.p95, found.p99)), f"{found.found:.1%}"]
        )
    count = options.namespaces * options.memories
    note = (
        f"{options.namespaces} namespaces of {options.memories} memories: made in {spent:.0f} s, {size / 1e9:.2f} GB, "
        f"{size / count:.0f} bytes a memory. Times are without the embedding of the question."
    )
    return ["questions", "n", "p50 ms", "p95 ms", "p99 ms", "found the memory"], rows, note


def _sessions(
    url: str, embedder: Embedder | None, options: argparse.Namespace
) -> tuple[Sequence[str], list[Sequence[str]], str]:
    people = sorted((options.data / "realmem").glob("*.queries.jsonl"))[: options.people]
    copies = max(1, round(options.sessions / max(1, 205 * len(people))))
    run, short_term = run_sessions(
        url, options.data, embedder, people=options.people, copies=copies, fill=not options.thresholds_alone
    )
    rows: list[Sequence[str]] = [
        ["sessions / namespaces / memories", f"{run.sessions} / {run.namespaces} / {run.memories}"],
        [
            "short-term share after a promotion, from 40 memories on, mean / largest",
            f"{run.short_term_mean:.2%} / {run.short_term_largest:.2%}",
        ],
        [
            "promotions / memories that passed the thresholds / p95 ms",
            f"{run.promotions} / {run.promoted} / {run.promote_p95:.1f}",
        ],
        ["record one exchange, median ms", f"{run.record_ms:.1f}"],
        ["process one exchange, median ms", f"{run.process_ms:.1f}"],
        ["retrieval with embedding, p50 / p95 ms", f"{run.p50:.1f} / {run.p95:.1f}"],
    ]
    for hits in short_term:
        what = f"{hits.source}, {hits.half}, {hits.questions} questions"
        rows.append([
            f"hits of short-term memory: {what}, all / that any memory fits",
            f"{hits.hits:.1%} / {hits.fitting:.1%}",
        ])  # fmt: skip
        rows.append([
            "the same: first of a session / by a memory of an earlier session",
            f"{hits.first:.1%} / {hits.earlier:.1%}",
        ])  # fmt: skip
        if hits.golds:
            rows.append([
                f"gold turns of {hits.golds} of them in five memories, with short-term memory / without",
                f"{hits.gold:.3f} / {hits.gold_without:.3f}",
            ])  # fmt: skip
    name = people[0].name.partition(".")[0]
    questions = [question.query for question in questions_of(people[0])]
    rows += [
        [
            f"answers given again / without the model: {row.pattern}, {row.questions} questions",
            f"{row.hit_rate:.1%} / {row.known_rate:.1%}",
        ]
        for row in cache_rows(url, name, questions, embedder)
    ]
    return ["what", "figure"], rows, ""


def _quality(
    url: str, embedder: Embedder | None, options: argparse.Namespace
) -> tuple[Sequence[str], list[Sequence[str]], str]:
    rows: list[Sequence[str]] = []
    for row in quality_rows(url, options.data, embedder):
        share = f"{row.share.mean:.3f} [{row.share.low:.3f}, {row.share.high:.3f}]"
        rows.append([row.half, row.system, str(row.questions), share, f"{row.tokens:.0f}"])
    return ["conversations", "system", "questions", "share of gold turns", "tokens"], rows, ""


def _show(name: str, head: Sequence[str], rows: list[Sequence[str]], note: str, *, write: bool) -> None:
    print(aligned(head, rows))
    print(f"\n{note}\n" if note else "", flush=True)
    if write:
        text = "\n\n".join(filter(None, (stamp(f"python -m bench.namespaces --only {name}"), note)))
        put(_PAGE, {f"namespaces-{name}": f"{text}\n\n{markdown(head, rows, align='l' + 'r' * (len(head) - 1))}\n"})


def _embedder() -> Embedder | None:
    opened = open_embedder(EmbeddingSettings(), build_missing=True)
    if isinstance(opened, NoEmbedder):
        print(f"words alone, no vectors: {opened.reason}", file=sys.stderr)
        return None
    return opened


if __name__ == "__main__":
    sys.exit(main())
