"""Test ``memory stores``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from interfaces.cli import cli
from recall.index.store_choice import moving_namespace
from recall.index.sync import sync
from recall.postgres.connections import close_pools
from recall.servers import DATABASE_VARIABLE
from recall.settings import RecallSettings

Run = Callable[..., Result]


@pytest.fixture
def run(home: Home) -> Run:
    sync(home, RecallSettings(), None)
    return lambda *words: CliRunner().invoke(cli, ["stores", *words, "--home", str(home.root)])


def test_an_index_moves_out_and_back(run: Run, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATABASE_VARIABLE, database_url)
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
