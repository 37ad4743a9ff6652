"""A command of this machine answers prompts: without a shell, within its time and its size."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import pytest

from distill.errors import EndpointFailed
from distill.language_model.command import CommandFailed, run_command
from distill.language_model.endpoint import Endpoint, EndpointSettings


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


def run(line: str, text: str = "hello", *, timeout_s: float = 10.0, max_bytes: int = 1 << 20) -> str:
    return run_command(line, text, timeout_s=timeout_s, max_bytes=max_bytes)


def test_the_prompt_arrives_on_standard_input_and_the_answer_is_returned() -> None:
    code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])"
    assert run(python(code), "abc" * 200_000) == "cba" * 200_000


def test_a_command_that_does_not_read_may_answer() -> None:
    assert run(python("print('yes')"), "x" * 1_000_000) == "yes\n"


def test_no_shell_reads_the_line(tmp_path: Path) -> None:
    assert run(f"echo a; touch {tmp_path}/x $HOME").strip() == f"a; touch {tmp_path}/x $HOME"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "empty"),
        ("echo 'a", "cannot be split"),
        ("no-such-command-here", "cannot be started"),
        (python("import sys; sys.exit(3)"), "ended with code 3"),
        (python("import sys; sys.stdout.buffer.write(b'\\xff')"), "not UTF-8"),
        (python("import sys; sys.stdout.write('x' * 5000)"), "longer than 1000 bytes"),
    ],
)
def test_a_failing_command_is_one_reason(line: str, reason: str) -> None:
    with pytest.raises(CommandFailed, match=reason):
        run(line, max_bytes=1000)


@pytest.mark.parametrize(
    "code",
    [
        "import time; time.sleep(60)",
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])",
        "import sys, time\nwhile True: print('x', flush=True); time.sleep(.05)",
    ],
)
def test_a_slow_command_ends_with_its_children(code: str) -> None:
    start = time.monotonic()
    with pytest.raises(CommandFailed, match=r"no complete answer within 0\.5 s"):
        run(python(code), timeout_s=0.5)
    assert time.monotonic() - start < 10


def test_an_endpoint_of_the_kind_command_needs_a_variable_of_this_machine() -> None:
    settings = EndpointSettings(kind="command", command_env="MY_COMMAND")
    assert Endpoint(settings=settings, command=python("print('ok')")).complete("a", "b").text == "ok\n"
    with pytest.raises(EndpointFailed, match="MY_COMMAND is empty"):
        Endpoint(settings=settings).complete("a", "b")
