"""The measures against cases computed by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_home.errors import DocumentInvalid
from agent_home.home import Home
from recall.embedding.embedder import Embedder
from recall.evaluation.metrics import EvalCase, evaluate, measure, percentile, read_cases
from recall.index.sync import SyncReport
from recall.settings import RecallSettings

FOUND = ["x1", "a", "x2", "x3", "b", "x4", "c"]


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        (["a"], {"frac@1": 0, "any@1": 0, "all@1": 0, "frac@5": 1, "any@5": 1, "all@5": 1, "mrr@10": 0.5}),
        (["a", "b", "z"], {"frac@5": 2 / 3, "any@5": 1, "all@5": 0, "mrr@10": 0.5}),
        (["c", "z"], {"frac@5": 0, "any@5": 0, "frac@10": 0.5, "any@10": 1, "all@10": 0, "mrr@10": 1 / 7}),
        (["z"], {"frac@10": 0, "any@10": 0, "all@10": 0, "mrr@10": 0, "ndcg@10": 0}),
        (["x1"], {"frac@1": 1, "mrr@10": 1, "ndcg@10": 1}),
        (["a", "a"], {"frac@5": 1, "all@5": 1}),
    ],
)
def test_measures_of_one_question(gold: list[str], expected: dict[str, float]) -> None:
    scores = measure(FOUND, gold, (1, 5, 10))
    assert {name: scores[name] for name in expected} == pytest.approx(expected)


def test_ndcg_has_its_ideal_over_all_gold() -> None:
    gained = 1 / math.log2(3) + 1 / math.log2(6)  # at ranks 2 and 5
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)  # three gold sources, one of them not found
    assert measure(FOUND, ["a", "b", "z"], (10,))["ndcg@10"] == pytest.approx(gained / ideal)


def test_ndcg_of_more_gold_than_places_can_be_1() -> None:
    gold = [f"g{n}" for n in range(15)]
    assert measure(gold, gold, (10,))["ndcg@10"] == pytest.approx(1.0)


def test_sources_below_the_tenth_place_do_not_count() -> None:
    found = [f"x{n}" for n in range(10)] + ["a"]
    scores = measure(found, ["a"], (10,))
    assert (scores["frac@10"], scores["mrr@10"], scores["ndcg@10"]) == (0, 0, 0)


def test_percentiles_are_values_that_occurred() -> None:
    times = [float(n) for n in range(1, 101)]
    assert (percentile(times, 50), percentile(times, 95), percentile([7.0], 95), percentile([], 50)) == (50, 95, 7, 0)


def test_a_report_averages_over_questions_with_gold(
    home: Home, say: Callable[..., Path], update: Callable[[], SyncReport], settings: RecallSettings, embedder: Embedder
) -> None:
    say("s1", "the falcon nests in the tower", "the otter swims in the river")
    update()
    questions = [
        EvalCase(query="falcon", expect=("s1#m1",), category="birds"),
        EvalCase(query="falcon", expect=("s1#m1", "s9#m1"), category="birds"),
        EvalCase(query="walrus", expect=("s9#m2",), category="sea"),
        EvalCase(query="nothing is expected", expect=(), category="sea"),
    ]
    report = evaluate(home, questions, settings=settings, embedder=embedder, ks=(1, 5), modes=("lexical",))
    total = report.modes["lexical"]
    assert total.n == 3
    assert total.measures["frac@1"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert total.measures["any@5"] == pytest.approx(2 / 3)
    assert total.measures["all@5"] == pytest.approx(1 / 3)
    assert report.categories["birds"]["lexical"].measures["frac@1"] == pytest.approx(0.75)
    assert report.categories["sea"]["lexical"].n == 1
    assert set(total.latency_ms) == {"p50", "p95"}


def test_a_question_is_answered_by_what_was_said_before_it(
    home: Home, say: Callable[..., Path], update: Callable[[], SyncReport], settings: RecallSettings, embedder: Embedder
) -> None:
    say("s1", "the falcon nests in the tower", "the falcon left the tower")
    update()
    first, second = (row["ts"] for row in map(json.loads, next(home.root.rglob("s1.jsonl")).read_text().splitlines()))
    assert first < second
    found = []
    for before in ("", second, first):
        asked = [EvalCase(query="falcon tower", expect=("s1#m1", "s1#m2"), before=before)]
        report = evaluate(home, asked, settings=settings, embedder=embedder, ks=(5,))
        found.append([report.modes[mode].measures["frac@5"] for mode in ("lexical", "vector", "hybrid")])
    assert found == [[1.0] * 3, [0.5] * 3, [0.0] * 3]


def test_session_grain_counts_each_session_once(
    home: Home, say: Callable[..., Path], update: Callable[[], SyncReport], settings: RecallSettings, embedder: Embedder
) -> None:
    """Fill ten places with turns of one session, which must count once."""
    say("busy", *["falcon falcon falcon"] * 40)
    say("quiet", "a falcon among many other words that nobody asked for", "and an answer")
    update()
    questions = [EvalCase(query="falcon", expect=("quiet#m2",))]
    scores = {
        grain: evaluate(home, questions, settings=settings, embedder=embedder, ks=(2,), modes=("lexical",), grain=grain)
        for grain in ("message", "session")
    }
    assert scores["session"].modes["lexical"].measures["frac@2"] == 1.0
    assert scores["message"].modes["lexical"].measures["frac@2"] == 0.0


def test_no_questions_give_an_empty_report(home: Home, settings: RecallSettings, embedder: Embedder) -> None:
    report = evaluate(home, [], settings=settings, embedder=embedder)
    scores = report.as_json()["modes"]["hybrid"]
    assert (scores["n"], scores["frac@10"], scores["latency_ms"]) == (0, 0.0, {"p50": 0.0, "p95": 0.0})
    assert report.categories == {}


@pytest.mark.parametrize(
    ("line", "rule"),
    [("{", "not-json"), ('{"expect": []}', "no-query"), ('{"query": "x", "expect": "s1#m1"}', "bad-expect")],
)
def test_a_bad_line_of_questions_is_named(tmp_path: Path, line: str, rule: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"query": "fine", "expect": ["s1#m1"]}\n\n' + line + "\n", "utf-8")
    with pytest.raises(DocumentInvalid) as caught:
        read_cases(path)
    assert (caught.value.line, caught.value.rule) == (3, rule)


def test_questions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"query": "q", "expect": ["a", "b"], "category": "c", "answer": 3, "before": "2026"}\n', "utf-8")
    assert read_cases(path) == [EvalCase(query="q", expect=("a", "b"), category="c", before="2026")]
