"""Do both stores of an index give the same answers? Three sets of real questions, one home for each."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from agent_home.clock import now
from agent_home.creation import create
from agent_home.home import Home
from recall.embedding.embedder import Embedder
from recall.evaluation.metrics import EvalCase, Report, evaluate
from recall.index.store_choice import choose_namespace
from recall.index.sync import sync
from recall.settings import RecallSettings

from ..measure.datasets import SETS, fill, homes_of

__all__ = ["HEAD", "agreement_rows"]

HEAD = (
    "set, measure", "questions", "SQLite", "PostgreSQL", "same first ten", "p50 / p95 ms, SQLite",
    "p50 / p95 ms, PostgreSQL", "sync of words, s, SQLite / PostgreSQL",
)  # fmt: skip
#: Sets with the measure that stands for each.
_MEASURES = {"locomo": "frac@10", "cmrc2018": "any@5", "scifact": "ndcg@10"}


def agreement_rows(data: Path, embedder: Embedder, most: int) -> list[Sequence[str]]:
    """Return a row for each set. At most *most* questions of it are asked, spread evenly."""
    return [_row(name, data, embedder, most) for name in _MEASURES if homes_of(name, data)]


def _row(name: str, data: Path, embedder: Embedder, most: int) -> Sequence[str]:
    (one,) = homes_of(name, data)
    every = [question for half in one.halves.values() for question in half]
    questions = every[:: max(1, len(every) // most)][:most]
    with tempfile.TemporaryDirectory() as folder:
        home = create(Path(folder) / "home", name="bench", now=now()).home
        fill(home, one)
        reports, seconds = [], []
        for namespace in ("", uuid.uuid4().hex):
            choose_namespace(home, namespace)
            start = time.perf_counter()
            sync(home, RecallSettings(), None)
            seconds.append(time.perf_counter() - start)
            sync(home, RecallSettings(), embedder)
            reports.append(_asked(home, questions, embedder, name))
    measure = _MEASURES[name]
    values = [report.as_json()["modes"]["hybrid"][measure] for report in reports]
    same = [a.ranks == b.ranks for a, b in zip(reports[0].questions, reports[1].questions, strict=True)]
    times = [report.modes["hybrid"].latency_ms for report in reports]
    return (
        f"{name}, {measure}", str(len(questions)), *(f"{value:.4f}" for value in values),
        f"{sum(same) / len(same):.3f}", *(f"{ms['p50']:.0f} / {ms['p95']:.0f}" for ms in times),
        " / ".join(f"{value:.1f}" for value in seconds),
    )  # fmt: skip


def _asked(home: Home, questions: Sequence[EvalCase], embedder: Embedder, name: str) -> Report:
    return evaluate(
        home, questions, settings=RecallSettings(), embedder=embedder, grain=SETS[name][0], modes=("hybrid",)
    )
