"""``memory stores`` says where the index is, and a dry run fails where the move would."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from interfaces.cli import cli
from recall.index.store_choice import chosen_namespace, moving_namespace
from recall.index.sync import sync
from recall.postgres.connections import close_pools, connection
from recall.servers import DATABASE_VARIABLE
from recall.settings import RecallSettings
from tests.recall.hashing_embedder import HashingEmbedder

Run = Callable[..., Result]


@pytest.fixture
def run(home: Home, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv(DATABASE_VARIABLE, database_url)
    (home.root / "Knowledge").mkdir(exist_ok=True)
    (home.root / "Knowledge" / "towers.md").write_text("# Towers\n\nThe falcon lives in the old tower.\n", "utf-8")
    sync(home, RecallSettings(), HashingEmbedder())
    return lambda *words: CliRunner().invoke(cli, ["stores", *words, "--home", str(home.root)])


def data(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_dry_run_asks_the_server_and_moves_nothing(run: Run, home: Home) -> None:
    planned = run("migrate", "postgresql", "--dry-run").stdout.splitlines()
    assert planned[0].startswith("would move ")
    assert planned[0].endswith(" from sqlite to postgresql")
    assert planned[1].startswith("PostgreSQL ")
    assert chosen_namespace(home) == ""
    moved = run("migrate", "postgresql").stdout
    assert moved.startswith(planned[0].partition(" from ")[0].replace("would move", "moved"))
    assert run("migrate", "postgresql", "--dry-run").stdout == "the index is in postgresql already\n"
    assert data(run("migrate", "sqlite", "--dry-run", "--json"))["index"]["store"] == "postgresql"
    assert run("migrate", "sqlite").exit_code == 0


def test_a_dry_run_fails_without_a_server(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("", f"postgresql://ann:secret@/none?host={tmp_path}"):
        monkeypatch.setenv(DATABASE_VARIABLE, address)
        planned = run("migrate", "postgresql", "--dry-run")
        assert (planned.exit_code, planned.stdout) == (8, "")
        assert "secret" not in planned.stderr
    close_pools()


def test_a_dry_run_back_fails_while_the_server_is_silent(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("migrate", "postgresql").exit_code == 0
    monkeypatch.setenv(DATABASE_VARIABLE, "")
    assert run("migrate", "sqlite", "--dry-run").exit_code == 8
    shown = run("status")
    assert (shown.exit_code, "at an address that is not set" in shown.stdout) == (1, True)


def test_the_status_counts_passages_without_a_vector(run: Run) -> None:
    assert run("migrate", "postgresql").exit_code == 0
    assert data(run("status", "--json"))["index"]["pending"] == 0
    abandoned = data(run("migrate", "sqlite", "--abandon", "--json"))
    index = data(run("status", "--json"))["index"]
    assert (index["store"], index["pending"]) == ("sqlite", abandoned["passages"])


def test_a_search_without_the_server_says_so_once(run: Run, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("migrate", "postgresql").exit_code == 0
    monkeypatch.setenv(DATABASE_VARIABLE, "")
    searched = CliRunner().invoke(cli, ["search", "falcon", "--home", str(home.root)])
    assert (searched.exit_code, searched.stdout) == (0, "nothing found\n")
    assert searched.stderr.count("no database is named") == 1
    asked = CliRunner().invoke(cli, ["prompt", "--message", "falcon", "--home", str(home.root)])
    assert asked.stderr.count("no database is named") == 1


def test_an_index_moves_out_and_back(run: Run) -> None:
    assert "from sqlite to postgresql" in run("migrate", "postgresql", "--dry-run").stdout
    assert "moved" in run("migrate", "postgresql").stdout
    assert "is in postgresql already" in run("migrate", "postgresql").stdout
    assert "checksum" in run("status", "--count").stdout
    assert "moved" in run("migrate", "sqlite").stdout


@pytest.mark.parametrize("option", [(), ("--dry-run",)], ids=["move", "dry run"])
def test_a_move_to_a_server_that_does_not_answer_fails_and_leaves_nothing(
    run: Run, home: Home, tmp_path: Path, option: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for url, said in (
        ("", "no database is named"),
        (f"postgresql://ann:secret@/none?host={tmp_path}", "does not answer"),
        ("postgresql://ann:p@secret@db/none", "is no address"),
    ):
        monkeypatch.setenv(DATABASE_VARIABLE, url)
        result = run("migrate", "postgresql", *option)
        assert result.exit_code == 8
        assert said in result.output
        assert "secret" not in result.output
        assert moving_namespace(home) == ""
    close_pools()


def test_an_index_that_was_left_behind_is_listed_and_removed(
    run: Run, home: Home, new_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATABASE_VARIABLE, new_database_url)
    assert run("list").stdout == "no index is in the database\n"
    assert run("migrate", "postgresql").exit_code == 0
    (index,) = data(run("list", "--json"))["indexes"]
    assert (index["own"], index["home"], index["machine"]) == (True, home.manifest.name, platform.node())
    assert index["passages"] == data(run("status", "--json"))["index"]["passages"] > 0
    used = run("remove", index["namespace"], "--apply")
    assert (used.exit_code, "this home uses that index" in used.stderr) == (2, True)
    assert run("migrate", "sqlite", "--abandon").exit_code == 0
    unknown = run("remove", "nothing", "--apply")
    assert (unknown.exit_code, "0 indexes begin with 'nothing'" in unknown.stderr) == (2, True)
    begun = index["namespace"][:8]
    assert "add --apply" in run("remove", begun).stdout
    assert data(run("list", "--json"))["indexes"] == [{**index, "own": False}]
    assert data(run("remove", begun, "--apply", "--json"))["deleted"] is True
    assert data(run("list", "--json"))["indexes"] == []
    with connection(new_database_url) as conn:
        conn.execute("INSERT INTO index_generations(namespace, live) VALUES ('one', true), ('one-more', true)")
    several = run("remove", "on", "--apply")
    assert (several.exit_code, "2 indexes begin with 'on'" in several.stderr) == (2, True)
    assert run("remove", "one", "--apply").exit_code == 0  # a whole name counts before the beginnings
    assert [one["namespace"] for one in data(run("list", "--json"))["indexes"]] == ["one-more"]
    with connection(new_database_url) as conn:
        assert conn.execute("SELECT count(*) FROM index_passages").fetchone() == (0,)
