"""A broken ``agent.toml`` costs nobody the prompt: its last good version in git is used, and the file is named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from agent_home.documents.check import problems
from agent_home.errors import SettingsBroken, SettingsInvalid
from agent_home.home import Home
from agent_home.last_manifest import with_last_manifest
from agent_home.settings import load_manifest
from interfaces.cli import cli

from .conftest import Git

BROKEN = {
    "empty": b"",
    "conflict": b"<<<<<<< HEAD\nversion = 1\n=======\nversion = 1\n>>>>>>> other\n",
    "half": b'version = 1\nname = "Te',
    "not UTF-8": b"version = 1\nname = '\xff'\n",
}


def test_a_byte_order_mark_and_mixed_line_ends_break_nothing(home: Home) -> None:
    path = home.root / "agent.toml"
    text = path.read_text()
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n", 9).encode())
    assert load_manifest(path).context == home.manifest.context


@pytest.mark.parametrize("data", BROKEN.values(), ids=list(BROKEN))
def test_the_last_good_version_is_used_and_the_problem_named(home: Home, git: Git, data: bytes) -> None:
    wanted = home.manifest.audiences
    path = home.root / "agent.toml"
    path.write_bytes(data)
    git("-c", "user.name=P", "-c", "user.email=p@localhost", "commit", "-qam", "Break it")
    found, problem = with_last_manifest(Home(home.root))
    assert found.manifest.audiences == wanted
    assert "agent.toml" in problem
    assert git("rev-parse", "HEAD~1")[:7] in problem
    with pytest.raises(SettingsBroken):
        _ = Home(home.root).manifest
    assert [one.rule for one in problems(found)] == ["bad-manifest"]


def test_an_unknown_setting_is_still_an_error_and_without_git_nothing_is_guessed(home: Home, tmp_path: Path) -> None:
    path = home.root / "agent.toml"
    path.write_text(path.read_text().replace("version = 1", "version = 1\nunknown = 2"))
    found, problem = with_last_manifest(Home(home.root))
    assert problem == ""
    with pytest.raises(SettingsInvalid, match="unknown"):
        _ = found.manifest
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "agent.toml").write_bytes(b"")
    with pytest.raises(SettingsBroken, match="empty"):
        with_last_manifest(Home(tmp_path / "bare"))


def run(home: Home, *arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, [*arguments, "--home", str(home.root)])
    return result.exit_code, result.stdout, result.stderr


def test_every_command_goes_on_and_says_so_once(home: Home) -> None:
    (home.root / "agent.toml").write_bytes(b"")
    for command in (["prompt", "--message", "cranes"], ["search", "cranes"], ["close", "--all"], ["sync"]):
        code, output, errors = run(home, *command)
        assert (code, errors.count("it is empty")) == (0, 1), errors
        assert output
    code, output, _ = run(home, "doctor", "--json")
    assert code == 1
    assert [one["status"] for one in json.loads(output)["checks"] if one["name"] == "manifest"] == ["failed"]


def in_a_circle(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def as_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def too_large(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate((4 << 20) + 1)


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [(in_a_circle, "unreadable"), (as_a_pipe, "not-a-file"), (too_large, "too-large")],
)
def test_memory_that_cannot_be_read_is_named_and_the_prompt_comes(home: Home, spoil: object, rule: str) -> None:
    spoil(home.root / "MEMORY.md")  # type: ignore[operator]
    code, output, errors = run(home, "prompt", "--message", "cranes")
    assert code == 0
    assert "# Soul" in output
    assert rule in errors
    assert run(home, "search", "cranes")[0] == 0
    assert [one.rule for one in problems(home) if one.file == "MEMORY.md"] == [rule]


@pytest.mark.parametrize("path", [b"Knowledge/bad\xff.md", b"sessions/2026/11/bad\xff.jsonl", b"Projects/bad\xff/a.md"])
def test_a_name_that_is_not_utf8_is_left_out_and_named(home: Home, path: bytes) -> None:
    place = os.fsencode(home.root) + b"/" + path
    os.makedirs(os.path.dirname(place), exist_ok=True)  # noqa: PTH103, PTH120 - the name is bytes
    with open(place, "wb") as file:  # noqa: PTH123
        file.write(b"text\n")
    for command in (["prompt", "--message", "text"], ["search", "text"], ["close", "--all"]):
        assert run(home, *command)[0] == 0
    assert "name-not-utf8" in {one.rule for one in problems(home)}
    assert run(home, "check", "--json")[0] == 1
