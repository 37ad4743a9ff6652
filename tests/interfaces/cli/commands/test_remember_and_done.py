"""Test ``memory remember`` and ``memory done``."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from distill.entries.notes import NOTE_TYPES
from interfaces.cli import cli
from interfaces.cli.commands.remember import TYPES

Run = Callable[..., Result]


@pytest.fixture
def run(home: Home, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs ``memory`` on 2026-11-21, without a model."""
    monkeypatch.setattr("interfaces.indexing.MAX_VECTORS", 0)
    words = ["--home", str(home.root), "--now", "2026-11-21T09:00:00+00:00"]
    return lambda *arguments: CliRunner().invoke(cli, [*arguments, *words])


def test_types_of_the_command_are_those_of_notes() -> None:
    assert set(TYPES) == set(NOTE_TYPES)


def test_a_note_is_printed_found_and_done(run: Run) -> None:
    result = run("remember", "Send the zeppelin deck to Ana", "--type", "thread", "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["section"] == "Open Threads"
    assert data["commit"]
    assert data["id"] in run("search", "zeppelin").output
    assert "zeppelin" in run("prompt").output
    done = run("done", data["id"], "--how", "by mail", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["state"] == "resolved 2026-11-21: by mail"
    assert "zeppelin" not in run("prompt").output
    assert "it had ended before" in run("done", data["id"]).output


def test_a_known_note_names_the_entry(run: Run) -> None:
    run("remember", "We ship on Fridays")
    assert "says that already" in run("remember", "we ship on fridays.").output


def test_dry_runs_write_nothing(run: Run, home: Home) -> None:
    before = (home.root / "MEMORY.md").read_text()
    assert "dry run" in run("remember", "We ship on Fridays", "--dry-run").output
    assert (home.root / "MEMORY.md").read_text() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("remember", " "), "TEXT is empty"),
        (("remember", "Ana is away", "--until", "soon"), "'soon' is no date"),
        (("remember", "Ana is away", "--until", "2026-11-20"), "in the past"),
        (("remember", "Ana is away", "--type", "gossip"), "gossip"),
        (("done", "OT-0000"), "OT-0000"),
    ],
)
def test_wrong_usage_is_one_clear_line(run: Run, arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_a_secret_is_redacted_before_it_is_written(run: Run, home: Home) -> None:
    result = run("remember", "Ana changes the token ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    assert "guard: 1 redacted" in result.output
    assert "ghp_" not in (home.root / "MEMORY.md").read_text()


def test_a_note_names_the_entry_that_it_replaces(run: Run) -> None:
    older = json.loads(run("remember", "The demo is in the small room", "--type", "fact", "--json").stdout)["id"]
    result = run("remember", "We show it in the garden", "--replaces", older)
    assert f"[{older}] is superseded by it: named with --replaces" in result.output
    again = run("remember", "Nobody shows it", "--replaces", older)
    assert again.exit_code != 0
    assert "superseded it" in again.output
