"""Test the output, JSON keys and exit codes of the commands for search and index."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from agent_home.store.transcript import Message, append
from interfaces.cli import cli
from interfaces.cli.commands.search import DUPLICATES, MAX_HITS, MODES, UNITS
from recall.embedding.embedder import NoEmbedder
from recall.embedding.model import ModelLocation
from recall.search import hybrid as recall_search

Run = Callable[..., Result]


@pytest.fixture
def run(home: Home, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("search", "words")`` in the home, without a model: words alone."""
    location = ModelLocation(name="none", origin="none", ready=False, detail="no model here")
    none = NoEmbedder(reason="no model here", location=location)
    monkeypatch.setattr("recall.embedding.embedder.open_embedder", lambda *_args, **_options: none)
    note = home.root / "Knowledge/falcon.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("# Falcon\n\nIt nests in the old tower.\n", "utf-8")
    return lambda *arguments: CliRunner().invoke(cli, [*map(str, arguments), "--home", str(home.root)])


def data(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_sync_reports_its_counts(run: Run) -> None:
    found = data(run("sync", "--json"))
    assert (found["added"], found["changed"], found["removed"], found["embedded"]) == (1, 0, 0, 0)
    assert found["seconds"] >= 0
    assert "no model here" in found["degraded"][0]
    assert data(run("sync", "--json"))["added"] == 0


def test_who_switched_vectors_off_is_not_told_to_compute_them(home: Home) -> None:
    with (home.root / "agent.toml").open("a") as manifest:
        manifest.write("\n[embedding]\nenabled = false\n")
    arguments = ["--home", str(home.root)]
    remembered = CliRunner().invoke(cli, ["remember", "Leo is allergic to nuts", *arguments])
    assert (remembered.exit_code, remembered.stderr) == (0, "")
    doctor = CliRunner().invoke(cli, ["doctor", "--json", *arguments])
    assert next(row["status"] for row in json.loads(doctor.stdout)["checks"] if row["name"] == "index") == "ok"


def test_search_indexes_new_files_first(run: Run) -> None:
    found = data(run("search", "where does it nest?", "--json"))
    assert found["hits"][0]["source"] == "Knowledge/falcon.md#L3"
    assert {"source", "score", "text", "layer", "ts"} <= set(found["hits"][0])
    assert found["ms"] > 0
    assert any("words only: no model here" in line for line in found["degraded"])


def test_search_prints_lines_for_a_person(run: Run) -> None:
    result = run("search", "tower", "--mode", "lexical", "--explain")
    assert "Knowledge/falcon.md#L3" in result.stdout
    assert "It nests in the old tower." in result.stdout
    assert result.stderr == ""
    assert run("search", "zyzzyva", "--mode", "lexical").stdout == "nothing found\n"


def test_search_joins_several_words_and_marks_entries_that_ended(run: Run, home: Home) -> None:
    old = "- **[KD-2M0Q]** 2026-03-01 Falcons nest in May.\n  Superseded-By: KD-7F3A\n"
    new = "- **[KD-7F3A]** 2026-04-01 Falcons nest in June.\n"
    (home.root / "MEMORY.md").write_text(f"# Memory\n\n## Key Decisions\n\n{new}{old}", "utf-8")
    shown = run("search", "falcons", "in", "May", "--in", "memory").stdout
    assert shown.index("June") < shown.index("[superseded by KD-7F3A (2026-04-01)]") < shown.index("May")
    hits = data(run("search", "falcons", "in", "May", "--in", "memory", "--json"))["hits"]
    assert [(hit["state"], hit["superseded_by"]) for hit in hits] == [("live", None), ("superseded", "KD-7F3A")]


def test_search_accepts_layers_a_number_and_an_audience(run: Run) -> None:
    assert data(run("search", "tower", "--in", "daily,sessions", "--json"))["hits"] == []
    assert len(data(run("search", "tower", "-k", "1", "--json"))["hits"]) == 1
    assert len(data(run("search", "tower", "--audience", "group", "--json"))["hits"]) == 1


@pytest.mark.parametrize(
    "arguments", [("x", "--in", "mail"), ("x", "-k", "-1"), ("x", "-k", "1001"), ("x", "--mode", "fuzzy"), ()]
)
def test_wrong_usage_of_search_exits_with_2(run: Run, arguments: tuple[str, ...]) -> None:
    assert run("search", *arguments).exit_code == 2


def test_the_modes_of_the_command_are_those_of_recall() -> None:
    assert MODES == recall_search.MODES
    assert DUPLICATES == recall_search.DUPLICATES
    assert UNITS == recall_search.UNITS
    assert MAX_HITS == recall_search.MAX_HITS


def test_search_collapses_or_shows_duplicates(run: Run, home: Home) -> None:
    said = (home.root / "Knowledge/falcon.md").read_text("utf-8")
    (home.root / "Knowledge/twin.md").write_text(said, "utf-8")
    hits = data(run("search", "tower", "--json"))["hits"]
    assert len(hits) == 1
    assert [source.partition("#")[0] for source in (hits[0]["source"], *hits[0]["also"])] == [
        "Knowledge/falcon.md", "Knowledge/twin.md",
    ]  # fmt: skip
    assert "the same: Knowledge/twin.md#" in run("search", "tower").stdout
    shown = data(run("search", "tower", "--duplicates", "show", "--json"))["hits"]
    assert [hit["also"] for hit in shown] == [[], []]


def test_reindex_and_verify(run: Run, home: Home) -> None:
    result = run("index", "verify", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["differences"] == ["there is no index. Run `memory sync`"]
    found = data(run("reindex", "--json"))
    assert found["passages"] == 1
    assert found["seconds"] >= 0
    assert data(run("index", "verify", "--json"))["ok"] is True
    (home.root / "Knowledge/falcon.md").write_text("changed\n", "utf-8")
    result = run("index", "verify")
    assert result.exit_code == 1
    assert "Knowledge/falcon.md changed since it was indexed. Run `memory sync`" in result.stdout


def test_eval_prints_the_measures_by_mode_and_category(run: Run, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    rows = [
        {"query": "where does the falcon nest", "expect": ["Knowledge/falcon.md"], "category": "birds"},
        {"query": "nobody knows", "expect": [], "category": "none"},
    ]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found = data(run("eval", questions, "-k", "1,3", "--grain", "file", "--json"))
    scores = found["modes"]["lexical"]
    assert (scores["n"], scores["frac@1"], scores["any@3"], scores["all@3"]) == (1, 1.0, 1.0, 1.0)
    assert (scores["mrr@10"], scores["ndcg@10"]) == (1.0, 1.0)
    assert set(scores["latency_ms"]) == {"p50", "p95"}
    assert set(found["modes"]) == {"lexical", "vector", "hybrid"}
    assert set(found["categories"]) == {"birds"}
    table = run("eval", questions, "--grain", "file").stdout
    assert "frac@5" in table
    assert "birds" in table


@pytest.mark.parametrize("depths", ["0", "five", "5,1001"])
def test_eval_refuses_other_depths(run: Run, tmp_path: Path, depths: str) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text("", "utf-8")
    assert run("eval", questions, "-k", depths).exit_code == 2


def test_a_malformed_line_of_questions_exits_with_7(run: Run, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text("nonsense\n", "utf-8")
    result = run("eval", questions)
    assert result.exit_code == 7
    assert "questions.jsonl:1: is not valid JSON" in result.stderr


def test_a_busy_index_exits_with_5(run: Run, home: Home) -> None:
    from recall.index.sync import sync_lock

    manifest = home.root / "agent.toml"
    manifest.write_text(manifest.read_text("utf-8") + "\n[recall]\nsync_timeout_s = 0.05\n", "utf-8")
    with sync_lock(home, 1.0):
        result = run("sync")
    assert result.exit_code == 5
    assert "sync.lock" in result.stderr


def test_an_unusable_index_exits_with_6(run: Run, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.index.mkdir(parents=True)

    def refused(self: Path, _target: Path) -> Path:
        raise OSError(errno.EROFS, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "rename", refused)
    result = run("sync")
    assert result.exit_code == 6, result.output
    assert "Traceback" not in result.output


def test_a_folder_without_a_home_exits_with_3(tmp_path: Path) -> None:
    for command in (["sync"], ["search", "x"], ["reindex"], ["index", "verify"]):
        assert CliRunner().invoke(cli, [*command, "--home", str(tmp_path)]).exit_code == 3


@pytest.mark.parametrize("name", ["assistant", "User", "Sam Ortiz"])
def test_a_turn_is_shown_with_its_role_whatever_its_name(run: Run, home: Home, name: str) -> None:
    """Before, the name stood in the place of the role."""
    turns = [Message(session="s", id="1", role="participant", name=name, content="The printer is on floor four.")]
    append(home, "s", turns, actor="test")
    (hit,) = data(run("search", "printer", "--json"))["hits"]
    assert (hit["role"], hit["name"]) == ("participant", name)
    label = 'participant "Sam Ortiz"' if name == "Sam Ortiz" else "participant"
    assert f" {label}: The printer is on floor four." in run("search", "printer").stdout
