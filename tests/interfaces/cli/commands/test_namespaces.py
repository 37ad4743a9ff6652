"""Test ``memory namespaces``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from interfaces.api import AgentNamespace
from interfaces.cli import cli
from recall.postgres.connections import close_pools
from recall.servers import DATABASE_VARIABLE
from tests.made_namespaces import NOW, made_namespace, query, talk

Run = Callable[..., Result]


@pytest.fixture
def run(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv(DATABASE_VARIABLE, database_url)
    monkeypatch.setattr("interfaces.api.namespace.default_embedder", made_namespace(database_url)._open)

    def ran(*words: str, text: str = "") -> Result:
        command, *rest = words
        return CliRunner().invoke(cli, ["namespaces", command, *rest, "--now", NOW.isoformat()], input=text)

    return ran


@pytest.fixture
def crew(database_url: str) -> AgentNamespace:
    namespace = made_namespace(database_url)
    talk(namespace, "I prefer Flask to FastAPI.", "I lead Project Heron in Oslo.", session="s1")
    return namespace


def data(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_namespaces_are_listed_by_their_beginning(run: Run, crew: AgentNamespace) -> None:
    assert run("list", "--prefix", crew.name).stdout == f"{crew.name}\n"
    assert data(run("list", "--prefix", crew.name, "--json")) == {"namespaces": [crew.name]}
    assert run("list", "--prefix", "%").stdout == "no namespaces\n"


def test_stats_count_what_a_namespace_holds(run: Run, crew: AgentNamespace) -> None:
    shown = run("stats", crew.name).stdout
    assert shown.startswith("2 messages, 0 not read yet, 0 held back by the guard\n2 memories")
    assert data(run("stats", crew.name, "--json"))["memories"] == 2


def test_retrieve_prints_memories_with_their_relevance(run: Run, crew: AgentNamespace) -> None:
    shown = run("retrieve", crew.name, "Flask or FastAPI?").stdout
    assert "Flask" in shown.splitlines()[0]
    assert "relevance" in shown
    assert data(run("retrieve", crew.name, "Flask or FastAPI?", "--limit", "1", "--json"))["tokens"] <= 2000
    assert run("retrieve", crew.name, "xylophone").stdout == "no memory fits\n"


def test_retrieve_prints_the_text_of_a_prompt(run: Run, crew: AgentNamespace) -> None:
    lines = run("retrieve", crew.name, "Flask or FastAPI?", "--text").stdout.splitlines()
    assert (lines[0][:18], lines[-1]) == ("<agent-home-recall", "</agent-home-recall>")
    assert run("retrieve", crew.name, "xylophone", "--text").stdout == ""


@pytest.mark.parametrize(
    "command", [("stats",), ("retrieve",), ("promote",), ("process",), ("forget", "--session", "s")]
)
def test_a_mistyped_name_is_an_error(run: Run, command: tuple[str, ...]) -> None:
    name, *options = command
    words = [name, "nobody", *(["word"] if name == "retrieve" else []), *options]
    result = run(*words)
    assert (result.exit_code, "memory namespaces list" in result.stderr) == (2, True)


def test_process_reads_one_namespace_or_all_that_are_due(run: Run, crew: AgentNamespace) -> None:
    crew.record("My dog is called Rex.", now=NOW)
    assert run("process", crew.name).stdout.startswith("1 message read: 1 new")
    crew.record("My cat is called Tom.", now=NOW)
    assert data(run("process", "--json"))["messages"] >= 1
    assert crew.stats().pending == 0


def test_promote_share_and_split_do_what_they_say(run: Run, crew: AgentNamespace, database_url: str) -> None:
    assert run("promote", crew.name, "--if-due").stdout == "not due\n"
    assert data(run("promote", crew.name, "--json"))["reason"] == "rule"
    other = made_namespace(database_url)
    other.record("Hello.", now=NOW)
    assert run("share", crew.name, other.name).stdout == f"{other.name} reads {crew.name}\n"
    assert run("share", crew.name, other.name).stdout == "shared already\n"
    assert f"read by {other.name}" in run("stats", crew.name).stdout
    assert run("share", crew.name, other.name, "--stop").stdout == "stopped\n"
    assert run("split", crew.name, "1").exit_code == 2


def test_forget_counts_and_deletes_only_with_apply(run: Run, crew: AgentNamespace) -> None:
    counted = run("forget", crew.name, "--text", "Project Heron")
    assert counted.stdout == "would change 1 message, 1 memory goes\n  --apply does it\n"
    assert crew.stats().memories == 2
    assert data(run("forget", crew.name, "--text", "-", "--apply", "--json"
                    , text="Project Heron\n"))["messages"] == 1  # fmt: skip
    assert run("forget", crew.name, "--session", "s1", "--apply").exit_code == 0
    assert "would delete" in run("forget", crew.name, "--everything").stdout
    assert run("forget", crew.name, "--everything", "--apply").stdout.startswith("deleted")
    assert run("stats", crew.name).exit_code == 2


@pytest.mark.parametrize("options", [[], ["--text", "a", "--session", "b"], ["--everything", "--memory", "1"]])
def test_forget_takes_one_target(run: Run, crew: AgentNamespace, options: list[str]) -> None:
    assert run("forget", crew.name, *options).exit_code == 2


def test_without_a_server_the_variable_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DATABASE_VARIABLE)
    assert DATABASE_VARIABLE in run("list").stderr
    monkeypatch.setenv(DATABASE_VARIABLE, f"postgresql://ann:secret@/none?host={tmp_path}")
    for words in (
        ["list"],
        ["stats", "n"],
        ["retrieve", "n", "x"],
        ["process"],
        ["forget", "n", "--text", "long text"],
    ):
        result = run(*words)
        assert result.exit_code == 8
        assert DATABASE_VARIABLE in result.stderr
        assert "secret" not in result.stderr
        assert "Traceback" not in result.stderr
    close_pools()


def test_a_terminal_is_not_obeyed(run: Run, database_url: str, crew: AgentNamespace) -> None:
    query(
        database_url, "UPDATE agent_memory.long_term_memory m SET summary = %s FROM agent_memory.namespaces n "
        "WHERE n.id = m.namespace AND n.name = %s", "Flask \x1b[2J gone", crew.name,
    )  # fmt: skip
    for form in ([], ["--text"]):
        assert "\x1b" not in run("retrieve", crew.name, "Flask or FastAPI?", *form).stdout
