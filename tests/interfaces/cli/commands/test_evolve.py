"""Test ``memory evolve``: corrections and the rules that they suggest."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent_home.creation import create
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from interfaces.cli import cli

SAID = "No, sort the report by risk, not by date."


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = create(tmp_path / "home", name="Test", now=datetime(2026, 1, 1, tzinfo=UTC)).home
    for day in ("2026-11-01", "2026-11-02"):
        message = Message(session=f"s-{day}", id="m1", ts=f"{day}T10:00:00", content=SAID)
        transcript.append(made, message.session, [message], actor="import", now=datetime(2026, 11, 2, tzinfo=UTC))
    return made


def run(home: Home, *arguments: str) -> Result:
    result = CliRunner().invoke(cli, [*arguments, "--home", str(home.root), "--now", "2026-11-03T18:00:00+00:00"])
    assert result.exit_code == 0, result.output
    return result


def test_closing_prints_new_corrections(home: Home) -> None:
    closed = json.loads(run(home, "close", "--all", "--json").stdout)
    assert [len(session["learned"]) for session in closed["sessions"]] == [1, 1]
    assert closed["learned"][0].startswith("CR-")
    assert closed["projects"] == []


def test_propose_adds_every_suggestion_to_review_once(home: Home) -> None:
    run(home, "close", "--all")
    shown = json.loads(run(home, "evolve", "--json").stdout)
    (correction,), (suggestion,) = shown["corrections"], shown["suggestions"]
    assert (correction["right"], correction["wrong"], correction["occurrences"]) == (
        "sort the report by risk", "by date", 2,
    )  # fmt: skip
    assert (suggestion["layer"], suggestion["path"], shown["proposed"]) == ("rule", "STEERING.md", [])
    assert json.loads(run(home, "review", "list", "--json").stdout)["proposals"] == []
    done = json.loads(run(home, "evolve", "--propose", "--json").stdout)
    assert done["proposed"] == [suggestion["id"]]
    assert [row["id"] for row in json.loads(run(home, "review", "list", "--json").stdout)["proposals"]] == [
        suggestion["id"]
    ]
    assert json.loads(run(home, "evolve", "--propose", "--json").stdout)["suggestions"] == []


def test_the_text_has_counts_and_the_next_step(home: Home) -> None:
    assert run(home, "evolve").stdout == (
        "0 corrections, 0 of them made more than once\nno rule to suggest\n"
    )  # fmt: skip
    run(home, "close", "--all")
    text = run(home, "evolve").stdout
    assert "2 x sort the report by risk" in text
    assert "rule for STEERING.md, corrected in 2 sessions: - **[RU-" in text
    assert text.endswith("Nothing was changed. Run `memory evolve --propose` to propose them for review\n")
    assert run(home, "evolve", "--propose").stdout.endswith(
        "1 rule waits for a person. `memory review list` lists what waits\n"
    )
