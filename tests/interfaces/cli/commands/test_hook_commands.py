"""Test ``memory guard staged`` and ``memory guard install``, and how ``memory doctor`` reports the hook."""

from __future__ import annotations

import json
import subprocess

from click.testing import CliRunner, Result

from agent_home.home import Home
from interfaces.cli import cli
from tests.consenting import agree

SECRET = "AKIA" + "Z7QX3VJ5LMN2KP4R"


def run(home: Home, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--home", str(home.root)])


def test_staged_reports_findings_and_refuses_the_commit(home: Home) -> None:
    (home.root / "Knowledge" / "a.md").write_text(f"# A\n\nThe key is {SECRET}\n")
    assert run(home, "guard", "staged", "--json").exit_code == 0  # nothing is staged yet
    subprocess.run(["git", "add", "--all"], cwd=home.root, check=True)
    result = run(home, "guard", "staged", "--json")
    data = json.loads(result.stdout)
    assert (result.exit_code, data["refused"]) == (4, True)
    assert [(row["file"], row["line"], row["layer"], row["refused"]) for row in data["findings"]] == [
        ("Knowledge/a.md", 3, "secret", True)
    ]
    assert SECRET not in result.output


def test_install_reports_an_existing_hook(home: Home) -> None:
    hook = home.root / ".git" / "hooks" / "pre-commit"
    hook.unlink()
    data = json.loads(run(home, "guard", "install", "--json").stdout)
    assert (data["state"], data["works"], data["path"]) == ("installed", True, str(hook))
    hook.write_text("#!/bin/sh\n")
    result = run(home, "guard", "install")
    assert (result.exit_code, "memory guard staged" in result.output) == (1, True)


def test_doctor_warns_of_a_missing_hook(home: Home) -> None:
    def hook() -> dict[str, str]:
        checks = json.loads(run(home, "doctor", "--json").stdout)["checks"]
        return next(check for check in checks if check["name"] == "hook")

    assert hook()["status"] == "ok"
    (home.root / ".git" / "hooks" / "pre-commit").unlink()
    assert (hook()["status"], "memory guard install" in hook()["detail"]) == ("warning", True)


def test_doctor_lists_texts_blocked_from_prompts(home: Home) -> None:
    (home.root / "SOUL.md").write_text(f"# Soul\n\nThe key is {SECRET}\n")
    subprocess.run(
        ["git", "-c", "user.name=p", "-c", "user.email=p@example.org", "commit", "--no-verify", "-qam", "mine"],
        cwd=home.root,
        check=True,
    )
    checks = {check["name"]: check for check in json.loads(run(home, "doctor", "--json").stdout)["checks"]}
    assert checks["edits"]["status"] == "ok"  # it is committed
    assert "SOUL.md:3 secret/aws-access-key" in checks["blocked"]["detail"]


def test_a_malformed_rule_stops_the_commit_and_is_named(home: Home) -> None:
    (home.root / "own.toml").write_text("[[rules]]\nid = 'broken'\nregex = '(unclosed'\n")
    manifest = home.root / "agent.toml"
    manifest.write_text(manifest.read_text() + '\n[guard]\nrules = ["own.toml"]\n')
    agree(home)
    (home.root / "Knowledge" / "a.md").write_text("# A\n\nNothing wrong here.\n")
    subprocess.run(["git", "add", "--all"], cwd=home.root, check=True)
    result = run(home, "guard", "staged")
    assert (result.exit_code, "memory doctor" in result.stderr, "other words" in result.stderr) == (4, True, False)
    checks = {check["name"]: check for check in json.loads(run(home, "doctor", "--json").stdout)["checks"]}
    assert (checks["guard"]["status"], "'broken'" in checks["guard"]["detail"]) == ("failed", True)
