"""Test ``memory brief``: the same text as a hook gives, under its limit, and nothing when nothing is found."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from agent_home.imports import import_messages
from interfaces.cli import cli
from interfaces.hosts.brief import brief, recall

FACT = "Our invoices database is PostgreSQL 16."


def run(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["brief", "--home", str(home), *arguments])


@pytest.fixture
def told(home: Home, now: datetime) -> Home:
    """Make a home with one past conversation."""
    import_messages(home, "old", [{"id": "1", "role": "user", "content": FACT}], now=now)
    return home


def test_the_brief_is_printed_and_nothing_else(home: Home, now: datetime) -> None:
    done = run(home.root, "--now", now.isoformat())
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.rstrip("\n") == brief(home, session="", most_chars=9_500, now=now)


@pytest.mark.parametrize("most", [1_000, 2_000, 24_000])
def test_the_limit_counts_characters(home: Home, most: int) -> None:
    data = json.loads(run(home.root, "--max-chars", str(most), "--json").stdout)
    assert data["chars"] == len(data["text"]) <= most
    assert re.search(r'</agent-home mark="[0-9a-f]{32}">\Z', data["text"])


@pytest.mark.parametrize("most", ["999", "0", "-1", "many"])
def test_a_limit_too_small_for_a_brief_is_wrong_usage(home: Home, most: str) -> None:
    done = run(home.root, "--max-chars", most)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--max-chars" in done.stderr


def test_what_is_known_about_a_message_is_printed_instead(told: Home, now: datetime) -> None:
    done = run(told.root, "--recall", "Which database do we use?", "--now", now.isoformat())
    assert FACT in done.stdout
    assert done.stdout.rstrip("\n") == recall(told, "Which database do we use?", session="", most_chars=9_500, now=now)


@pytest.mark.parametrize("message", ["Where do pelicans nest?", "--", '"'])
def test_nothing_is_printed_when_nothing_is_found(home: Home, message: str) -> None:
    done = run(home.root, f"--recall={message}")
    assert (done.exit_code, done.stdout.strip()) == (0, "")
    assert json.loads(run(home.root, f"--recall={message}", "--json").stdout) == {"text": "", "chars": 0}


def test_a_blank_message_asks_for_the_brief(told: Home) -> None:
    assert run(told.root, "--recall", " ").stdout == run(told.root).stdout


def test_the_session_that_asks_is_not_recalled(told: Home) -> None:
    asked = ("--recall", "Which database do we use?", "--session")
    assert FACT in run(told.root, *asked, "new").stdout
    assert FACT not in run(told.root, *asked, "old").stdout


def test_a_folder_without_a_home_has_no_brief(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.exit_code, done.stdout) == (3, "")
