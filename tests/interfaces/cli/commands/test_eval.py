"""Test ``memory eval`` as a regression test of a memory: floors, comparisons, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from interfaces.cli import cli
from recall.embedding.embedder import NoEmbedder
from recall.embedding.model import ModelLocation

Run = Callable[..., Result]


@pytest.fixture
def note(home: Home) -> Path:
    path = home.root / "Knowledge/falcon.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("# Falcon\n\nIt nests in the old tower.\n", "utf-8")
    return path


@pytest.fixture
def run(home: Home, note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("--floor", ...)`` evaluates one question, by words alone."""
    location = ModelLocation(name="none", origin="none", ready=False, detail="no model here")
    none = NoEmbedder(reason="no model here", location=location)
    monkeypatch.setattr("recall.embedding.embedder.open_embedder", lambda *_args, **_options: none)
    questions = tmp_path / "questions.jsonl"
    row = {"query": "where does the falcon nest", "expect": [note.relative_to(home.root).as_posix()], "category": "b"}
    questions.write_text(json.dumps(row) + "\n", "utf-8")
    base = ["eval", str(questions), "--grain", "file", "--home", str(home.root)]
    return lambda *arguments: CliRunner().invoke(cli, [*base, *map(str, arguments)])


@pytest.fixture
def previous(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "previous.json"
    result = run("--json")
    assert result.exit_code == 0, result.output
    path.write_text(result.stdout, "utf-8")
    return path


def test_the_ranks_of_each_question_are_printed(run: Run) -> None:
    data = json.loads(run("--json").stdout)
    (asked,) = data["questions"]
    assert (asked["query"], asked["category"]) == ("where does the falcon nest", "b")
    assert asked["ranks"]["lexical"] == {"Knowledge/falcon.md": 1}
    assert asked["ranks"]["vector"] == {"Knowledge/falcon.md": None}
    assert data["findings"] == []


def test_a_met_floor_exits_with_0_and_a_missed_one_with_1(run: Run) -> None:
    assert run("--floor", "lexical.frac@5=1").exit_code == 0
    result = run("--floor", "lexical.frac@5=1", "--floor", "vector.frac@5=0.5", "--json")
    assert result.exit_code == 1
    assert "memory: vector.frac@5 is 0.000, below 0.5" in result.stderr
    assert json.loads(result.stdout)["findings"] == ["vector.frac@5 is 0.000, below 0.5"]


def test_the_same_memory_is_no_worse_than_before(run: Run, previous: Path) -> None:
    result = run("--compare", previous)
    assert result.exit_code == 0, result.output
    assert "won: 0" in result.stdout
    assert "lost: 0" in result.stdout


def test_a_lost_source_exits_with_1(run: Run, previous: Path, note: Path) -> None:
    note.unlink()
    result = run("--compare", previous)
    assert result.exit_code == 1
    assert "hybrid.frac@5 fell from 1.000 to 0.000" in result.stderr
    assert "Knowledge/falcon.md: 1 -> not found" in result.stdout
    found = json.loads(run("--compare", previous, "--json").stdout)["comparison"]
    assert {turn["mode"] for turn in found["lost"]} == {"lexical", "hybrid"}
    change = next(row for row in found["changes"] if (row["mode"], row["measure"]) == ("hybrid", "frac@5"))
    assert (change["before"], change["after"], change["change"]) == (1.0, 0.0, -1.0)
    assert run("--compare", previous, "--tolerance", "1").exit_code == 0
    assert run("--compare", previous, "--floor", "vector.frac@5=0").exit_code == 0


@pytest.mark.parametrize("floor", ["hybrid", "hybrid.frac@7=0.1", "magic.frac@5=0.1", "hybrid.frac@5=2"])
def test_an_invalid_floor_exits_with_2(run: Run, floor: str) -> None:
    result = run("--floor", floor)
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()[-1:]) == 1
    assert "Traceback" not in result.output


@pytest.mark.parametrize("text", ["nonsense", "{}", '{"modes": {"hybrid": {"frac@3": 1}}, "grain": "file"}'])
def test_a_malformed_previous_file_exits_with_7(run: Run, tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, "utf-8")
    result = run("--compare", path)
    assert result.exit_code == 7, result.output
    assert "bad.json" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("text", ["", "\n", '{"query": "where does the falcon nest", "expect": []}\n'])
def test_a_file_without_a_question_is_wrong_usage(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "questions.jsonl").write_text(text, "utf-8")
    result = run("--json")
    assert (result.exit_code, "questions.jsonl" in result.output, "expect" in result.output) == (2, True, True)
