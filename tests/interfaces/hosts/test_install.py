"""Hooks in the settings of a host: added beside others, taken out without a trace."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent_home import storage
from agent_home.consent.signed_record import read_record, write_record
from agent_home.creation import create
from agent_home.home import Home
from interfaces.hosts.event import HOSTS
from interfaces.hosts.install import (
    SettingsElsewhere,
    SettingsUnreadable,
    absent_homes,
    handler,
    install,
    settings_path,
    uninstall,
)

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
    hooks = json.loads(path.read_text(encoding="utf-8-sig"))["hooks"]
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


def written(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def commands(path: Path, event: str) -> list[str]:
    groups = json.loads(path.read_text())["hooks"].get(event, [])
    return [item["command"] for group in groups for item in group["hooks"]]


ODD_FILES: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n\n",
    "empty-object": b"{}",
    "one-line": b'{"model":"opus","hooks":{}}',
    "byte-order-mark": b'\xef\xbb\xbf{"model": "opus"}\n',
    "windows": b'{\r\n\t"model": "opus",\r\n\t"hooks": {}\r\n}\r\n',
    "odd-spaces": b'{ "b" :1,\n\n      "a": [ 1.0,1e2, -0.0 ] }',
    "other-scripts": '{"name": "港口 \\u00e9 é", "emoji": "⚓"}'.encode(),
    "empty-event": b'{"hooks": {"Stop": [], "SessionStart": []}}',
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_the_old_bytes_come_back_whatever_they_were(home: Home, host: str, path: Path, name: str) -> None:
    written(path, ODD_FILES[name])
    assert install(home, host, path, apply=True).changed
    assert len(ours(path)) == 5
    install(home, host, path, apply=True)
    uninstall(home, path, apply=True)
    assert path.read_bytes() == ODD_FILES[name]
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("groups", ["[null]", "[{}]", '[{"hooks": "x"}, ""]'])
def test_groups_of_another_shape_stay_as_they_are(home: Home, host: str, path: Path, groups: str) -> None:
    before = f'{{"hooks": {{"Other": {groups}}}}}'
    written(path, before)
    install(home, host, path, apply=True)
    assert json.loads(path.read_text())["hooks"]["Other"] == json.loads(groups)
    uninstall(home, path, apply=True)
    assert path.read_text() == before


def test_unknown_keys_their_order_and_the_indent_stay(home: Home, host: str, path: Path) -> None:
    settings = {"z": 1, "hooks": {"Zz": [{"hooks": []}]}, "a": {"é": None}, "港": [True, 1.5]}
    written(path, json.dumps(settings, indent=3, ensure_ascii=False))
    install(home, host, path, apply=True)
    text = path.read_text()
    after = json.loads(text)
    assert list(after) == list(settings)
    assert next(iter(after["hooks"])) == "Zz"
    assert {**after, "hooks": settings["hooks"]} == settings
    assert '\n   "z": 1' in text
    assert '"港"' in text


def test_hooks_of_others_in_a_group_of_ours_stay(home: Home, host: str, path: Path) -> None:
    event = HOSTS[host]["stop"]
    install(home, host, path, apply=True)
    settings = json.loads(path.read_text())
    mine = {"type": "command", "command": "notify-send done"}
    settings["hooks"][event][0] = {"matcher": "*", "hooks": [mine, *settings["hooks"][event][0]["hooks"]]}
    written(path, json.dumps(settings, indent=2))
    install(home, host, path, apply=True)
    assert len(ours(path)) == 5
    assert commands(path, event)[0] == "notify-send done"
    uninstall(home, path, apply=True)
    assert json.loads(path.read_text()) == {"hooks": {event: [{"matcher": "*", "hooks": [mine]}]}}


def test_a_command_of_another_program_with_like_words_stays(home: Home, host: str, path: Path) -> None:
    other = "pager hook stop --host laptop"
    written(path, json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": other}]}]}}))
    install(home, host, path, apply=True)
    assert other in commands(path, "Stop")


def test_two_homes_replace_one_another_and_either_takes_the_hooks_out(
    home: Home, host: str, path: Path, tmp_path: Path, now: datetime
) -> None:
    written(path, '{"model": "opus"}')
    install(home, host, path, apply=True)
    other = create(tmp_path / "other", name="Other", now=now).home
    install(other, host, path, apply=True)
    assert len(ours(path)) == 5
    assert all(str(other.root) in command for command in ours(path))
    uninstall(home, path, apply=True)
    assert json.loads(path.read_text()) == {"model": "opus"}


def test_taking_out_what_is_not_there_changes_nothing(home: Home, host: str, path: Path) -> None:
    assert not uninstall(home, path, apply=True).changed
    assert not path.parent.exists()
    before = written(path, json.dumps(OTHERS)).read_bytes()
    assert not uninstall(home, path, apply=True).changed
    assert path.read_bytes() == before


def test_a_second_round_puts_back_the_bytes_of_its_own_time(home: Home, host: str, path: Path) -> None:
    for text in ('{"a":1}', '{ "b": [2] }', "{}"):
        written(path, text)
        install(home, host, path, apply=True)
        uninstall(home, path, apply=True)
        assert path.read_text() == text


def test_a_folder_that_was_there_stays(home: Home, host: str, path: Path) -> None:
    path.parent.mkdir(parents=True)
    install(home, host, path, apply=True)
    uninstall(home, path, apply=True)
    assert path.parent.is_dir()


def test_a_link_to_a_file_that_is_not_there_yet_stays_a_link(home: Home, host: str, path: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    path.parent.mkdir(parents=True)
    path.symlink_to(target)
    install(home, host, path, apply=True)
    assert len(ours(target)) == 5
    uninstall(home, path, apply=True)
    assert path.is_symlink()
    assert not target.exists()


def test_a_link_to_another_disk_is_written_through(home: Home, host: str, path: Path) -> None:
    places = [Path(name) for name in ("/dev/shm", tempfile.gettempdir(), Path.cwd()) if os.access(name, os.W_OK)]
    elsewhere = [place for place in places if place.stat().st_dev != home.root.stat().st_dev]
    if not elsewhere:
        pytest.skip("one disk alone")
    with tempfile.TemporaryDirectory(dir=elsewhere[0]) as folder:
        target = written(Path(folder) / "settings.json", "{}\n")
        path.parent.mkdir(parents=True)
        path.symlink_to(target)
        install(home, host, path, apply=True)
        assert len(ours(target)) == 5


def test_a_lone_surrogate_is_kept_or_named(home: Home, host: str, path: Path) -> None:
    written(path, '{"x": "\\ud800"}')
    try:
        install(home, host, path, apply=True)
    except SettingsUnreadable:
        return
    assert json.loads(path.read_text())["x"] == "\ud800"


@pytest.mark.parametrize(
    "text", [b"\xff\xfe{}", b"[" * 100_000, b'"x"', b"null", b"{} {}", b'{"hooks": 7}'], ids=range(6)
)
def test_other_bytes_are_an_error_that_names_the_file(home: Home, host: str, path: Path, text: bytes) -> None:
    written(path, text)
    with pytest.raises(SettingsUnreadable, match="Nothing was changed") as raised:
        install(home, host, path, apply=True)
    assert str(path) in str(raised.value)
    assert path.read_bytes() == text
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_the_mode_of_a_file_stays_and_a_new_one_is_private(home: Home, host: str, path: Path) -> None:
    install(home, host, path, apply=True)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    written(path, '{"a": 1}')
    install(home, host, path, apply=True)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["two  spaces", "it's", 'a "b"', "a\\b", "$HOME", "`id`", "港口", "-x; id", "%s&"])
def test_every_word_of_the_command_is_quoted(tmp_path: Path, host: str, name: str) -> None:
    root = tmp_path / name
    root.mkdir()
    for kind in HOSTS[host]:
        command = handler(Home(root), host, kind)["command"]
        done = subprocess.run(
            ["/bin/sh", "-c", f'set -- {command}; for word; do printf "%s\\0" "$word"; done'],
            capture_output=True, check=True,
        )  # fmt: skip
        words = done.stdout.decode().split("\0")[:-1]
        at = words.index("hook")
        assert words[at : at + 6] == ["hook", kind, "--host", host, "--home", str(root)]


@pytest.mark.parametrize("host", HOSTS)
def test_time_limits_are_in_the_unit_of_the_host(home: Home, host: str) -> None:
    seconds = {kind: handler(home, host, kind)["timeout"] / (1000 if host == "gemini" else 1) for kind in HOSTS[host]}
    assert all(1 < limit <= 60 for limit in seconds.values())
    assert seconds["session-end"] <= 3


@pytest.mark.parametrize("scope", ["user", "project"])
def test_each_host_has_a_file_of_its_own(tmp_path: Path, scope: Any) -> None:
    paths = [settings_path(host, scope, tmp_path) for host in HOSTS]
    assert len(set(paths)) == len(HOSTS)
    assert all(path.is_relative_to(tmp_path) and path.suffix == ".json" for path in paths)


SECRET = "ghp_" + "x9Kq2Lm7Vt4Rw8Yz1Bn6Pd3Sf5Gh0JcA2eUq"


def test_nothing_of_the_settings_of_others_is_kept(home: Home, host: str, path: Path) -> None:
    written(path, json.dumps({"env": {"GITHUB_TOKEN": SECRET}, "note": "the owner likes herons"}, indent=1))
    install(home, host, path, apply=True)
    kept = [each.read_bytes() for each in home.machine.rglob("*") if each.is_file() and not each.is_symlink()]
    assert not [data for data in kept if SECRET.encode() in data or b"herons" in data]


def test_after_uninstall_the_machine_state_does_not_name_the_file(home: Home, host: str, path: Path) -> None:
    install(home, host, path, apply=True)
    uninstall(home, path, apply=True)
    assert str(path) not in (home.machine / "hosts.json").read_text()


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"limit": 1e400, "n": 0.10000000000000000001, "big": -0e1}',
        '{"x": {"y": [{"z": 1, "z": 1e999}]}, "hooks": {"Zz": []}}',
    ],
)
def test_a_change_keeps_every_byte_that_is_not_ours(home: Home, host: str, path: Path, text: str) -> None:
    written(path, text)
    install(home, host, path, apply=True)
    after = path.read_text()
    assert len(ours(path)) == 5
    assert not {"Infinity", "NaN"} & set(after.replace(":", " ").replace(",", " ").split())
    at = next((number for number, pair in enumerate(zip(text, after, strict=False)) if len(set(pair)) > 1), len(text))
    assert after.startswith(text[:at])
    assert after.endswith(text[at:])
    edited = after.replace('"', ' "', 1)  # a person changed it: what is kept about the file is of no use
    written(path, edited)
    uninstall(home, path, apply=True)
    assert ours_in(path) == []
    assert path.read_text().startswith(edited[: at + 1])
    assert path.read_text().endswith(text[at:].lstrip())


def ours_in(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if " hook " in line and "--host" in line]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"hooks": {}, "model": "x", "hooks": {"Stop": []}}', "hooks"),
        ('{"hooks": {"Stop": [], "Other": [], "Stop": []}}', "hooks.Stop"),
    ],
)
def test_hooks_that_stand_there_twice_are_an_error_that_names_the_key(
    home: Home, host: str, path: Path, text: str, key: str
) -> None:
    written(path, text)
    with pytest.raises(SettingsUnreadable, match=f"has the key {key} twice.*Correct the file"):
        install(home, host, path, apply=True)
    assert path.read_text() == text


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_no_json_is_an_error(home: Home, host: str, path: Path, number: str) -> None:
    written(path, f'{{"limit": {number}}}')
    with pytest.raises(SettingsUnreadable, match="is not JSON"):
        install(home, host, path, apply=True)


def test_a_matcher_that_somebody_gave_our_hook_goes_with_it(home: Home, host: str, path: Path) -> None:
    install(home, host, path, apply=True)
    settings = json.loads(path.read_text())
    for groups in settings["hooks"].values():
        groups[0]["matcher"] = "*"
    written(path, json.dumps({"model": "opus", **settings}))
    uninstall(home, path, apply=True)
    assert json.loads(path.read_text()) == {"model": "opus"}


@pytest.mark.parametrize("link", ["folder", "file", "git"])
def test_a_link_of_a_project_that_leads_out_of_it_is_refused(host: str, tmp_path: Path, link: str) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    for folder in (project / ".git", elsewhere):
        folder.mkdir(parents=True)
    path = settings_path(host, "project", project)
    if link == "folder":
        path.parent.symlink_to(elsewhere)
    else:
        path.parent.mkdir()
        path.symlink_to((elsewhere if link == "file" else project / ".git") / "hooks.json")
    with pytest.raises(SettingsElsewhere, match=r"outside of this project\. Nothing was changed"):
        settings_path(host, "project", project)
    assert list(elsewhere.iterdir()) == []


def test_a_link_within_a_project_and_a_link_to_the_project_are_followed(host: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "dotfiles").mkdir(parents=True)
    (tmp_path / "link").symlink_to(project)
    path = settings_path(host, "project", tmp_path / "link")
    path.parent.symlink_to(project / "dotfiles")
    assert settings_path(host, "project", tmp_path / "link") == path


def test_a_link_of_the_user_is_followed(host: str, tmp_path: Path) -> None:
    path = settings_path(host, "user", tmp_path / "user")
    (tmp_path / "dotfiles").mkdir()
    path.parent.parent.mkdir()
    path.parent.symlink_to(tmp_path / "dotfiles")
    assert settings_path(host, "user", tmp_path / "user") == path


def test_a_home_that_the_hooks_name_and_that_is_not_there_is_named(
    home: Home, host: str, path: Path, tmp_path: Path
) -> None:
    install(home, host, path, apply=True)
    assert list(absent_homes(path)) == []
    moved = tmp_path / "moved"
    home.root.rename(moved)
    assert list(absent_homes(path)) == [home.root]
    assert install(Home(moved), host, path, apply=True).absent == (home.root,)
    assert list(absent_homes(path)) == []


def test_installs_at_the_same_time_all_keep_their_record(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow_write(*arguments: Any) -> None:
        time.sleep(0.05)  # other threads read the record meanwhile
        write_record(*arguments)

    monkeypatch.setattr("interfaces.hosts.install.write_record", slow_write)
    paths = [settings_path("claude-code", "project", tmp_path / f"project {number}") for number in range(4)]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    with ThreadPoolExecutor(len(paths)) as pool:
        list(pool.map(lambda path: install(home, "claude-code", path, apply=True), paths))
        list(pool.map(lambda path: uninstall(home, path, apply=True), paths))
    assert [path.read_text() for path in paths] == ["{}"] * len(paths)
    assert read_record(home.machine, "hosts") == {}


@pytest.mark.parametrize("apply", [True, False])
def test_a_link_to_itself_is_named_and_kept(home: Home, host: str, tmp_path: Path, apply: bool) -> None:
    path = settings_path(host, "user", tmp_path)
    path.parent.mkdir()
    path.symlink_to(path.name)
    for refused in (
        lambda: settings_path(host, "user", tmp_path),
        lambda: install(home, host, path, apply=apply),
        lambda: uninstall(home, path, apply=apply),
        lambda: uninstall(None, path, apply=apply),
    ):
        with pytest.raises(SettingsUnreadable, match=r"is a link that leads to itself\. Nothing was changed"):
            refused()
    assert path.is_symlink()


@pytest.mark.parametrize(
    "command",
    [
        "~/bin/chime.sh; /opt/x/memory hook stop --host claude-code --home /h || true",
        "/opt/x/memory hook stop --host claude-code --home /h && notify-send done",
        "echo see memory hook stop --host claude-code docs",
        "memory hook stop --host claude-code --home /h | tee /tmp/log",
        "nice memory hook stop --host claude-code",
        "memory hook stop --host claude-code --home $(cat /tmp/h)",
    ],
)
def test_a_command_of_somebody_that_calls_ours_is_theirs(home: Home, tmp_path: Path, command: str) -> None:
    path = settings_path("claude-code", "user", tmp_path)
    path.parent.mkdir()
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}})
    path.write_text(text)
    install(home, "claude-code", path, apply=True)
    assert command in {hook["hooks"][0]["command"] for hook in json.loads(path.read_text())["hooks"]["Stop"]}
    uninstall(home, path, apply=True)
    assert path.read_text() == text
    uninstall(home, path, apply=True)
    assert path.read_text() == text


@pytest.mark.parametrize("work", ["install", "uninstall"])
def test_an_edit_that_another_program_makes_meanwhile_is_kept(
    home: Home, host: str, path: Path, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    path.parent.mkdir(parents=True)
    path.write_text('{"theirs": 1}')
    if work == "uninstall":
        install(home, host, path, apply=True)
    stage = storage.stage

    def staged(target: Path, data: bytes, **options: Any) -> None:
        stage(target, data, **options)
        if target.parent == path.parent:
            path.write_text('{"theirs": 2}')

    monkeypatch.setattr("interfaces.hosts.install.storage.stage", staged)
    with pytest.raises(SettingsUnreadable, match="just now"):
        install(home, host, path, apply=True) if work == "install" else uninstall(home, path, apply=True)
    assert path.read_text() == '{"theirs": 2}'
    assert [item.name for item in path.parent.iterdir()] == [path.name]
