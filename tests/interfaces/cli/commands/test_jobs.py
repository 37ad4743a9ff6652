"""An ephemeral agent finds, continues and sees a trend: each run is a process, and memory is all that stays."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agent_home.home import Home
from tests.interfaces.service.running_service import MEMORY, environment

#: An agent without a model: it acts on what its prompt says, as the story tells it.
WATCHDOG = r"""
import os, re, sys
prompt = open(os.environ["AGENT_HOME_PROMPT_FILE"], encoding="utf-8").read()
assert prompt == os.environ["AGENT_HOME_PROMPT"]
print("looking at the cluster", file=sys.stderr)
seen = len(set(re.findall(r"Pod X ran out of memory on day \d+", prompt)))
print(f"seen before: {seen}")
print("__SYMPOZIUM_MEMORY__")
print(f"Pod X ran out of memory on day {seen + 1}")
print("__SYMPOZIUM_MEMORY_END__")
sys.exit(3 if seen >= 2 else 0)
"""


def memory(home: Home, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", MEMORY, *words], input=given, capture_output=True, check=False,
        env=environment(AGENT_HOME=str(home.root), AGENT_HOME_SERVICE="0"), cwd=home.root.parent,
    )  # fmt: skip


def as_json(home: Home, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(memory(home, *words, "--json").stdout)
    return found


def test_the_first_run_finds_the_second_continues_and_the_third_sees_the_trend(home: Home, tmp_path: Path) -> None:
    script = tmp_path / "watchdog.py"
    script.write_text(WATCHDOG)
    for number, code in ((0, 0), (1, 0), (2, 3)):
        done = memory(home, "run", "--session", f"run-{number}", "--", sys.executable, str(script))
        assert done.returncode == code, done.stderr.decode()
        assert f"seen before: {number}\n".encode() in done.stdout
        assert b"looking at the cluster\n" in done.stderr
        assert f"session run-{number}, output mem-".encode() in done.stderr
        assert b"1 entries written" in done.stderr
    outputs = as_json(home, "list", "--session", "run-2")["outputs"]
    assert [(row["exit_code"], row["tool"]) for row in outputs] == [(3, Path(sys.executable).name)]
    assert "seen before: 2" in memory(home, "fetch", outputs[0]["id"]).stdout.decode()
    kinds = [event["type"] for event in as_json(home, "events", "--session", "run-2")["events"]]
    assert {"prompt", "output", "append", "closing"} <= set(kinds)


def test_a_pods_log_is_ingested_from_a_pipe(home: Home) -> None:
    log = b"noise \xff\n__SYMPOZIUM_MEMORY__\nKey insight: Pod X has recurring OOM issues\n__SYMPOZIUM_MEMORY_END__\n"
    assert memory(home, "ingest-output", "-", given=log).stdout == b"1 entries written\n"
    assert memory(home, "ingest-output", "-", given=log).stdout == b"0 entries written, 1 known already\n"
    large = b"__SYMPOZIUM_MEMORY__\n" + b"x" * 3_000
    refused = memory(home, "ingest-output", "-", "--max-size-kb", "2", given=large)
    assert refused.returncode == 7
    assert b"maxSizeKB" in refused.stderr


@pytest.mark.parametrize(("command", "code"), [(["false"], 1), (["sh", "-c", "kill -9 $$"], 137)])
def test_the_exit_code_is_that_of_the_command(home: Home, command: list[str], code: int) -> None:
    assert memory(home, "run", "--", *command).returncode == code


def test_a_command_that_is_not_there_is_wrong_usage(home: Home) -> None:
    done = memory(home, "run", "--", "no-such-program-here")
    assert done.returncode == 2
    assert b"cannot be run" in done.stderr


def test_a_run_that_is_ended_keeps_what_was_printed(home: Home) -> None:
    command = [sys.executable, "-c", MEMORY, "run", "--session", "ended", "--", "sh", "-c", "echo begun; exec sleep 60"]
    surroundings = environment(AGENT_HOME=str(home.root), AGENT_HOME_SERVICE="0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=surroundings) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    (row,) = as_json(home, "list", "--session", "ended")["outputs"]
    assert row["exit_code"] == 143
