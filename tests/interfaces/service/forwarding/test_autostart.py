"""The service that starts by itself: only where it is allowed, and never with modules of the home."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_home.consent.settings_in_effect import accept_settings
from agent_home.home import Home
from agent_home.home_location import MANIFEST
from agent_home.settings import load_manifest
from interfaces.api import AgentHome
from interfaces.service.forwarding import autostart
from interfaces.service.forwarding.client import exchange
from interfaces.service.forwarding.socket_place import socket_path
from tests.interfaces.service.running_service import MEMORY, PATIENCE_S, environment, is_gone, run_memory, until

#: Runs a hook, and says on standard error whether it loaded the commands.
TELLING = f"import sys\n{MEMORY}\nprint('HERE' if 'interfaces.cli' in sys.modules else 'SERVICE', file=sys.stderr)"


def services(home: Home) -> list[int]:
    """Return the processes that serve *home*."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = place.read_bytes().split(b"\0")
            if b"serve" in words and os.fsencode(home.root) in words and b"--stop" not in words:
                found.append(int(place.parent.name))
    return found


@pytest.fixture
def allowed(home: Home) -> Iterator[Home]:
    """A home whose service may start by itself. What serves it is killed behind the test."""
    with (home.root / MANIFEST).open("a") as file:
        file.write("\n[serve]\nautostart = true\n")
    accept_settings(load_manifest(home.root / MANIFEST), home.machine)
    yield home
    for process in services(home):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)


def started_session(home: Home, number: int) -> tuple[str, str]:
    """Run the hook of a session that starts. Return its context, and where the command ran."""
    command = [sys.executable, "-c", TELLING, "hook", "session-start", "--host", "codex", "--home", str(home.root)]
    given = json.dumps({"session_id": f"s{number}", "cwd": "/"})
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, check=True, timeout=PATIENCE_S, env=environment()
    )
    return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"], done.stderr.strip()


def test_a_hook_starts_the_service_which_answers_and_ends_without_a_child(allowed: Home) -> None:
    AgentHome(allowed).remember("The staging server is called heron", origin="user")
    text, where = started_session(allowed, 1)
    assert (where, "heron" in text) == ("HERE", True)
    until("the service listens", socket_path(allowed.root).is_socket)
    (service,) = services(allowed)
    assert os.getsid(service) == service, "no host kills it together with its hooks"
    assert exchange(socket_path(allowed.root), "GET", "/health", yes_s=PATIENCE_S)[0] == 200
    answers = (started_session(allowed, number) for number in range(2, 12))  # a busy machine says its yes too late
    assert any(where == "SERVICE" and "heron" in text for text, where in answers)
    until("a second one ends at once", lambda: services(allowed) == [service])
    stopped = run_memory("serve", "--stop", "--home", str(allowed.root), "--json")
    assert json.loads(stopped.stdout) == {"stopped": [str(allowed.root)]}
    until("the service and what it started are gone", lambda: is_gone(service))
    assert not socket_path(allowed.root).exists()


def test_a_hook_starts_no_service_that_is_not_allowed(home: Home) -> None:
    assert started_session(home, 1)[1] == "HERE"
    assert services(home) == []


def test_it_starts_only_after_consent_and_from_no_folder_of_a_home(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[list[str], Any]] = []
    monkeypatch.delenv("AGENT_HOME_SERVICE", raising=False)
    monkeypatch.setattr(subprocess, "Popen", lambda command, **more: started.append((command, more["cwd"])))
    with (home.root / MANIFEST).open("a") as file:
        file.write("\n[serve]\nautostart = true\n")
    assert not autostart.start_if_allowed(home.root)
    accept_settings(load_manifest(home.root / MANIFEST), home.machine)
    assert autostart.start_if_allowed(home.root)
    ((command, folder),) = started
    assert command[1:4] == ["-P", "-m", "interfaces.cli"]
    assert folder == "/"
