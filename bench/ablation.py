"""Measure what each ranking constant is worth.

    python -m bench.ablation --data DIR [--sets locomo,...] [--only NAME,...] [--json FILE]

Every constant is tried at other values, on every set, in both halves of its questions. The conversations of a set are
split into a development half, on which the constants were chosen, and a held-out half. Documents are split by every
other question. Both retrievers answer each question once, and only reranking is repeated. Figures are frac@5 and
frac@10 of hybrid search, or nDCG@10 and any@5 for documents. The development half comes first.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from agent_home.clock import now
from agent_home.creation import create
from agent_home.home import Home
from recall.embedding.embedder import Embedder, NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings
from recall.evaluation.metrics import EvalCase, measure
from recall.index.passage import session_of
from recall.index.reader import IndexReader
from recall.index.sqlite import schema
from recall.index.store import index_store
from recall.index.sync import sync
from recall.search.hybrid import candidates
from recall.search.reranking import QueryFeatures, RankingWeights, rank
from recall.search.retrievers import CANDIDATES, NEAREST, Scope, retrieve_by_words, start_vector_retrieval
from recall.settings import RecallSettings
from recall.text.dates import periods
from recall.text.terms import parse_query

from .measure.datasets import SETS, Half, fill, homes_of
from .measure.vector_cache import CachedEmbedder

__all__ = ["main"]

KS = (5, 10)
_PATIENCE_MS = 60_000.0
_BASE = RankingWeights()
#: Sets of one home.
_SETS = ["locomo", "realtalk", "beam100k", "cmrc2018", "scifact"]
#: Each constant, and the other values at which it is tried.
_TRIED: dict[str, tuple[float, ...]] = {
    "saturation": (0.4, 1.6),
    "length_norm": (0.0, 0.6),
    "heading_weight": (0.0, 1.0),
    "context_weight": (0.0, 0.15, 0.6),
    "context_reach": (0, 1, 2, 4),
    "asked_weight": (0.3, 0.6, 1.0),
    "speaker_weight": (0.0, 0.25, 0.75, 1.0),
    "group_weight": (0.0, 0.07, 0.3),
    "vector_weight": (0.0, 0.6, 0.9, 1.5, 2.4),
    "session_weight": (0.0, 0.3, 0.9, 1.2),
    "vector_words": (0.0, 15.0, 60.0),
    "chinese_vector_weight": (0.0, 0.5),
    "cjk_vector_weight": (0.5, 1.0),
    "date_weight": (0.0, 0.3, 0.8, 1.1),
    "date_days": (3.0, 14.0),
    "user_weight": (0.0, 0.12, 0.25, 0.75),
    "length_weight": (0.0, 0.1, 0.4),
    "length_words": (5.0, 20.0),
}


@dataclass(frozen=True, slots=True)
class _Variant:
    name: str
    weights: RankingWeights


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen sets. Return 0, or 1 when no set was there."""
    parser = argparse.ArgumentParser(prog="bench.ablation", description="What each setting of the ranking is worth.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the development sets")
    parser.add_argument("--sets", default=",".join(_SETS), help="which sets, with commas between")
    parser.add_argument("--only", default="", help="only these settings, with commas between")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    given = parser.parse_args(arguments)
    opened = open_embedder(EmbeddingSettings(), build_missing=True)
    if isinstance(opened, NoEmbedder):
        print(f"no vectors, nothing to measure: {opened.reason}", file=sys.stderr)
        return 1
    embedder = CachedEmbedder(opened)
    only = {name for name in given.only.split(",") if name}
    table: dict[str, dict[str, list[float]]] = {}
    homes = {name: homes_of(name, given.data) for name in given.sets.split(",")}
    names = [name for name, found in homes.items() if len(found) == 1]
    for name in names:
        with tempfile.TemporaryDirectory(prefix="bench-ablation-") as place:
            home = create(Path(place) / "home", name="bench", now=now()).home
            fill(home, homes[name][0])
            sync(home, RecallSettings(), embedder)
            embedder.save()
            for variant, figures in _measured(home, name, homes[name][0].halves, embedder, only).items():
                table.setdefault(variant, {})[name] = figures
        print(f"{name} done", file=sys.stderr)
    _show(table, names)
    if given.json and table:
        given.json.write_text(json.dumps(table, indent=1) + "\n", "utf-8")
    return 0 if table else 1


def _variants(only: set[str]) -> list[_Variant]:
    tried = [
        _Variant(f"{name} {value:g}", replace(_BASE, **{name: value}))  # type: ignore[arg-type]
        for name, values in _TRIED.items()
        if not only or name in only
        for value in values
    ]
    return [_Variant("as set", _BASE), *tried]


def _measured(
    home: Home, name: str, halves: Mapping[Half, list[EvalCase]], embedder: Embedder, only: set[str]
) -> dict[str, list[float]]:
    """Return for each variant the two figures of the set, each for both halves."""
    variants = _variants(only)
    chosen: dict[str, dict[str, list[tuple[float, float]]]] = {v.name: {half: [] for half in halves} for v in variants}
    with closing(schema.connect(home.index)) as conn:
        rows = schema.rows(conn, "SELECT id, source FROM passages")
    sources = {ident: source if SETS[name][0] == "message" else session_of(source) for ident, source in rows}
    with index_store(home).reading() as reader:
        assert reader is not None
        for half, questions in halves.items():
            for asked in questions:
                for variant, scores in _answers(reader, home, asked, embedder, variants, sources):
                    first, second = ("ndcg@10", "any@5") if SETS[name][0] == "file" else ("frac@5", "frac@10")
                    chosen[variant][half].append((scores[first], scores[second]))
    return {
        variant: [float(np.mean([pair[at] for pair in by_half[half]])) for at in (0, 1) for half in by_half]
        for variant, by_half in chosen.items()
    }


def _answers(
    reader: IndexReader,
    home: Home,
    asked: EvalCase,
    embedder: Embedder,
    variants: Sequence[_Variant],
    sources: dict[int, str],
) -> list[tuple[str, dict[str, float]]]:
    parsed = parse_query(asked.query)
    late = start_vector_retrieval(index_store(home), asked.query, embedder, Scope(), NEAREST)
    words = retrieve_by_words(reader, parsed, Scope(), CANDIDATES, _PATIENCE_MS)
    vectors = late.result(_PATIENCE_MS, _PATIENCE_MS)
    windows = reader.windows(candidates(words, vectors, CANDIDATES))
    seen = QueryFeatures(
        terms=words.terms,
        mean_words=words.mean_words,
        first_person=parsed.first_person,
        chinese=parsed.chinese,
        cjk=parsed.cjk,
        periods=periods(asked.query),
    )
    names = [sources[ident] for ident in windows.ids.tolist()]
    answers = []
    for variant in variants:
        ranking = rank(windows, seen, words.groups, vectors.nearest, variant.weights)
        total = np.where(ranking.found, ranking.total, -np.inf)
        best: dict[str, None] = {}
        for place in np.argsort(-total, kind="stable").tolist():
            if len(best) == KS[-1] or total[place] == -np.inf:
                break
            best.setdefault(names[place])
        answers.append((variant.name, measure(list(best), asked.expect, KS)))
    return answers


def _show(table: dict[str, dict[str, list[float]]], names: Sequence[str]) -> None:
    """Print the figures of the default constants, then how far each change moves them, in thousandths."""
    print(f"{'':24}" + "".join(f"{name:>28}" for name in names))
    base = table.get("as set", {})
    for variant, by_set in table.items():
        cells = []
        for name in names:
            figures = by_set[name]
            if variant == "as set":
                cells.append(" ".join(f"{value:6.3f}" for value in figures))
            else:
                cells.append(" ".join(f"{1000 * (v - b):+6.0f}" for v, b in zip(figures, base[name], strict=True)))
        print(f"{variant:24}" + "".join(f"{cell:>28}" for cell in cells))


if __name__ == "__main__":
    sys.exit(main())
