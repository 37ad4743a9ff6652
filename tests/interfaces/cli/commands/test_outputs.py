"""The command lines of external memory, as an agent types them."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from agent_home.outputs.entry import OUTPUT_TYPES
from interfaces.cli import cli
from interfaces.cli.commands.outputs import TYPES
from tests.interfaces.service.running_service import MEMORY, environment
from tests.own_redis import OwnRedis

RUN = "".join(f"tests/test_{n}.py::test_{n} PASSED\n" for n in range(900)) + (
    "=== short test summary info ===\nFAILED tests/test_auth.py::test_login - assert 1 == 2\n"
    "=== 1 failed, 900 passed in 3.21s ===\n"
)
STORED = re.compile(r"Stored: (mem-\d{8}-\d{6}-[0-9a-f]{8}) \((\d+) tokens(?:, (\d+) chunks)?\)")


def memory(home: Home, *words: str, given: bytes = b"", code: int = 0) -> bytes:
    """Run the program as a process, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, *words], input=given, capture_output=True, check=False,
        env=environment(AGENT_HOME=str(home.root), AGENT_HOME_SERVICE="0"), cwd=home.root.parent,
    )  # fmt: skip
    assert done.returncode == code, done.stderr.decode()
    return done.stdout if code == 0 else done.stderr


def as_json(home: Home, *words: str, **given: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(memory(home, *words, "--json", **given))
    return found


def test_types_are_those_of_the_store() -> None:
    assert TYPES == OUTPUT_TYPES


def test_an_output_is_stored_listed_searched_and_fetched_in_parts(home: Home) -> None:
    words = ["--stdin", "--tag", "pytest", "--tag", "integration", "--directory", "./api", "--checkpoint", "ckpt-1"]
    told = STORED.match(memory(home, "log", *words, given=RUN.encode()).decode())
    assert told is not None
    name, tokens, chunks = told.groups()
    assert (int(tokens) > 8000, int(chunks) > 2) == (True, True)
    assert memory(home, "fetch", name) == RUN.encode()
    summary = memory(home, "fetch", name, "--summary-only").decode()
    assert "1 failed" in summary.splitlines()[0]
    assert "test_login" in summary
    assert b"test_login" in memory(home, "fetch", name, "--chunk", str(int(chunks) - 1))
    assert memory(home, "fetch", name, "--chunk", "0").startswith(b"tests/test_0.py")
    for wanted in (["list", "--limit", "10"], ["list", "--tag", "pytest"], ["list", "--directory", "./api"],
                   ["refs", "--checkpoint", "ckpt-1"], ["refs", "--directory", "."]):  # fmt: skip
        assert name in memory(home, *wanted).decode(), wanted
    assert name not in memory(home, "list", "--type", "context").decode()
    hits = as_json(home, "search", "test_login", "--in", "outputs", "--limit", "5")["hits"]
    assert {hit["source"] for hit in hits} & {name, f"{name}#{int(chunks) - 1}"}
    assert as_json(home, "stats")["outputs"] == 1


def test_a_text_and_a_file_are_stored(home: Home, tmp_path: Path) -> None:
    told = STORED.match(memory(home, "log", "Test results: all 42 tests passed").decode())
    assert told is not None
    assert memory(home, "fetch", told[1]) == b"Test results: all 42 tests passed"
    (tmp_path / "x.bin").write_bytes(bytes(range(256)) * 20)
    stored = as_json(home, "log", "--file", str(tmp_path / "x.bin"), "--tool", "make", "--exit-code", "2")
    assert (stored["binary"], stored["tool"], stored["exit_code"]) == (True, "make", 2)
    assert memory(home, "fetch", stored["id"]) == bytes(range(256)) * 20
    assert "content_base64" in as_json(home, "fetch", stored["id"])


def test_prune_changes_nothing_until_it_is_asked(home: Home) -> None:
    memory(home, "log", "old", "--now", "2026-01-01T10:00:00")
    words = ["prune", "--keep-days", "7", "--keep-entries", "500", "--now", "2026-11-20T10:00:00"]
    assert as_json(home, *words)["applied"] is False
    assert as_json(home, "stats")["outputs"] == 1
    assert len(as_json(home, *words, "--apply")["ids"]) == 1
    assert as_json(home, "stats")["outputs"] == 0


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["log"], "name one of TEXT, --file and --stdin", 2),
        (["log", "x", "--stdin"], "name one of TEXT, --file and --stdin", 2),
        (["fetch", "mem-20260123-123456-abcd1234"], "`memory list` shows what is there", 2),
        (["refs"], "name --checkpoint ID or --directory DIR", 2),
    ],
)
def test_a_mistake_is_told_with_the_next_step(home: Home, words: list[str], said: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, *words], capture_output=True, check=False,
        env=environment(AGENT_HOME=str(home.root), AGENT_HOME_SERVICE="0"),
    )  # fmt: skip
    assert said in done.stderr.decode()
    assert done.returncode == code


def on_terminal(home: Home, *words: str) -> bytes:
    """Run the program on a terminal of its own, and return what it wrote there."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        subprocess.run(
            [sys.executable, "-c", MEMORY, *words], stdin=theirs, stdout=theirs, stderr=theirs, check=True,
            env=environment(AGENT_HOME=str(home.root), AGENT_HOME_SERVICE="0"), cwd=home.root.parent,
        )  # fmt: skip
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # a closed terminal ends so
            while part := screen.read(4096):
                shown += part
    return shown


def test_a_terminal_obeys_nothing_that_an_output_holds(home: Home) -> None:
    data = b"\x1b[2J\x1b]0;own\x07\x1b[31mred\x1b[0m\x9b1m plain\n"
    name = STORED.match(memory(home, "log", "--stdin", given=data).decode())[1]  # type: ignore[index]
    assert memory(home, "fetch", name) == data
    shown = on_terminal(home, "fetch", name)
    assert b"\x1b" not in shown
    assert b"\x07" not in shown
    assert b"red" in shown
    assert on_terminal(home, "fetch", name, "--raw").replace(b"\r\n", b"\n") == data


def test_damaged_records_are_counted_beside_the_list(home: Home) -> None:
    stored = [STORED.match(memory(home, "log", f"line {number}", "--checkpoint", "c").decode()) for number in range(3)]
    for told in stored[:2]:
        assert told is not None
        (record,) = (home.root / "outputs").rglob(f"{told[1]}.json")
        record.write_bytes(b"{")
    for words in (["list"], ["stats"], ["refs", "--checkpoint", "c"]):
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, *words, "--json"], capture_output=True, check=True,
            env=environment(AGENT_HOME=str(home.root), AGENT_HOME_SERVICE="0"), cwd=home.root.parent,
        )  # fmt: skip
        assert done.stderr.decode() == "memory: 2 records are damaged: memory doctor\n"
        assert json.loads(done.stdout)["damaged"] == 2


def run(home: Path, *words: str, code: int = 0) -> Result:
    """Run the program in this process."""
    done = CliRunner().invoke(cli, [*words, "--home", str(home)])
    assert done.exit_code == code, (words, done.output)
    return done


def test_another_machine_shows_the_summary_until_the_output_is_pruned(
    home: Home, own_redis: OwnRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "8 passed, 1 failed (test_total)\n" + "a line of the log\n" * 2000
    (tmp_path / "log.txt").write_text(text)
    name = json.loads(run(home.root, "log", "--file", str(tmp_path / "log.txt"), "--json").stdout)["id"]
    summary = run(home.root, "fetch", name, "--summary-only").stdout
    key = run(home.root, "context", "key").stdout
    there = tmp_path / "there"
    shutil.copytree(home.root, there)
    shutil.rmtree(there / "outputs")

    def elsewhere(*words: str, code: int = 0, given: str = "") -> Result:
        with monkeypatch.context() as patch:
            patch.setenv("AGENT_HOME_STATE", str(tmp_path / "state there"))
            done = CliRunner().invoke(cli, [*words, "--home", str(there)], input=given)
        assert done.exit_code == code, done.output
        return done

    assert "`memory list`" in elsewhere("fetch", name, code=2).stderr
    elsewhere("context", "key", "--use", given=key)
    shown = elsewhere("fetch", name, "--summary-only")
    assert shown.stdout == summary
    assert "another machine" in shown.stderr
    assert json.loads(elsewhere("fetch", name, "--summary-only", "--json").stdout)["id"] == name
    assert "Fetch it there" in elsewhere("fetch", name, code=2).stderr
    run(home.root, "prune", "--keep-entries", "0", "--apply")
    assert "`memory list`" in elsewhere("fetch", name, "--summary-only", code=2).stderr
    assert own_redis.client.dbsize() == 0
