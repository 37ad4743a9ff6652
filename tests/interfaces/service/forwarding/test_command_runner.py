"""Test that a command in the service has the surroundings and the streams of the process that asks for it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent_home.home import Home
from interfaces.cli import COMMANDS
from interfaces.service.forwarding.client import FORWARDED
from interfaces.service.forwarding.command_runner import run_command
from tests.conftest import FolderCopy

OTHERS = sorted({name for section in COMMANDS.values() for name in section} - FORWARDED)


@pytest.fixture
def other(tmp_path: Path, _pattern_home: FolderCopy) -> Home:
    _pattern_home.write(tmp_path / "other")
    return Home(tmp_path / "other")


def note(home: Home, text: str) -> None:
    (home.root / "Knowledge").mkdir(exist_ok=True)
    (home.root / "Knowledge/note.md").write_text(f"# Note\n\n{text}\n")


def test_every_forwarded_command_is_one_of_memory() -> None:
    assert {name for section in COMMANDS.values() for name in section} >= FORWARDED


@pytest.mark.parametrize("name", [*OTHERS, "--version", "--help", "nope"])
def test_no_other_command_runs_in_the_service(home: Home, name: str) -> None:
    with pytest.raises(ValueError, match="does not run"):
        run_command([name, "--home", str(home.root)], home.root, {})


def test_no_command_at_all_is_refused(home: Home) -> None:
    with pytest.raises(ValueError, match="does not run"):
        run_command([], home.root, {})


def test_a_command_writes_to_its_own_streams(home: Home, capfd: pytest.CaptureFixture[str]) -> None:
    note(home, "The kestrel nests here.")
    found = run_command(["search", "kestrel", "--mode", "lexical", "--home", str(home.root)], home.root, {})
    assert (found.code, found.err) == (0, "")
    assert "The kestrel nests here." in found.out
    failed = run_command(["done", "KD-0000", "--home", str(home.root)], home.root, {})
    assert (failed.code, failed.out) == (2, "")
    assert "KD-0000" in failed.err
    assert capfd.readouterr() == ("", "")


def test_the_home_is_found_from_the_folder_and_the_variables_of_the_caller(
    home: Home, other: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    note(home, "The kestrel nests here.")
    note(other, "The falcon nests here.")
    monkeypatch.setenv("AGENT_HOME", str(tmp_path / "nowhere"))
    words = ["search", "nests", "--mode", "lexical"]
    assert "kestrel" in run_command(words, home.root / "Knowledge", {}).out
    assert "falcon" in run_command(words, home.root, {"AGENT_HOME": str(other.root)}).out
    assert "falcon" in run_command([*words, "--home", "../other"], home.root, {}).out
    assert run_command(words, tmp_path, {}).code == 3


def test_commands_of_two_homes_at_once_do_not_mix(home: Home, other: Home, capfd: pytest.CaptureFixture[str]) -> None:
    note(home, "The kestrel nests here.")
    note(other, "The falcon nests here.")
    for root in (home.root, other.root):  # the first search of a home makes its index, and others do not wait for it
        run_command(["search", "nests", "--mode", "lexical"], root, {})
    folder, streams = Path.cwd(), (sys.stdout, sys.stderr)

    def bird(number: int) -> str:
        root = (home, other)[number % 2].root
        found = run_command(["search", "nests", "--mode", "lexical", "--json"], root, {})
        (hit,) = json.loads(found.out)["hits"]
        return str(hit["text"])

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(bird, range(24)))
    assert ["kestrel" in text for text in said] == [number % 2 == 0 for number in range(24)]
    assert ["falcon" in text for text in said] == [number % 2 == 1 for number in range(24)]
    assert (Path.cwd(), (sys.stdout, sys.stderr)) == (folder, streams)
    assert capfd.readouterr() == ("", "")


def test_the_variables_of_this_process_stay_as_they_are(home: Home) -> None:
    before = dict(os.environ)
    run_command(["prompt"], home.root, {"AGENT_HOME": str(home.root), "AGENT_HOME_DEBUG": ""})
    assert dict(os.environ) == before


def test_a_terminal_of_the_caller_gets_colours_and_its_width(home: Home) -> None:
    words = ["search", "kestrel", "nests", "--mode", "lexical", "--home", str(home.root)]
    (home.root / "Knowledge").mkdir(exist_ok=True)
    (home.root / "Knowledge" / "long.md").write_text(f"# Long\n\nThe kestrel nests {'very ' * 40}high.\n", "utf-8")

    def found(terminals: Mapping[str, int], **environ: str) -> str:
        return run_command(words, home.root, environ, terminals).out

    assert "\x1b[1m" in found({"out": 60}, TERM="xterm")
    for terminals, environ in (({}, {}), ({"out": 60}, {"NO_COLOR": "1"}), ({"out": 60}, {"TERM": "dumb"})):
        assert "\x1b" not in found(terminals, **environ)
    assert max(map(len, found({"out": 60}, NO_COLOR="1").splitlines())) <= 60
    assert 60 < max(map(len, found({}).splitlines())) <= 80
