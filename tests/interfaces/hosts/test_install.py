"""Hooks in the settings of a host: added beside others, taken out without a trace."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_home.home import Home
from interfaces.hosts.event import HOSTS
from interfaces.hosts.install import SettingsUnreadable, install, settings_path, uninstall

OTHERS: dict[str, Any] = {
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "notify-send done"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "audit hook stop"}]}],
    },
    "last": {"kept": [1, 2]},
}


@pytest.fixture(params=list(HOSTS))
def host(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(host: str, tmp_path: Path) -> Path:
    return settings_path(host, "user", tmp_path / "user")


def ours(path: Path) -> list[str]:
    hooks = json.loads(path.read_text())["hooks"]
    commands = [item["command"] for groups in hooks.values() for group in groups for item in group["hooks"]]
    return [command for command in commands if " hook " in command and "--host" in command]


def test_a_file_of_our_own_comes_and_goes(home: Home, host: str, path: Path) -> None:
    assert install(home, host, path, apply=True).changed
    assert len(ours(path)) == 5
    assert set(json.loads(path.read_text())["hooks"]) == set(HOSTS[host].values())
    assert not install(home, host, path, apply=True).changed
    assert uninstall(home, path, apply=True).after is None
    assert not path.exists()
    assert not path.parent.exists()


@pytest.mark.parametrize("indent", [2, 4, "\t"])
def test_hooks_of_others_stay_and_the_old_bytes_come_back(home: Home, host: str, path: Path, indent: int | str) -> None:
    path.parent.mkdir(parents=True)
    before = json.dumps(OTHERS, indent=indent)  # no newline at the end
    path.write_text(before)
    install(home, host, path, apply=True)
    settings = json.loads(path.read_text())
    assert list(settings) == list(OTHERS)
    assert settings["hooks"]["PreToolUse"] == OTHERS["hooks"]["PreToolUse"]
    assert {"type": "command", "command": "notify-send done"} in [
        item for group in settings["hooks"].get("Stop", []) for item in group["hooks"]
    ]
    assert len(ours(path)) == 5
    uninstall(home, path, apply=True)
    assert path.read_text() == before


def test_what_a_person_changed_meanwhile_stays(home: Home, host: str, path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(OTHERS, indent=2))
    install(home, host, path, apply=True)
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "added": True}, indent=2))
    uninstall(home, path, apply=True)
    assert json.loads(path.read_text()) == {**OTHERS, "added": True}


def test_installing_twice_keeps_the_bytes_of_before_the_first_time(home: Home, host: str, path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text('{"model":"opus"}')
    install(home, host, path, apply=True)
    moved = path.read_text().replace(str(home.root), "/elsewhere")
    path.write_text(moved)
    install(home, host, path, apply=True)
    assert len(ours(path)) == 5
    uninstall(home, path, apply=True)
    assert json.loads(path.read_text()) == {"model": "opus"}


def test_a_dry_run_writes_nothing(home: Home, host: str, path: Path) -> None:
    assert install(home, host, path, apply=False).changed
    assert not path.exists()
    install(home, host, path, apply=True)
    text = path.read_text()
    assert uninstall(home, path, apply=False).changed
    assert path.read_text() == text


@pytest.mark.parametrize("text", ["{", "[]", "// a comment\n{}", '{"hooks": []}', '{"hooks": {"SessionStart": "x"}}'])
def test_a_file_that_is_not_understood_is_left_alone(home: Home, host: str, path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(SettingsUnreadable, match="Nothing was changed"):
        install(home, host, path, apply=True)
    assert path.read_text() == text


def test_a_linked_settings_file_is_written_where_it_is(home: Home, host: str, path: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "settings.json"
    target.parent.mkdir()
    target.write_text("{}\n")
    path.parent.mkdir(parents=True)
    path.symlink_to(target)
    install(home, host, path, apply=True)
    assert path.is_symlink()
    assert len(ours(target)) == 5
    uninstall(home, path, apply=True)
    assert target.read_text() == "{}\n"


def test_the_command_that_is_written_answers_through_a_shell(home: Home, host: str, path: Path, tmp_path: Path) -> None:
    moved = tmp_path / 'an agent\'s "home"'
    home.root.rename(moved)
    install(Home(moved), host, path, apply=True)
    (start,) = [command for command in ours(path) if "session-start" in command]
    assert str(moved) in shlex.split(start)
    event = json.dumps({"session_id": "s1", "cwd": "/", "source": "startup"})
    done = subprocess.run(["sh", "-c", start], input=event, capture_output=True, text=True, check=True)
    name = HOSTS[host]["session-start"]
    assert json.loads(done.stdout)["hookSpecificOutput"]["hookEventName"] == name
