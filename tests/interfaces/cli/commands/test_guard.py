"""Test that ``memory guard scan`` answers every line."""

from __future__ import annotations

import json
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
