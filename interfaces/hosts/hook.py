"""Answer the hooks of chat hosts: ``memory hook EVENT --host HOST --home DIR``. Imports nothing slow.

A hook must never stand in the way of its host. It always exits with 0, prints nothing when something is wrong, reads a
bounded input and ends within seconds. ``AGENT_HOME_HOOKS=0`` switches it off.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from agent_home.home_location import MANIFEST, home_root
from interfaces.service.forwarding.client import Answer, ask

from .event import EVENTS, HOSTS, HostEvent, answer, parse_event
from .queue import append, forget_first_prompt, is_first_prompt, note_error
from .transcript_tail import tail_holds

__all__ = ["MOST_CHARS", "run"]

_MAX_INPUT_BYTES = 4 << 20
#: Seconds after which a hook gives up. The shortest limit of a host is one second, for the end of a session.
_SECONDS = {"session-start": 20.0, "user-prompt": 10.0, "stop": 5.0, "pre-compact": 5.0, "session-end": 1.0}
#: Characters of context that a host takes. Claude Code shows 2 KB of a text of more than 10 000 characters. Codex keeps
#: head and tail of 2 500 tokens, unless its hook says otherwise, as the one that `memory install` writes does.
MOST_CHARS = {"claude-code": 9_500, "codex": 7_500, "gemini": 24_000}
_RECALL_CHARS = 4_000
#: Seconds in which a host that lags may write the agent's answer into its file, and between two looks.
_LAG_S, _LOOK_S = 0.5, 0.05
_SWITCH = "AGENT_HOME_HOOKS"


def run(arguments: Sequence[str]) -> None:
    """Answer one event. Never raises, never exits with anything but 0."""
    if os.environ.get(_SWITCH) == "0":
        return
    root: Path | None = None
    try:
        kind, options = arguments[0], _options(arguments[1:])
        host = options["host"]
        if kind not in EVENTS or host not in HOSTS:
            return
        _end_after(_SECONDS[kind])
        named = options.get("home") or os.environ.get("AGENT_HOME")
        if not named:  # the nearest home above the working folder could be one of a stranger's repository
            return
        root = home_root(named, {}, _folder())
        if root is None or not (root / MANIFEST).is_file():
            return
        event = parse_event(host, kind, sys.stdin.buffer.read(_MAX_INPUT_BYTES).decode("utf-8", "replace"))
        context = _answer(root, event, int(options.get("max-chars") or MOST_CHARS[host]))
        if context:
            sys.stdout.write(answer(event, context))
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - a hook must not stop its host; the log names the error
        _log(root, error, " ".join(arguments[:3]))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)  # at its end the interpreter puts the deadly handler back


def _folder() -> Path:
    """Return the working folder, which may be gone: a work tree that was removed."""
    try:
        return Path.cwd()
    except OSError:
        return Path("/")


def _answer(root: Path, event: HostEvent, most_chars: int) -> str:
    """Do what *event* asks for, and return the context that the model should get."""
    if event.kind == "user-prompt":
        return _recall(root, event) if is_first_prompt(root, event.session) else ""
    event = _without_known_message(event)
    append(root, event)
    if event.kind != "stop" or event.last_message:
        _start_worker(root)
    if event.kind in {"session-start", "session-end"}:
        forget_first_prompt(root, event.session)
    if event.kind != "session-start":
        return ""
    forget_first_prompt(root, event.session)
    arguments = ["brief", "--session", event.session, "--max-chars", str(most_chars), "--home", str(root)]
    return _command(root, [*arguments, "--cwd", event.cwd] if event.cwd else arguments)


def _without_known_message(event: HostEvent) -> HostEvent:
    """Return *event* without a last message that the host's file has: the import screens that one.

    Any other waits unscreened for the worker, which is started at once. So a host that lags is given a moment.
    """
    if not event.last_message:
        return event
    until = time.monotonic() + (_LAG_S if event.kind == "stop" else 0.0)
    while not tail_holds(event.transcript, event.last_message):
        if not event.transcript or time.monotonic() >= until:
            return event
        time.sleep(_LOOK_S)
    return event._replace(last_message="")


def _recall(root: Path, event: HostEvent) -> str:
    if not event.prompt.strip():
        return ""
    arguments = ["brief", "--session", event.session, "--max-chars", str(_RECALL_CHARS), "--home", str(root)]
    return _command(root, [*arguments, "--recall", event.prompt[:4_000]])


def _command(root: Path, arguments: list[str]) -> str:
    """Return what the command prints, from the service if one answers."""
    done = ask(root, arguments, root, os.environ) if os.environ.get("AGENT_HOME_SERVICE") != "0" else None
    if done is None:
        from interfaces.service.forwarding.autostart import start_if_allowed
        from interfaces.service.forwarding.command_runner import run_command

        start_if_allowed(root)
        done = run_command(arguments, root, os.environ)
    return _printed(done)


def _printed(done: Answer) -> str:
    if done.code:
        raise RuntimeError(f"exit code {done.code}")
    return done.out.strip()


def _start_worker(root: Path) -> None:
    """Start the worker that imports and closes sessions, in a session of its own, so that no host kills it."""
    # -P and another folder: a module that a pull put into the home must not stand in for ours.
    command = [sys.executable, "-P", "-m", "interfaces.hosts.worker", str(root)]
    null = subprocess.DEVNULL
    subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True, cwd="/")


def _end_after(seconds: float) -> None:
    """End this process after *seconds*, whatever it does."""

    def end(_number: int, _frame: FrameType | None) -> None:
        os._exit(0)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _options(arguments: Sequence[str]) -> dict[str, str]:
    """Return ``--name value`` and ``--name=value`` as a mapping."""
    found: dict[str, str] = {}
    waiting = iter(arguments)
    for word in waiting:
        name, _, value = word.removeprefix("--").partition("=")
        found[name] = value or next(waiting, "")
    return found


def _log(root: Path | None, error: Exception, called: str) -> None:
    """Note the kind of *error*, its place and which hook it was, and nothing of the content, for ``memory doctor``."""
    if root is None:
        return
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
    with contextlib.suppress(OSError):
        note_error(root, f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {type(error).__name__} {place} ({called})")
