"""The retrieval run measures what its tables say: the same questions, values question by question, real differences."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import bench.retrieval
from agent_home.home import Home
from bench.measure.baselines import Find
from bench.measure.bootstrap import Bootstrap
from bench.measure.datasets import fill, homes_of, split_questions
from bench.measure.vector_cache import CachedEmbedder
from bench.retrieval import MEASURES, SystemOutcome, differences, main, measure_baselines, measure_recall
from recall.embedding.embedder import Embedder, open_embedder
from recall.evaluation.metrics import EvalCase, Grain, evaluate, read_cases
from recall.index.sync import sync
from recall.settings import RecallSettings

from .conftest import write_rows

BASELINES = ["substring", "naive FTS5", "vectors alone", "plain RRF"]
OURS = ["ours, lexical", "ours, vector", "ours, hybrid"]
DIFFERENCES = ["hybrid - best baseline", "hybrid - better retriever"]


@pytest.fixture
def _no_model(embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bench.retrieval.__dict__["open_embedder"] is open_embedder
    monkeypatch.setattr(bench.retrieval, "open_embedder", lambda *_arguments, **_options: embedder)


def figures(data: Path, sets: str, *options: str) -> dict[str, Any]:
    path = data / "figures.json"
    assert main(["--data", str(data), "--sets", sets, "--json", str(path), *options]) == 0
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


@pytest.mark.usefixtures("_no_model")
def test_every_system_is_measured_at_both_grains_of_conversations(data: Path) -> None:
    found = figures(data, "locomo")["locomo"]
    assert found["n"] == 4
    assert list(found["systems"]) == [*BASELINES, *OURS, *DIFFERENCES]
    names = {f"{grain} {name}" for grain in ("message", "session") for name in MEASURES[grain]}
    for system in [*BASELINES, *OURS]:
        assert set(found["systems"][system]) == names | {"p50", "p95"}
        interval = found["systems"][system]["message frac@5"]
        assert 0 <= interval["low"] <= interval["mean"] <= interval["high"] <= 1
    assert found["systems"]["ours, lexical"]["message frac@5"]["mean"] == 1.0
    assert not found["degraded"]


@pytest.mark.usefixtures("_no_model")
def test_gold_in_the_prompt_is_measured_through_the_assembled_prompt(data: Path) -> None:
    found = figures(data, "locomo")["locomo"]
    assert list(found["packed"]) == [*BASELINES, "ours", "ours - best baseline"]
    assert found["packed"]["ours"]["1000"]["mean"] == 1.0  # six turns fit
    assert 0 < found["packed_tokens"]["ours"]["1000"] <= 1000


@pytest.mark.usefixtures("_no_model")
def test_documents_are_measured_by_file(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(data, "scifact", "--markdown")["scifact"]
    assert found["systems"]["naive FTS5"]["file any@5"]["mean"] == 1.0
    assert found["packed"] == {}
    lines = capsys.readouterr().out.splitlines()
    assert "| files any@5 | files frac@5 | files mrr@10 | files ndcg@10 | p50 ms | p95 ms |" in lines[2]
    assert {line.count("|") for line in lines if line.startswith("|")} == {8}


@pytest.mark.usefixtures("_no_model")
def test_half_of_the_questions_are_asked_of_the_whole_set(data: Path) -> None:
    both = figures(data, "locomo")["locomo"]
    half = figures(data, "locomo", "--split", "choose")["locomo"]
    rest = figures(data, "locomo", "--split", "confirm")["locomo"]
    assert (half["n"], rest["n"], both["n"]) == (3, 1, 4)
    assert half["about"].startswith("6 texts")


@pytest.mark.usefixtures("_no_model")
def test_a_half_without_questions_is_named_and_left_out(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (data / "locomo").glob("c.*"):
        path.unlink()
    assert main(["--data", str(data), "--sets", "locomo", "--split", "confirm"]) == 1
    assert "locomo has no question in the half 'confirm'" in capsys.readouterr().err


@pytest.mark.usefixtures("_no_model")
def test_a_set_that_is_absent_is_named_and_left_out(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(data), "--sets", "realtalk"]) == 1
    assert "realtalk is left out" in capsys.readouterr().err


@pytest.mark.usefixtures("_no_model")
def test_tables_are_put_into_the_page_with_the_command(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.retrieval, "DOCS", data)
    page = data / "benchmarks.md"
    page.write_text("# M\n<!-- retrieval: begin -->\n<!-- retrieval: end -->\nrest\n", "utf-8")
    assert main(["--data", str(data), "--sets", "scifact", "--write-docs"]) == 0
    text = page.read_text("utf-8")
    assert "`python -m bench.retrieval --data DIR --sets scifact`" in text
    assert "**SciFact**: 3 texts, 2 questions" in text
    assert text.endswith("<!-- retrieval: end -->\nrest\n")


def test_values_by_question_average_to_what_the_evaluation_says(home: Home, data: Path, embedder: Embedder) -> None:
    fill(home, homes_of("locomo", data)[0])
    questions = [question for asked in split_questions(data / "locomo").values() for question in asked]
    sync(home, RecallSettings(), embedder)
    grains: tuple[Grain, ...] = ("message", "session")
    reports = {
        grain: evaluate(home, questions, settings=RecallSettings(), embedder=embedder, grain=grain) for grain in grains
    }
    outcomes = measure_recall(reports)
    for grain in grains:
        for mode, scores in reports[grain].modes.items():
            for name in MEASURES[grain]:
                values = outcomes[f"ours, {mode}"].values[grain, name]
                assert sum(values) / len(values) == pytest.approx(scores.measures[name])


def test_a_baseline_is_judged_by_sessions_at_the_grain_of_sessions() -> None:
    def find(answer: list[str]) -> Find:
        return lambda _query: answer

    questions = [EvalCase(query="?", expect=("s1#1", "s1#2", "s2#1"))]
    found = measure_baselines({"message": {"plain": find(["s1#1"])}, "session": {"plain": find(["s1"])}}, questions)
    assert found["plain"].values["message", "frac@5"] == [pytest.approx(1 / 3)]
    assert found["plain"].values["session", "frac@5"] == [pytest.approx(1 / 2)]


def test_hybrid_is_compared_with_the_best_baseline_of_each_measure() -> None:
    def outcome(frac: list[float], mrr: list[float]) -> SystemOutcome:
        return SystemOutcome(p50=1, p95=1, values={("message", "frac@5"): frac, ("message", "mrr@10"): mrr})

    outcomes = {
        "one": outcome([1, 0, 0], [0, 0, 0]),
        "other": outcome([0, 0, 0], [1, 1, 0]),
        "ours, lexical": outcome([1, 1, 0], [0, 0, 0]),
        "ours, vector": outcome([0, 0, 0], [0, 0, 1]),
        "ours, hybrid": outcome([1, 1, 1], [0, 1, 0]),
    }
    found = differences(outcomes, Bootstrap(3))
    assert list(found) == DIFFERENCES
    assert found["hybrid - best baseline"]["message", "frac@5"].mean == pytest.approx(2 / 3)
    assert found["hybrid - best baseline"]["message", "mrr@10"].mean == pytest.approx(-1 / 3)
    assert found["hybrid - better retriever"]["message", "frac@5"].mean == pytest.approx(1 / 3)
    assert found["hybrid - better retriever"]["message", "mrr@10"].mean == pytest.approx(0)


def test_the_halves_share_no_conversation_and_leave_out_what_has_no_answer(data: Path) -> None:
    halves = split_questions(data / "locomo")
    asked = [q for path in sorted((data / "locomo").glob("*queries.jsonl")) for q in read_cases(path) if q.expect]
    assert [*halves["choose"], *halves["confirm"]] == asked
    assert split_questions(data / "scifact")["choose"][0].query == "Where are feathers?"
    assert len(split_questions(data / "scifact")["confirm"]) == 1


def test_a_filled_home_answers_by_the_addresses_of_the_set(home: Home, data: Path, embedder: Embedder) -> None:
    texts = fill(home, homes_of("locomo", data)[0]) | fill(home, homes_of("scifact", data)[0])
    assert texts["a-1#1"] == "Owl: The lamp in the hall is broken again."
    assert texts["Knowledge/hen.md"] == "hen\nAll about the hen and its eggs."
    assert sync(home, RecallSettings(), embedder).passages >= len(texts)


def test_vectors_are_made_once_for_all_runs(embedder: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AGENT_HOME_CACHE", str(tmp_path))
    first = CachedEmbedder(embedder)
    vectors = first.embed(["one", "two", "one"])
    assert (embedder.count, first.made) == (2, 2)
    first.save()
    second = CachedEmbedder(embedder)
    assert (second.embed(["two", "one"]) == vectors[[1, 0]]).all()
    assert (embedder.count, second.made) == (2, 0)
    assert len(second.embed(["three"])) == second.made == 1


def _write_person(data: Path, name: str, chinese: str, english: str) -> None:
    folder = data / "lifebench"
    folder.mkdir(exist_ok=True)
    for language, text in (("zh", chinese), ("en", english)):
        row = {
            "session": f"{name}-1",
            "id": "1",
            "ts": "2026-05-01T10:00:00",
            "role": "user",
            "name": name,
            "content": text,
        }
        path = folder / f"{name}.{language}.transcript.jsonl.gz"
        path.write_bytes(gzip.compress((json.dumps(row) + "\n").encode()))
        question = {"query": {"zh": "买了什么？", "en": "What was bought?"}[language], "expect": [f"{name}-1#1"]}
        write_rows(folder / f"{name}.{language}.queries.jsonl", [question])


@pytest.mark.usefixtures("_no_model")
def test_each_person_of_lifebench_has_a_home_and_its_own_questions(data: Path) -> None:
    _write_person(data, "ann", "买了一把雨伞。", "Bought an umbrella.")
    _write_person(data, "bob", "买了一块手表。", "Bought a watch.")
    found = figures(data, "lifebench-zh,lifebench-cross")
    assert found["lifebench-zh"]["n"] == found["lifebench-cross"]["n"] == 2
    assert "2 homes" in found["lifebench-zh"]["about"]
    assert found["lifebench-zh"]["systems"]["ours, lexical"]["message frac@5"]["mean"] == 1.0
    (first, _) = homes_of("lifebench-cross", data)
    assert [path.name for path in first.transcripts] == ["ann.zh.transcript.jsonl.gz"]
    assert first.halves["choose"][0].query == "What was bought?"


def test_a_question_of_realmem_is_asked_at_its_time(data: Path) -> None:
    folder = data / "realmem"
    ts = "2026-05-02T10:00:00"
    asked = {"query": "Which lamp?", "expect": ["a-1"], "ts": ts}
    write_rows(folder / "a.session-queries.jsonl", [asked, asked | {"expect": []}])
    (only,) = homes_of("realmem", data)
    assert only.halves == {
        "choose": [EvalCase(query="Which lamp?", expect=("a-1",), before=ts)],
        "confirm": [],
    }
