"""Test ``memory token``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agent_home.audience import Audience
from agent_home.home import Home
from interfaces.cli import cli
from interfaces.service.http.tokens import find_token, tokens

Run = Callable[..., Result]


@pytest.fixture
def run(home: Home) -> Run:
    words = ["--home", str(home.root), "--now", "2026-11-21T09:00:00+00:00"]
    return lambda *arguments: CliRunner().invoke(cli, ["token", *arguments, *words])


def data(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_token_is_printed_alone_so_that_a_script_can_keep_it(run: Run, home: Home) -> None:
    result = run("add", "pod")
    assert result.exit_code == 0
    found = find_token(home, result.stdout.removesuffix("\n"))
    assert found is not None
    assert "only time" in result.stderr


def test_a_token_without_options_reads_for_jobs(run: Run) -> None:
    found = data(run("add", "pod", "--json"))
    assert (found["name"], found["scopes"], found["audience"]) == ("pod", ["read"], "job")
    assert found["token"].startswith("ah_")


def test_scopes_and_audience_are_those_that_were_asked_for(run: Run, home: Home) -> None:
    run("add", "laptop", "--scope", "review", "--scope", "read", "--scope", "read", "--audience", "owner")
    (token,) = tokens(home)
    assert (token.scopes, token.audience) == (("read", "review"), "owner")


@pytest.mark.parametrize("audience", list(Audience))
def test_every_audience_may_have_tokens(run: Run, audience: str) -> None:
    assert data(run("add", "t", "--audience", audience, "--json"))["audience"] == audience


def test_the_list_shows_names_and_no_secrets(run: Run, home: Home) -> None:
    assert run("list").stdout == "no tokens\n"
    made = [run("add", name).stdout.strip() for name in ("one", "two")]
    shown = run("list")
    assert [line.split() for line in shown.stdout.splitlines()] == [
        ["one", "read", "job", "2026-11-21"],
        ["two", "read", "job", "2026-11-21"],
    ]
    listed = run("list", "--json")
    assert [row["name"] for row in data(listed)["tokens"]] == ["one", "two"]
    secrets = [*made, *(token.digest for token in tokens(home))]
    assert [secret for secret in secrets if secret in shown.output + listed.output] == []


def test_a_removed_token_is_known_no_more(run: Run, home: Home) -> None:
    made = run("add", "pod").stdout.strip()
    assert run("remove", "pod").stdout == "removed pod\n"
    assert find_token(home, made) is None
    again = run("remove", "pod")
    assert again.exit_code == 2
    assert "no token 'pod'" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add", "../x"), "other characters"),
        (("add", ""), "other characters"),
        (("add", "x", "--scope", "admin"), "admin"),
        (("add", "x", "--audience", "everybody"), "everybody"),
        (("add",), "NAME"),
        (("remove", "nobody"), "Known tokens: none"),
    ],
)
def test_wrong_usage_is_one_clear_line_and_makes_no_token(
    run: Run, home: Home, arguments: tuple[str, ...], message: str
) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert tokens(home) == []


def test_a_name_that_is_taken_is_refused_and_the_old_token_stays(run: Run, home: Home) -> None:
    made = run("add", "pod").stdout.strip()
    result = run("add", "pod", "--audience", "owner")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Remove it first" in result.stderr
    assert find_token(home, made) is not None
