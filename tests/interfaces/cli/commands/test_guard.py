"""Test that ``memory guard scan`` answers every line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from interfaces.cli import cli


@pytest.fixture(autouse=True)
def no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGENT_HOME", raising=False)


def scan(lines: str) -> Result:
    return CliRunner().invoke(cli, ["guard", "scan", "--jsonl"], input=lines)


def test_a_malformed_line_is_answered_and_the_next_one_is_read() -> None:
    bad = ["not json", "[1]", "{}", '{"text": 5}', '{"text": "x", "source": "nobody"}', '"text"', "[" * 100_000]
    result = scan("".join(f"{line}\n" for line in [*bad, '{"text": "fine"}']))
    assert result.exit_code == 1
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [list(row) for row in rows[:-1]] == [["error"]] * len(bad)
    assert [row["error"].split(" is no")[0] for row in rows[:-1]] == [f"line {n}" for n in range(1, len(bad) + 1)]
    assert rows[-1]["action"] == "allow"


def test_lines_without_findings_exit_with_0() -> None:
    result = scan('{"text": "fine"}\n\n{"text": "good", "source": "tool"}\n')
    assert result.exit_code == 0
    assert [json.loads(line)["text"] for line in result.stdout.splitlines()] == ["fine", "good"]


def test_an_unknown_destination_is_wrong_usage_and_lists_the_known_ones() -> None:
    result = CliRunner().invoke(cli, ["guard", "scan", "--destination", "nowhere"], input="text")
    assert (result.exit_code, "'nowhere'" in result.output, "user_profile" in result.output) == (2, True, True)
    profile = ["guard", "scan", "--destination", "user_profile", "--json"]
    result = CliRunner().invoke(cli, profile, input="a@example.org")
    assert (result.exit_code, json.loads(result.stdout)["action"]) == (0, "allow")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("others", [[], ["notes.md"]])
def test_a_named_pipe_is_refused_with_its_name(tmp_path: Path, others: list[str]) -> None:
    """Hole: the command waited for somebody who writes into the pipe."""
    (tmp_path / "notes.md").write_text("fine")
    os.mkfifo(tmp_path / "p.md")
    result = CliRunner().invoke(cli, ["guard", "scan", "p.md", *others])
    assert result.exit_code == 2
    assert "p.md is a pipe" in result.stderr
    assert "Name a regular file" in result.stderr


def test_a_pipe_that_the_shell_opened_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"fine")
    os.close(writing)
    try:
        result = CliRunner().invoke(cli, ["guard", "scan", f"/dev/fd/{reading}"])
    finally:
        os.close(reading)
    assert (result.exit_code, result.stdout) == (0, "allow\n")
