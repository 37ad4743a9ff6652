"""Define the commands for jobs and pods: ``memory run`` and ``memory ingest-output``."""

from __future__ import annotations

import contextlib
import secrets
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from agent_home.audience import Audience
from agent_home.storage import open_file

from ...answers import ingested_answer
from ...jobs.child_process import ChildNotStarted, ChildSignals, Spool, run_child, silence
from ..invocation import Invocation, home_command
from ..surroundings import surroundings

if TYPE_CHECKING:
    from interfaces.api import AgentHome
    from interfaces.jobs.kept_run import KeptRun

__all__ = ["ingest_output", "run"]

#: Bytes of a variable that every system takes.
_MOST_VARIABLE = 100_000


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
@click.option("--mark", default="", metavar="WORD", help="Blocks that begin with the mark and WORD count too.")
@click.option("--own-mark", is_flag=True, help="Only blocks with the WORD of --mark count.")
def ingest_output(
    invocation: Invocation, file: Path, session: str, max_size_kb: int, mark: str, own_mark: bool
) -> None:  # fmt: skip
    """Write what an output marks as memory.

    Lines between __SYMPOZIUM_MEMORY__ and __SYMPOZIUM_MEMORY_END__ become entries of the agent's own, each once. The
    guard screens them first.
    """
    from interfaces.api import AgentHome
    from interfaces.memory_markers import ingest_markers, output_lines

    if own_mark and not mark.strip():
        raise click.UsageError("--own-mark needs the word of the run. Add --mark WORD")
    agent = AgentHome(invocation.home, warn=invocation.warn)
    with _opened(file) as content, output_lines(content) as lines:
        done = ingest_markers(
            agent, lines, session=session, now=invocation.moment, most_kb=max_size_kb,
            word=mark.strip(), own_only=own_mark,
        )  # fmt: skip
    if done.warning:
        invocation.warn(done.warning)
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
@click.option("--own-mark", is_flag=True, help="Only marks with the word in $AGENT_HOME_MARK count.")
@click.pass_context
def run(
    context: click.Context, invocation: Invocation, command: tuple[str, ...], message: str, window: int, audience: str,
    session: str, tags: tuple[str, ...], include_memory: bool, own_mark: bool,
) -> None:  # fmt: skip
    """Run a command with memory, and keep what it leaves.

    The command finds its prompt in the file $AGENT_HOME_PROMPT_FILE and, if that is short, in $AGENT_HOME_PROMPT. What
    it prints is passed on and stored as an output. Lines that it marks as memory are written (see `memory
    ingest-output`). The run is a session, which is closed. The exit code is the command's, or 127 and 126 if it is not
    there or cannot be run. With --no-include-memory it finds no prompt, as a schedule without `includeMemory`. With
    --json what the command prints goes to standard error.
    """
    from interfaces.api import AgentHome
    from interfaces.jobs.kept_run import EndedRun, keep_run

    agent, began = AgentHome(invocation.home, warn=invocation.warn), time.monotonic()
    name = session.strip() or f"run-{invocation.moment:%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"
    _require_labels(agent, name, tags)
    prompt, mark = "", secrets.token_hex(8)
    if include_memory:
        prompt = agent.prompt(message, window=window, audience=audience, session=name, now=invocation.moment).text
    with tempfile.TemporaryFile(buffering=0) as file, ChildSignals() as signals:
        spool = Spool(file)
        try:
            with _prompt_variables(agent, prompt) as variables:
                code = run_child(
                    command, environ={**_variables(invocation, name, mark), **variables}, spool=spool,
                    folder=surroundings().folder, targets=_targets(as_json=invocation.as_json), signals=signals,
                )  # fmt: skip
        except ChildNotStarted as error:
            invocation.warn(str(error))
            context.exit(error.code)
        run = EndedRun(
            command=command, exit_code=code, session=name, tags=tags, home_option=invocation.home_option or "",
            mark=mark, own_mark=own_mark, errors=spool.errors,
        )  # fmt: skip
        ended = invocation.moment + timedelta(seconds=time.monotonic() - began)
        _show(invocation, keep_run(agent, file, run, now=ended), spool)
    context.exit(code)


def _require_labels(agent: AgentHome, session: str, tags: tuple[str, ...]) -> None:
    """Refuse a session or tag before the command runs, because its output could not be stored under it.

    Raises:
        GuardRefused: the guard refuses one.
    """
    from agent_home.errors import GuardRefused
    from agent_home.outputs.store import refused_label

    for option, text in (("--session", session), *(("--tag", tag) for tag in tags)):
        if rule := refused_label(agent.home, text):
            raise GuardRefused(option, f"the command was not run, because nothing may be called that ({rule})")


def _variables(invocation: Invocation, session: str, mark: str) -> dict[str, str]:
    own = {"AGENT_HOME": str(invocation.home.root), "AGENT_HOME_SESSION": session, "AGENT_HOME_MARK": mark}
    return {**surroundings().environ, **own}


@contextlib.contextmanager
def _prompt_variables(agent: AgentHome, prompt: str) -> Iterator[dict[str, str]]:
    """Yield the variables with the prompt, whose file is there for the block."""
    from interfaces.jobs.prompt_file import prompt_file

    if not prompt:
        yield {}
        return
    short = {"AGENT_HOME_PROMPT": prompt} if len(prompt.encode()) <= _MOST_VARIABLE else {}
    with prompt_file(agent.home, prompt) as path:
        yield {**short, "AGENT_HOME_PROMPT_FILE": str(path)}


def _targets(*, as_json: bool) -> tuple[int, int]:
    """Return the descriptors for what the command prints. With ``--json``, standard output has the document alone."""
    out, error = (stream.fileno() if stream else -1 for stream in (sys.stdout, sys.stderr))
    return error if as_json else out, error


def _show(invocation: Invocation, kept: KeptRun, spool: Spool) -> None:
    """Tell what is kept. Nobody may read it any more, and the exit code of the command counts all the same."""
    lines = [f"not everything of this run is kept: {problem}" for problem in kept.problems]
    if spool.lost:
        lines.append(f"the first {spool.kept} bytes of the output are kept, and {spool.lost} were only passed on")
    lines += [kept.marks.warning] if kept.marks.warning else []
    try:
        for line in (*lines, kept.told):
            invocation.warn(line)
    except BrokenPipeError:
        silence(sys.stderr.fileno())
    if invocation.as_json:
        try:
            invocation.show({**kept.answer, "lost_bytes": spool.lost}, [])
        except BrokenPipeError:
            silence(sys.stdout.fileno())


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    if str(file) == "-":
        yield sys.stdin.buffer
    else:
        with open_file(file) as content:
            yield content
