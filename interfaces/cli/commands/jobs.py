"""Define the commands for jobs and pods: ``memory run`` and ``memory ingest-output``."""

from __future__ import annotations

import contextlib
import io
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

import click

from agent_home.audience import Audience
from agent_home.storage import open_file

from ...answers import ingested_answer
from ..invocation import Invocation, home_command
from ..surroundings import surroundings

if TYPE_CHECKING:
    from interfaces.api import AgentHome

__all__ = ["ingest_output", "run"]

#: Bytes of a variable that every system takes.
_MOST_VARIABLE = 100_000
_PART = 1 << 16


@home_command(
    "ingest-output",
    examples=(
        ("Take the memory out of what a pod printed, such as kubectl logs", "memory ingest-output - < pod.log"),
        ("Take it out of a file", "memory ingest-output run.log --session nightly"),
    ),
)
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--session", default="", metavar="NAME", help="Session in which it was printed.")
@click.option("--max-size-kb", default=256, show_default=True, type=click.IntRange(1), help="Most that is taken.")
def ingest_output(invocation: Invocation, file: Path, session: str, max_size_kb: int) -> None:
    """Write what an output marks as memory.

    Lines between __SYMPOZIUM_MEMORY__ and __SYMPOZIUM_MEMORY_END__ become entries of the agent's own, each once. The
    guard screens them first.
    """
    from interfaces.api import AgentHome
    from interfaces.memory_markers import ingest_markers

    agent = AgentHome(invocation.home, warn=invocation.warn)
    with _opened(file) as content:
        lines = io.TextIOWrapper(content, encoding="utf-8", errors="replace")
        done = ingest_markers(agent, lines, session=session, now=invocation.moment, most_kb=max_size_kb)
    invocation.show(ingested_answer(done), [done.told])


@home_command(
    "run",
    examples=(
        ("Run an agent's script with its memory", "memory run -- ./watchdog.sh"),
        ("Give it the prompt for a question in a file", 'memory run --message "previous issues" -- ./watchdog.sh'),
    ),
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND ...")
@click.option("--message", default="", metavar="TEXT", help="What the prompt recalls for.")
@click.option("--window", default=0, metavar="N", help="Context window of the model in tokens.")
@click.option(
    "--audience", default="job", show_default=True, type=click.Choice([str(name) for name in Audience]),
    help="Who sees the prompt.",
)  # fmt: skip
@click.option("--session", default="", metavar="NAME", help="Session of the run (default: a new one).")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Word by which its output is listed.")
@click.option("--include-memory/--no-include-memory", default=True, show_default=True, help="Give it the prompt.")
@click.pass_context
def run(
    context: click.Context, invocation: Invocation, command: tuple[str, ...], message: str, window: int, audience: str,
    session: str, tags: tuple[str, ...], include_memory: bool,
) -> None:  # fmt: skip
    """Run a command with memory, and keep what it leaves.

    The command finds its prompt in the file $AGENT_HOME_PROMPT_FILE and, if that is short, in $AGENT_HOME_PROMPT. What
    it prints is passed on and stored as an output. Lines that it marks as memory are written (see `memory
    ingest-output`). The run is a session, which is closed. The exit code is the command's. With --no-include-memory it
    finds no prompt, as a schedule without `includeMemory`.
    """
    from interfaces.api import AgentHome

    agent = AgentHome(invocation.home, warn=invocation.warn)
    name = session or f"run-{invocation.moment:%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"
    prompt = ""
    if include_memory:
        prompt = agent.prompt(message, window=window, audience=audience, session=name, now=invocation.moment).text
    with tempfile.TemporaryFile() as spool, tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8") as file:
        file.write(prompt)
        file.flush()
        variables = _variables(invocation, name, prompt, file.name)
        code = _run(command, variables, spool)
        _keep(invocation, agent, spool, command, code, name, tags)
    context.exit(code)


def _variables(invocation: Invocation, session: str, prompt: str, file: str) -> dict[str, str]:
    given = {**surroundings().environ, "AGENT_HOME": str(invocation.home.root), "AGENT_HOME_SESSION": session}
    if not prompt:
        return given
    short = {"AGENT_HOME_PROMPT": prompt} if len(prompt.encode()) <= _MOST_VARIABLE else {}
    return {**given, **short, "AGENT_HOME_PROMPT_FILE": file}


def _run(command: tuple[str, ...], environ: dict[str, str], spool: IO[bytes]) -> int:
    """Run *command*, pass on what it prints, and write it to *spool* as well. Return its exit code."""
    lock = threading.Lock()

    def pass_on(source: IO[bytes], target: BinaryIO) -> None:
        while data := source.read1(_PART):  # type: ignore[attr-defined]
            with lock:
                spool.write(data)
            with contextlib.suppress(BrokenPipeError):
                target.write(data)
                target.flush()

    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, cwd=surroundings().folder
        )
    except OSError as error:
        raise click.UsageError(f"{command[0]} cannot be run: {error.strerror}") from error
    before = signal.signal(signal.SIGTERM, lambda number, _frame: process.send_signal(number))
    try:
        assert process.stdout is not None  # noqa: S101 - pipes
        assert process.stderr is not None  # noqa: S101
        readers = [
            threading.Thread(target=pass_on, args=(process.stdout, sys.stdout.buffer)),
            threading.Thread(target=pass_on, args=(process.stderr, sys.stderr.buffer)),
        ]
        for reader in readers:
            reader.start()
        code = _waited(process)
        for reader in readers:
            reader.join()
    finally:
        signal.signal(signal.SIGTERM, before)
        for stream in filter(None, (process.stdout, process.stderr)):
            stream.close()
    return code if code >= 0 else 128 - code


def _waited(process: subprocess.Popen[bytes]) -> int:
    """Wait for the process. Ctrl-C reaches it by itself, and what it does then is waited for."""
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue


def _keep(
    invocation: Invocation, agent: AgentHome, spool: IO[bytes], command: tuple[str, ...], code: int, session: str,
    tags: tuple[str, ...],
) -> None:  # fmt: skip
    """Store what was printed, write what it marks as memory, and close the session of the run."""
    from agent_home.errors import HomeError
    from distill.errors import DistillError
    from interfaces.memory_markers import ingest_markers

    spool.seek(0)
    try:
        stored = agent.outputs.store(
            iter(lambda: spool.read(_PART), b""), tool=Path(command[0]).name, command=shlex.join(command),
            exit_code=code, session=session, tags=tags, now=invocation.moment,
        )  # fmt: skip
        told = f"Ran {Path(command[0]).name}, exit code {code}. {stored.headline}. Output: {stored.id}"
        agent.append(session, [{"role": "tool", "content": told}], now=invocation.moment)
        spool.seek(0)
        lines = io.TextIOWrapper(spool, encoding="utf-8", errors="replace")
        done = ingest_markers(agent, lines, session=session, now=invocation.moment)
        lines.detach()
        agent.close(session, now=invocation.moment)
    except (HomeError, DistillError, OSError, ValueError) as error:  # the command's exit code counts
        invocation.warn(f"not everything of this run is kept: {' '.join(str(error).split())}")
        return
    invocation.warn(f"session {session}, output {stored.id}, {done.told}")


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    if str(file) == "-":
        yield sys.stdin.buffer
    else:
        with open_file(file) as content:
            yield content
