"""Test ``memory install`` and ``memory uninstall``: which file they change, what they print, and their exit codes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from interfaces.cli import cli
from interfaces.cli.commands.install import HOSTS
from interfaces.hosts.install import settings_path


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder of a user who has no settings yet."""
    folder = tmp_path / "a user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(home: Home, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--home", str(home.root)])


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_hooks_come_and_go_in_the_settings_of_the_user(home: Home, host: str, user: Path, project: Path) -> None:
    path = settings_path(host, "user", user)
    done = run(home, "install", host)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == f"{path}: hooks written"
    assert done.stdout.splitlines()[1].startswith("Next: start ")
    assert list(files(user)) == [path.relative_to(user).as_posix()]
    assert run(home, "install", host).stdout == f"{path}: nothing to change\n"
    assert run(home, "uninstall", host).stdout == f"{path}: removed\n"
    assert run(home, "uninstall", host).stdout == f"{path}: nothing to change\n"
    assert list(user.iterdir()) == list(project.iterdir()) == []


def test_the_scope_of_a_project_leaves_the_user_alone(home: Home, host: str, user: Path, project: Path) -> None:
    path = settings_path(host, "project", project)
    assert run(home, "install", host, "--scope", "project").exit_code == 0
    assert list(files(project)) == [path.relative_to(project).as_posix()]
    assert list(user.iterdir()) == []
    assert run(home, "uninstall", host).exit_code == 0
    assert path.is_file()
    assert run(home, "uninstall", host, "--scope", "project").exit_code == 0
    assert list(project.iterdir()) == []


def test_a_dry_run_shows_the_change_and_writes_nothing(home: Home, host: str, user: Path) -> None:
    path = settings_path(host, "user", user)
    path.parent.mkdir()
    path.write_text('{\n  "model": "opus"\n}\n')
    before, state = files(user), files(home.root)
    shown = run(home, "install", host, "--dry-run").stdout
    assert shown.splitlines()[-1] == "dry run, nothing is written"
    assert "+" in {line[:1] for line in shown.splitlines()}
    assert f"--home {home.root}" in shown
    assert (files(user), files(home.root)) == (before, state)
    run(home, "install", host)
    installed = files(user)
    assert any(line.startswith("-") for line in run(home, "uninstall", host, "--dry-run").stdout.splitlines())
    assert files(user) == installed


def test_json_names_the_file_and_whether_it_changed(home: Home, host: str, user: Path) -> None:
    path = settings_path(host, "user", user)
    expected: dict[str, Any] = {"host": host, "file": str(path), "changed": True, "dry_run": True}
    assert json.loads(run(home, "install", host, "--dry-run", "--json").stdout) == expected
    assert json.loads(run(home, "install", host, "--json").stdout) == {**expected, "dry_run": False}
    assert json.loads(run(home, "install", host, "--json").stdout)["changed"] is False


UNREADABLE = [b"{", b"[]", b"null", b"// comment\n{}", b"\xff\xfe", b'{"hooks": []}', b'{"hooks": {"SessionStart": 1}}']


@pytest.mark.parametrize("text", UNREADABLE, ids=range(len(UNREADABLE)))
def test_settings_that_are_not_understood_are_named_and_kept(home: Home, user: Path, text: bytes) -> None:
    path = settings_path("claude-code", "user", user)
    path.parent.mkdir()
    path.write_bytes(text)
    done = run(home, "install", "claude-code")
    assert done.exit_code in {7, 8}
    assert done.stdout == ""
    assert str(path) in done.stderr
    assert "Nothing was changed" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert files(user) == {".claude/settings.json": text}


def test_settings_that_are_not_understood_are_an_invalid_file(home: Home, user: Path) -> None:
    path = settings_path("claude-code", "user", user)
    path.parent.mkdir()
    path.write_text("{")
    assert run(home, "install", "claude-code").exit_code == 7


def test_a_folder_in_the_place_of_the_settings_is_named(home: Home, user: Path) -> None:
    path = settings_path("gemini", "user", user)
    path.mkdir(parents=True)
    for command in ("install", "uninstall"):
        done = run(home, command, "gemini")
        assert done.exit_code == 8
        assert str(path) in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_plugin_has_hooks_of_this_home_and_leaves_settings_alone(home: Home, user: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a plugin"
    done = run(home, "install", "claude-code", "--plugin", str(folder))
    assert done.exit_code == 0
    assert sorted(files(folder)) == [".claude-plugin/plugin.json", "hooks/hooks.json"]
    assert str(home.root) in (folder / "hooks" / "hooks.json").read_text()
    assert list(user.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("gemini", "--plugin", "p"),
        ("claude-code", "--plugin", "p", "--dry-run"),
        ("emacs",),
        ("codex", "--scope", "all"),
    ],
)
def test_wrong_usage_writes_nothing(home: Home, user: Path, project: Path, arguments: tuple[str, ...]) -> None:
    assert run(home, "install", *arguments).exit_code == 2
    assert list(user.iterdir()) == list(project.iterdir()) == []


def test_without_a_home_nothing_is_installed(tmp_path: Path, user: Path) -> None:
    assert run(Home(tmp_path / "none"), "install", "codex").exit_code == 3
    assert list(user.iterdir()) == []


def test_the_installed_line_of_a_quoted_home_queues_an_event(home: Home, user: Path, tmp_path: Path) -> None:
    moved = tmp_path / 'it\'s "my" $HOME; a home'
    home.root.rename(moved)
    run(Home(moved), "install", "codex")
    hooks = json.loads(settings_path("codex", "user", user).read_text())["hooks"]
    (line,) = [item["command"] for group in hooks["Stop"] for item in group["hooks"]]
    done = subprocess.run(
        ["/bin/sh", "-c", line], input='{"session_id": "s1"}', capture_output=True, text=True, check=True, cwd=user
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert "s1" in (moved / ".git" / "agent-home" / "hosts" / "queue.jsonl").read_text()


def test_hooks_of_a_home_that_is_gone_are_taken_out(home: Home, host: str, user: Path, project: Path) -> None:
    run(home, "install", host)
    shutil.rmtree(home.root)
    done = CliRunner().invoke(cli, ["uninstall", host])
    assert (done.exit_code, done.stderr) == (0, "")
    assert files(user) == files(project) == {}


def test_a_home_that_moved_is_named_when_the_hooks_are_replaced(
    home: Home, host: str, user: Path, tmp_path: Path
) -> None:
    path = settings_path(host, "user", user)
    run(home, "install", host)
    moved = Home(home.root.rename(tmp_path / "moved"))
    done = run(moved, "install", host)
    assert done.exit_code == 0
    assert f"the hooks in {path} name {home.root}, and no home is there" in done.stderr
    assert run(moved, "install", host).stderr == ""


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_link_out_of_a_project_is_an_error(
    home: Home, host: str, user: Path, project: Path, tmp_path: Path, command: str
) -> None:
    elsewhere = settings_path(host, "project", tmp_path / "elsewhere")
    elsewhere.parent.mkdir(parents=True)
    run(home, "install", host, "--scope", "project")
    settings_path(host, "project", project).rename(elsewhere)
    before = elsewhere.read_bytes()
    settings_path(host, "project", project).symlink_to(elsewhere)
    done = run(home, command, host, "--scope", "project")
    assert done.exit_code == 7
    assert f"leads to {elsewhere}, outside of this project" in done.stderr
    assert elsewhere.read_bytes() == before


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_settings_that_are_a_link_to_themselves_are_named(home: Home, host: str, project: Path, command: str) -> None:
    path = settings_path(host, "project", project)
    path.parent.mkdir()
    path.symlink_to(path.name)
    done = run(home, command, host, "--scope", "project")
    assert (done.exit_code, done.stdout) == (7, "")
    assert f"{path.name} is a link that leads to itself. Nothing was changed" in done.stderr
    assert path.is_symlink()
