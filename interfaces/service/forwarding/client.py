"""Ask the service of a home to run a command, before anything slow is imported.

The service says within 20 ms that it takes the command, or the command runs in this process. It is asked with
``Expect: 100-continue`` and nothing is sent before its yes, so no command runs twice. A command that it took and did
not answer runs here: every command that is passed on may be repeated.

Only programs of the same user can reach the socket. The service refuses (status 409) what it would do otherwise than
this process: another version, or environment variables that matter to the modules below.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from agent_home.home_location import home_root

from ...terminal_size import terminal_columns
from .socket_place import short_path, socket_path

__all__ = [
    "FORWARDED",
    "Answer",
    "ask",
    "exchange",
    "forwarded",
    "home_of",
    "own_environment",
    "package",
    "shared_environment",
    "write",
]

#: Commands that the service runs. The others are rare, long, or ask a person.
FORWARDED = frozenset({"brief", "cite", "done", "prompt", "remember", "search"})
#: Seconds in which the service must say that it takes a command, and in which it must have answered.
_YES_S, _ANSWER_S = 0.02, 120.0
_MOST_BYTES = 64 << 20
#: Beginnings of the names of variables that modules below the interfaces read, and git.
_SHARED = ("AGENT_HOME", "GIT_", "XDG_", "HF_", "LC_")
_SHARED_NAMES = frozenset({"HOME", "LANG", "TZ", "FASTEMBED_CACHE_PATH"})
#: Variables that a command reads from its own surroundings.
_OWN = frozenset({
    "AGENT_HOME", "AGENT_HOME_TRUST_SETTINGS", "AGENT_HOME_DEBUG", "AGENT_HOME_SERVICE", "NO_COLOR", "TERM",
})  # fmt: skip
#: Set to 0, no service is asked and none is started.
_SWITCH = "AGENT_HOME_SERVICE"


class Answer(NamedTuple):
    """The exit code of a command, and the texts that it printed."""

    code: int
    out: str
    err: str


def forwarded(arguments: Sequence[str], environ: Mapping[str, str]) -> Answer | None:
    """Return what the service of the home answered to the command line *arguments*, or ``None``: run it here."""
    root = home_of(arguments, environ)
    return None if root is None else ask(root, arguments, Path.cwd(), environ)


def home_of(arguments: Sequence[str], environ: Mapping[str, str]) -> Path | None:
    """Return the home whose service may run the command line, or ``None`` for a command that always runs here."""
    if not arguments or arguments[0] not in FORWARDED or environ.get(_SWITCH) == "0":
        return None
    if {"-h", "--help"} & set(arguments) or not hasattr(socket, "AF_UNIX"):
        return None
    try:
        return home_root(_named_home(arguments), environ, Path.cwd())
    except (OSError, RuntimeError):  # the folder is gone, or ~name is nobody
        return None


def ask(root: Path, arguments: Sequence[str], folder: Path, environ: Mapping[str, str]) -> Answer | None:
    """Ask the service of the home *root* to run a command. Returns ``None`` where none took it or none answered."""
    request = {
        "arguments": list(arguments),
        "folder": str(folder),
        "environ": own_environment(environ),
        "terminals": {"out": terminal_columns(sys.stdout), "err": terminal_columns(sys.stderr)},
        "package": package(),
        "shared": shared_environment(environ),
    }
    try:
        status, answer = exchange(socket_path(root), "POST", "/command", json.dumps(request).encode())
        found = json.loads(answer) if status == 200 else {}
        return Answer(int(found["code"]), str(found["out"]), str(found["err"])) if found else None
    except (OSError, ValueError, KeyError, TypeError):  # no service, a slow one, one that died, or none of ours
        return None


def exchange(place: Path, method: str, path: str, body: bytes = b"", *, yes_s: float = _YES_S) -> tuple[int, bytes]:
    """Send one HTTP request over the socket *place*, and return the status and the body of the answer.

    Raises:
        OSError: nobody of this user listens, or did not take the request within *yes_s* seconds, or hung up.
        ValueError: the answer is no HTTP.
    """
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    )
    if place.stat().st_uid != os.geteuid():
        raise PermissionError(f"{place} belongs to another user")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(yes_s)
        with short_path(place) as name:
            connection.connect(name)
        connection.sendall(head.encode("ascii"))
        first = _until_head(connection)
        if _status(first) == 100:
            connection.settimeout(_ANSWER_S)
            connection.sendall(body)
            first = _until_head(connection, first.partition(b"\r\n\r\n")[2])
        return _status(first), _rest(connection, first.partition(b"\r\n\r\n")[2])


def package() -> str:
    """Return which installation this is."""
    return f"{sys.prefix} {Path(__file__).parent}"


def own_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a command reads from its surroundings."""
    return {name: environ[name] for name in sorted(_OWN) if name in environ}


def shared_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that must be the same here and in the service."""
    return {
        name: value
        for name, value in environ.items()
        if name not in _OWN and (name in _SHARED_NAMES or name.startswith(_SHARED))
    }


def _named_home(arguments: Sequence[str]) -> str | None:
    """Return the value of ``--home``. The service reads the arguments again, so a word of a query does no harm."""
    named = None
    for place, word in enumerate(arguments):
        if word == "--home" and place + 1 < len(arguments):
            named = arguments[place + 1]
        elif word.startswith("--home="):
            named = word.partition("=")[2]
    return named


def _until_head(connection: socket.socket, begun: bytes = b"") -> bytes:
    """Read until the head of an answer is there. What comes behind it belongs to the body."""
    while b"\r\n\r\n" not in begun:
        part = connection.recv(1 << 16)
        if not part:
            raise ConnectionError("the service hung up")
        begun += part
    return begun


def _status(head: bytes) -> int:
    return int(head[:13].split()[1])


def _rest(connection: socket.socket, begun: bytes) -> bytes:
    parts, size = [begun], len(begun)
    while part := connection.recv(1 << 18):
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            raise ConnectionError("the answer does not end")
    return b"".join(parts)


def write(answer: Answer) -> int:
    """Write *answer* to the streams of this process, and return the exit code."""
    try:
        sys.stderr.write(answer.err)
        sys.stdout.write(answer.out)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return answer.code
