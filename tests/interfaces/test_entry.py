"""The console script: which commands are passed on, and what a hook loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_home.home import Home

SCRIPT = "import sys; from interfaces.entry import main; main()"


def run(
    *arguments: str, given: str = "", folder: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(Path(__file__).parents[2]), **os.environ, **variables}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        input=given, capture_output=True, text=True, env=environment, cwd=folder, check=False,
    )  # fmt: skip


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


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-event", "--host", "codex"), ("stop", "--host"), ("stop",), ("--host", "codex"), ("stop", "--host", "vi"),
        ("stop", "--host", "codex", "--home"), ("stop", "--host", "codex", "--home", "~nobody-of-that-name/x"),
        ("stop", "--host", "codex", "--home", "/dev/null/x"), ("stop", "--host=codex", "--unknown=1", "more"),
    ],
)  # fmt: skip
def test_a_hook_with_odd_arguments_prints_nothing(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run("hook", *arguments, given='{"session_id": "s"}', folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_standard_input_or_output_stops_no_hook(home: Home) -> None:
    words = f"hook stop --host codex --home '{home.root}'"
    script = f'"{sys.executable}" -c "{SCRIPT}" {words}'
    for redirection in ("<&-", ">&-", "<&- >&- 2>&-", "< /dev/null"):
        done = subprocess.run(["sh", "-c", f"{script} {redirection}"], input="", capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (0, b"")


def test_a_hook_does_without_click_and_the_command_line_does_not() -> None:
    """The second half shows that the first can fail."""
    shown = "print(json.dumps('click' in sys.modules))"
    for words, loads_click in ((["hook"], False), (["hook", "--help"], True)):
        code = f"import json, sys; sys.argv = {['memory', *words]!r}\ntry:\n    {SCRIPT}\nfinally:\n    {shown}"
        done = subprocess.run([sys.executable, "-c", code], input="", capture_output=True, text=True, check=True)
        assert json.loads(done.stdout.splitlines()[-1]) is loads_click


def test_an_error_of_a_command_keeps_its_exit_code(tmp_path: Path) -> None:
    assert run("search", "x", "--home", str(tmp_path)).returncode == 3
    assert run("no-such-command").returncode == 2
