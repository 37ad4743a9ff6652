"""The console script: which commands are passed on, and what a hook loads."""

from __future__ import annotations

import os
import subprocess
import sys

from agent_home.home import Home

SCRIPT = "import sys; from interfaces.entry import main; main()"


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, env=environment, check=False
    )


def test_a_command_without_a_service_runs_here(home: Home) -> None:
    done = run("search", "postgres", "--home", str(home.root), "--mode", "lexical")
    assert (done.returncode, done.stdout) == (0, "nothing found\n")


def test_the_help_of_a_hook_is_the_help_of_the_command() -> None:
    done = run("hook", "--help")
    assert done.returncode == 0
    assert "Answer a hook of a chat host" in done.stdout


def test_a_hook_without_arguments_prints_nothing() -> None:
    done = run("hook")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_service_starts_by_itself_only_where_settings_allow_it(home: Home) -> None:
    run("search", "postgres", "--home", str(home.root), "--mode", "lexical")
    assert not (home.machine / "service.lock").exists()
