"""Test ``memory distill``: several homes, dry runs, exit codes."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agent_home.creation import create
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.close import unclosed
from interfaces.cli import cli

NOW = "2026-11-21T09:00:00+00:00"
KEYS = {"sessions", "added", "merged", "superseded", "archived", "proposed", "report"}


def memory(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["distill", "--now", NOW, *arguments])


def data(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def say(home: Home, session: str, content: str) -> None:
    message = Message(session=session, id="m1", ts="2026-11-20T10:00:00+00:00", role="user", content=content)
    transcript.append(home, session, [message], actor="test", now=datetime.fromisoformat(NOW))


@pytest.fixture
def homes(home: Home, tmp_path: Path, now: datetime) -> tuple[Home, Home]:
    second = create(tmp_path / "second", now=now).home
    say(home, "one", "Decision: ship on Monday.")
    say(second, "two", "Decision: call legal first.")
    return home, second


def test_the_json_has_the_keys_that_others_rely_on(homes: tuple[Home, Home]) -> None:
    result = memory("--home", str(homes[0].root), "--json")
    assert result.exit_code == 0, result.output
    found = data(result)
    assert set(found) >= KEYS
    assert (found["sessions"], found["added"], found["report"]) == (1, 1, "ledger/nights/2026-11-21.md")
    assert found["homes"][0]["session_ids"] == ["one"]


def test_all_homes_are_maintained_and_counted_together(homes: tuple[Home, Home]) -> None:
    result = memory("--home", str(homes[0].root), "--home", str(homes[1].root), "--json")
    assert result.exit_code == 0, result.output
    found = data(result)
    assert (found["sessions"], found["added"], len(found["report"])) == (2, 2, 2)
    assert [unclosed(home) for home in homes] == [[], []]


def test_one_home_that_fails_does_not_stop_the_others(homes: tuple[Home, Home], tmp_path: Path) -> None:
    (homes[0].root / "agent.toml").write_text("version = 99\n")
    names = [str(homes[0].root), str(tmp_path / "nowhere"), str(homes[1].root)]
    result = memory(*(part for name in names for part in ("--home", name)), "--json")
    assert result.exit_code == 1, result.output
    assert [row["sessions"] for row in data(result)["homes"]] == [0, 0, 1]
    assert "version is 99" in result.stderr
    assert unclosed(homes[1]) == []


def test_a_single_home_that_fails_has_its_own_exit_code(homes: tuple[Home, Home], tmp_path: Path) -> None:
    assert memory("--home", str(tmp_path / "nowhere")).exit_code == 3
    (homes[0].root / "agent.toml").write_text("version = 99\n")
    assert memory("--home", str(homes[0].root)).exit_code == 7


def test_a_dry_run_lists_the_work_and_changes_nothing(homes: tuple[Home, Home]) -> None:
    result = memory("--home", str(homes[0].root), "--dry-run")
    assert result.exit_code == 0, result.output
    assert "Dry run: 1 session," in result.stdout
    assert "close one" in result.stdout
    assert "Nothing was changed. Run `memory distill` to do it" in result.stdout
    assert unclosed(homes[0]) == ["one"]


def test_a_second_run_has_nothing_to_do(homes: tuple[Home, Home]) -> None:
    memory("--home", str(homes[0].root))
    result = memory("--home", str(homes[0].root))
    assert (result.exit_code, "nothing to do" in result.stdout) == (0, True), result.output


def test_the_index_is_updated(homes: tuple[Home, Home]) -> None:
    memory("--home", str(homes[0].root))
    hits = CliRunner().invoke(
        cli, ["search", "ship on Monday", "--home", str(homes[0].root), "--mode", "lexical", "--in", "memory", "--json"]
    )
    assert json.loads(hits.stdout)["hits"]
