"""Three chats at the same time, the bot of a team and a nightly run, each a process of its own, on one home."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agent_home.documents.check import problems
from agent_home.home import MEMORY, Home
from agent_home.storage import read_text
from agent_home.store import closings, transcript
from tests.interfaces.slack.slack_server import AGENT, MARA, OWNER, SlackServer, wait_for

DIRECT, PUBLIC = "D0OWNER01", "C0PUBLIC1"
MAIN = "from interfaces.entry import main; main()"
CHAT = """
import sys
from interfaces.api import open_home
agent = open_home(sys.argv[1])
for turn, said in enumerate(("Let us talk about the office.", sys.argv[3])):
    agent.prompt("office", session=sys.argv[2])
    agent.append(sys.argv[2], [{"role": "user", "content": said, "id": f"m{turn}"}])
agent.close(sys.argv[2])
"""
DECIDED = {
    "Redis": "We decided to use Redis for the session cache.",
    "heron": "We decided to call the staging server heron.",
    "Thursdays": "We decided to publish the newsletter on Thursdays.",
}


def started(code: str, *arguments: str, **environ: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env={**os.environ, **environ},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def ended_well(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        _, error = process.communicate(timeout=120)
        # Whoever finds the index busy leaves it to the other one, and says so with the exit code of findings.
        busy = process.returncode == 1 and error.startswith(b"memory: another sync is running")
        assert process.returncode == 0 or busy, error.decode()


@contextmanager
def serving(slack: SlackServer, home: Home, script: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"
    process = started(
        MAIN, "slack", "--home", str(home.root), "--responder-command", command, *options,
        SLACK_BOT_TOKEN="xoxb-1", SLACK_APP_TOKEN="xapp-1", SLACK_API_URL=slack.url,
    )  # fmt: skip
    try:
        wait_for(lambda: slack.is_connected)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        while process.poll() is None:
            slack.nudge()
            time.sleep(0.02)
        _, error = process.communicate()
        assert process.returncode in {0, -signal.SIGKILL}, error.decode()


def test_three_chats_a_bot_and_a_nightly_run_share_one_home(
    slack: SlackServer, owned_home: Home, tmp_path: Path
) -> None:
    script = tmp_path / "answer.py"
    script.write_text("import json, sys\njson.load(sys.stdin)\nprint('Heard.')\n")
    folder = str(owned_home.root)
    with serving(slack, owned_home, script, "--idle-minutes", "0.05") as bot:
        others = [started(CHAT, folder, name, said) for name, said in DECIDED.items()]
        others.append(started(MAIN, "distill", "--home", folder))
        thread = slack.say(PUBLIC, OWNER, f"<@{AGENT}> We decided to use Postgres for the billing service.")
        slack.say(PUBLIC, MARA, "I prefer MySQL for the billing service.", thread=thread)
        wait_for(lambda: slack.answers(PUBLIC, thread) == ["Heard.\n"])
        ended_well(others)
        wait_for(lambda: "Postgres" in read_text(owned_home.root / MEMORY))  # the bot closed its thread
        wait_for(lambda: closings.open_sessions(owned_home) == [])
        second = started(MAIN, "slack", "--home", folder, "--responder-command", "true", SLACK_BOT_TOKEN="xoxb-1",
                         SLACK_APP_TOKEN="xapp-1", SLACK_API_URL=slack.url)  # fmt: skip
        assert b"another process serves Slack" in second.communicate(timeout=60)[1]
        assert second.returncode != 0
    assert bot.returncode == 0
    memory = read_text(owned_home.root / MEMORY)
    assert [len(re.findall(rf"^- .*\b{word}\b", memory, re.MULTILINE)) for word in ("Postgres", *DECIDED)] == [1] * 4
    assert "MySQL" not in memory
    assert closings.open_sessions(owned_home) == []
    assert len(transcript.sessions(owned_home)) == 4
    status = subprocess.run(["git", "-C", folder, "status", "--porcelain"], capture_output=True, text=True, check=True)
    assert status.stdout == ""
    assert problems(owned_home) == []


def test_a_killed_bot_answers_and_keeps_each_message_once(slack: SlackServer, owned_home: Home, tmp_path: Path) -> None:
    script = tmp_path / "answer.py"
    script.write_text("import json, sys\nprint('Heard', json.load(sys.stdin)['thread'][-1]['text'])\n")
    with serving(slack, owned_home, script) as bot:
        row = slack.write(DIRECT, OWNER, "one")
        event_id = slack.send(slack.event_of(DIRECT, row))
        wait_for(lambda: len(slack.answers(DIRECT)) == 1)
        wait_for(lambda: len(transcript.read(transcript.sessions(owned_home)[0].path)) == 2)
        bot.kill()
    wait_for(lambda: not slack.is_connected)
    with serving(slack, owned_home, script):
        slack.send(slack.event_of(DIRECT, row), event_id=event_id, retry=1)
        slack.say(DIRECT, OWNER, "two", thread=row["ts"])
        wait_for(lambda: len(slack.answers(DIRECT)) == 2)
        wait_for(lambda: len(transcript.read(transcript.sessions(owned_home)[0].path)) == 4)
    assert [text.strip() for text in slack.answers(DIRECT)] == ["Heard one", "Heard two"]
