"""Test ``memory close``."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime

from click.testing import CliRunner, Result

from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from interfaces.cli import cli


def run(home: Home, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["close", "--home", str(home.root), "--now", "2026-11-21T09:00:00", *arguments])


def say(home: Home, session: str, text: str, now: datetime) -> None:
    message = Message(session=session, id="m1", ts="2026-11-20T10:00:00", content=text)
    transcript.append(home, session, [message], actor="test", now=now)


def test_json_has_the_contracts_keys_and_a_second_run_has_no_new_turns(home: Home, now: datetime) -> None:
    say(home, "a", "Decision: ship on Monday.", now)
    first = run(home, "a", "--json")
    assert first.exit_code == 0, first.output
    data = json.loads(first.stdout)
    assert {"session", "daily", "entries", "proposed", "redacted", "quarantined", "commit"} <= set(data)
    (entry,) = data["entries"]
    assert {"id", "section", "text", "sources", "evidence"} <= set(entry)
    assert (entry["text"], entry["sources"], entry["evidence"]) == (
        "ship on Monday (2026-11-23).",
        ["a#m1"],
        "unchecked",
    )
    second = json.loads(run(home, "a", "--json").stdout)
    assert (second["commit"], second["entries"], second["daily"]) == (None, [], data["daily"])
    assert "no new turns" in run(home, "a").stdout


def test_closing_all_reports_every_session_and_the_totals(home: Home, now: datetime) -> None:
    say(home, "a", "Decision: ship on Monday.", now)
    say(home, "b", "Lesson: check the budget first.", now)
    data = json.loads(run(home, "--all", "--json").stdout)
    assert [row["session"] for row in data["sessions"]] == ["a", "b"]
    assert [entry["text"] for entry in data["entries"]] == ["ship on Monday (2026-11-23).", "check the budget first."]
    assert data["commit"] == data["sessions"][-1]["commit"]
    assert json.loads(run(home, "--all", "--json").stdout)["entries"] == []


def test_new_entries_are_searchable_at_once(home: Home, now: datetime) -> None:
    say(home, "a", "Decision: postpone the zeppelin launch.", now)
    run(home, "a")
    found = CliRunner().invoke(
        cli, ["search", "zeppelin", "--home", str(home.root), "--in", "memory", "--mode", "lexical", "--json"]
    )
    assert "zeppelin" in json.loads(found.stdout)["hits"][0]["text"]


def test_a_reverted_closing_is_repeated_only_with_again(home: Home, now: datetime) -> None:
    say(home, "a", "Decision: ship on Monday.", now)
    commit = json.loads(run(home, "a", "--json").stdout)["commit"]
    git = ["git", "-C", str(home.root), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "revert", "--no-edit", commit], check=True, capture_output=True)
    assert "every session is closed" in run(home, "--all").stdout
    assert "--again" in run(home, "a").stdout
    assert "ship on Monday (2026-11-23)." in run(home, "a", "--again").stdout


def test_closing_all_reports_failed_sessions(home: Home, now: datetime) -> None:
    say(home, "a", "Decision: ship on Monday.", now)
    (home.root / "MEMORY.md").write_bytes(b"\xff\n")
    result = run(home, "--all")
    assert result.exit_code == 1
    assert "session a was not closed" in result.stderr
    assert "no new turns" not in result.stdout
    assert "1 failed" in result.stdout


def test_wrong_usage_is_one_line_and_exit_code_2(home: Home) -> None:
    for arguments in ((), ("a", "--all"), ("--again", "--all")):
        result = run(home, *arguments)
        assert result.exit_code == 2
        assert len(result.stderr.strip().splitlines()) == 1


def test_an_unknown_session_prints_one_line_with_the_next_step(home: Home) -> None:
    result = run(home, "nobody")
    assert result.exit_code not in {0, 1}
    assert len(result.stderr.strip().splitlines()) == 1
    assert "memory search" in result.stderr


def test_a_replacement_is_printed_with_its_new_text(home: Home, now: datetime) -> None:
    say(home, "a", "I live in Lyon and I work as a nurse.", now)
    run(home, "a")
    say(home, "b", "I moved to Paris.", now)
    assert "I work as a nurse. I moved to Paris." in run(home, "b").stdout


def test_a_new_doctor_does_not_end_an_allergy(home: Home, now: datetime) -> None:
    say(home, "a", "I'm allergic to latex. My doctor is Dr Weiss.", now)
    run(home, "a")
    say(home, "b", "My doctor is now Dr Lang.", now)
    run(home, "b")
    memory = (home.root / "MEMORY.md").read_text(encoding="utf-8")
    assert "I'm allergic to latex. My doctor is now Dr Lang.\n  Instead of: My doctor is Dr Weiss.\n" in memory
