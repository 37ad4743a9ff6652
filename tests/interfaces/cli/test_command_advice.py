"""Test the advice of error messages: what is wrong, and what to type instead."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from interfaces.cli import cli
from interfaces.doctor.health import remedy


def run(home: Home, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--home", str(home.root)])


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("search", "x", "-k", "0"), "-k must be 1 or more"),
        (("search", "x", "-k", "abc"), "not a whole number"),
        (("search", ""), "QUERY is empty"),
        (("search", "x", "--in", "memroy"), "no layer 'memroy'. Did you mean 'memory'? See"),
        (("close", "design"), "Run `memory search` or list sessions/"),
        (("review", "show", "q-7c2"), "Nothing else does"),
        (("show", "KD-FKGH"), "Did you mean 'history' or 'review show'?"),
        (("diff", "KD-FKGH"), "`memory history KD-FKGH` shows an entry"),
        (("diff", "HEAD~1", "HEAD"), "write HEAD~1..HEAD"),
    ],
)
def test_wrong_usage_exits_with_2_and_names_the_remedy(home: Home, arguments: tuple[str, ...], advice: str) -> None:
    result = run(home, *arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert advice in line


def test_an_option_before_the_subcommand_is_to_be_written_after_it() -> None:
    result = CliRunner().invoke(cli, ["--home", "x", "search"])
    assert result.exit_code == 2
    assert "Write --home after the subcommand" in result.stderr


def test_help_is_a_command_too() -> None:
    assert CliRunner().invoke(cli, ["help"]).stdout == CliRunner().invoke(cli, ["--help"]).stdout
    assert CliRunner().invoke(cli, ["help", "diff"]).stdout == CliRunner().invoke(cli, ["diff", "--help"]).stdout


def test_a_home_that_the_environment_names_is_named_in_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "AGENT_HOME", str(tmp_path))
    result = CliRunner().invoke(cli, ["check"])
    assert result.exit_code == 3
    assert "correct AGENT_HOME" in result.stderr


def test_a_diff_without_changes_suggests_an_earlier_revision(home: Home) -> None:
    expected = "Nothing changed since the last commit. Try `memory diff HEAD~1`.\n"
    assert run(home, "diff").stdout == expected
    assert run(home, "diff", "HEAD").stdout == "nothing changed\n"


def test_citing_for_an_unknown_session_warns(home: Home) -> None:
    result = run(home, "cite", "KD-ZZZZ", "--session", "s-unknown")
    assert "no session 's-unknown' in sessions/" in result.stderr


@pytest.mark.parametrize("table", ["embedding", "recall", "assembler", "distill", "guard"])
def test_doctor_names_a_wrong_key_of_every_settings_table(home: Home, table: str) -> None:
    manifest = home.root / "agent.toml"
    manifest.write_text(manifest.read_text(encoding="utf-8") + f"\n[{table}]\nunknown_key = 1\n", encoding="utf-8")
    result = CliRunner().invoke(cli, ["doctor", "--json", "--home", str(home.root)])
    found = [check for check in json.loads(result.stdout)["checks"] if check["name"] == "manifest"]
    assert [check["status"] for check in found] == ["failed"]
    assert f"[{table}]: unknown key 'unknown_key'" in found[0]["detail"]


def test_quotation_marks_are_advised_for_injections_and_never_for_secrets() -> None:
    assert remedy(["secret/aws-access-key"]) == "Remove the secret from the file, or erase it with `memory forget`"
    assert "quotation marks" in remedy(["injection/override"])
