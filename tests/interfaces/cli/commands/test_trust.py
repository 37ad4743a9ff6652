"""A person agrees to settings at a terminal, or names exactly what with a digest."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result

from agent_home.home import Home
from agent_home.settings import MANIFEST
from interfaces.cli import cli

ENDPOINT = '\n[distill.endpoint]\nurl = "https://models.example/v1"\nmodel = "m"\nkey-env = "HOME"\n'


def run(home: Home, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--home", str(home.root)])


def pull(home: Home, text: str = ENDPOINT) -> None:
    path = home.root / MANIFEST
    path.write_text(path.read_text() + text)


def test_what_waits_is_named_by_list_doctor_and_prompt(home: Home) -> None:
    assert run(home, "trust").stdout == "nothing waits\n"
    pull(home)
    listed = json.loads(run(home, "trust", "list", "--json").stdout)
    assert [item["key"] for item in listed["settings"]] == ["distill.endpoint"]
    assert "models.example" in run(home, "trust", "list").stdout
    assert "distill.endpoint" in run(home, "prompt").stderr
    checks = {check["name"]: check for check in json.loads(run(home, "doctor", "--json").stdout)["checks"]}
    assert (checks["trust"]["status"], "distill.endpoint" in checks["trust"]["detail"]) == ("warning", True)


def test_without_a_terminal_the_digest_is_required(home: Home) -> None:
    pull(home)
    digest = json.loads(run(home, "trust", "list", "--json").stdout)["settings_digest"]
    assert run(home, "trust", "accept").exit_code == 2
    assert run(home, "trust", "accept", "--as", "Ada").exit_code == 2
    assert run(home, "trust", "accept", "--as", "Ada", "--digest", "0" * 32).exit_code == 2
    assert run(home, "trust", "accept", "no.such", "--as", "Ada", "--digest", digest).exit_code == 2
    planned = json.loads(run(home, "trust", "accept", "--dry-run", "--json").stdout)
    assert planned["would_accept"] == ["distill.endpoint"]
    assert Home(home.root).manifest.waiting
    done = run(home, "trust", "accept", "--as", "Ada", "--digest", digest)
    assert (done.exit_code, "takes effect" in done.stdout) == (0, True)
    assert not Home(home.root).manifest.waiting


def test_an_operator_names_the_digest_in_the_environment(home: Home) -> None:
    pull(home)
    digest = json.loads(run(home, "trust", "list", "--json").stdout)["settings_digest"]
    runner = CliRunner()
    arguments = ["prompt", "--home", str(home.root)]
    assert "distill.endpoint" in runner.invoke(cli, arguments, env={"AGENT_HOME_TRUST_SETTINGS": "0" * 32}).stderr
    assert "distill.endpoint" not in runner.invoke(cli, arguments, env={"AGENT_HOME_TRUST_SETTINGS": digest}).stderr
    assert not Home(home.root).manifest.waiting


def test_refused_settings_are_not_named_again(home: Home) -> None:
    pull(home)
    assert run(home, "trust", "reject", "--as", "Ada").exit_code == 0
    assert "distill.endpoint" not in run(home, "prompt").stderr
    assert "You refused it" in run(home, "trust").stdout


def test_keys_are_added_listed_and_removed(home: Home) -> None:
    assert run(home, "trust", "key", "list").stdout == "no key is trusted\n"
    assert run(home, "trust", "key", "add", "nonsense", "--as", "Ada").exit_code == 2
    assert run(home, "trust", "key", "add", "ab" * 20, "--as", "Ada").exit_code == 0
    assert json.loads(run(home, "trust", "key", "list", "--json").stdout) == {"keys": ["AB" * 20]}
    assert run(home, "trust", "key", "remove", "ABAB", "--as", "Ada").exit_code == 0
    assert run(home, "trust", "key", "list").stdout == "no key is trusted\n"
