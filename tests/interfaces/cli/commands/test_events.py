"""``memory events`` shows what happened, and follows what comes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from datetime import datetime

from click.testing import CliRunner, Result

from agent_home.events.recording import log_event
from agent_home.home import Home
from interfaces.cli import cli


def test_events_are_shown_by_type_session_and_time(home: Home, now: datetime) -> None:
    def memory(*words: str) -> Result:
        return CliRunner().invoke(cli, [*words, "--home", str(home.root)])

    log_event(home, "ci-7", "test_run", {"passed": 40, "failed": 0, "names": ["a", "b"]}, now=now)
    shown = memory("events", "--session", "ci-7")
    assert shown.stdout.splitlines()[-1].endswith("test_run  [ci-7] passed=40 names=a,b")
    (event,) = json.loads(memory("events", "--type", "test_run", "--json").stdout)["events"]
    assert event["details"]["passed"] == 40
    assert "no event fits" in memory("events", "--type", "test_run", "--start", "2200-01-01").stdout
    refused = memory("events", "--start", "yesterday")
    assert refused.exit_code == 2
    assert "ISO 8601" in refused.stderr


def test_following_prints_the_events_that_come(home: Home) -> None:
    command = [sys.executable, "-m", "interfaces.cli", "events", "--home", str(home.root), "--follow", "--json"]
    log_event(home, "s", "tick", {"n": 0})
    with subprocess.Popen([*command, "--type", "tick"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            first = json.loads(process.stdout.readline())
            writer = threading.Timer(0.5, lambda: log_event(home, "s", "tick", {"n": 1}))
            writer.start()
            second = json.loads(process.stdout.readline())
            writer.join()
        finally:
            process.terminate()
    assert [first["details"], second["details"]] == [{"n": 0}, {"n": 1}]
