"""What goes wrong beneath the bot is told in the thread, and the bot goes on."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import pytest

from agent_home.errors import Locked
from agent_home.home import Home
from interfaces.slack.app import SlackBot
from interfaces.slack.responder import CommandResponder
from tests.interfaces.slack.conftest import NotedResponder
from tests.interfaces.slack.slack_server import AGENT, OWNER, SlackServer, wait_for

DIRECT, PUBLIC = "D0OWNER01", "C0PUBLIC1"


def answered(slack: SlackServer, place: str, thread: str, count: int = 1) -> str:
    wait_for(lambda: len(slack.answers(place, thread)) >= count)
    return slack.answers(place, thread)[count - 1]


def test_a_home_that_was_removed_is_told_and_not_made_anew(
    slack: SlackServer, bot: SlackBot, owned_home: Home, responder: NotedResponder
) -> None:
    answered(slack, DIRECT, slack.say(DIRECT, OWNER, "one"))
    wait_for(lambda: not bot.door._waiting)
    shutil.rmtree(owned_home.root)
    assert "Memory is degraded" in answered(slack, DIRECT, slack.say(DIRECT, OWNER, "two"))
    told = answered(slack, PUBLIC, slack.say(PUBLIC, OWNER, f"<@{AGENT}> three"))
    assert "Memory is degraded" in told
    assert str(owned_home.root) not in told
    assert "did not work" in slack.command(PUBLIC, OWNER, "remember The printer is on the second floor")
    bot.idle._clock = lambda: time.time() + 3700.0
    assert bot.idle.close_due() == []
    wait_for(lambda: not bot.door._waiting)
    assert not owned_home.root.exists()


def test_a_full_disk_is_told_and_the_answer_comes(
    slack: SlackServer, bot: SlackBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object, **_values: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("append", "stage", "create"):
        monkeypatch.setattr(f"agent_home.storage.{name}", full)
    told = answered(slack, DIRECT, slack.say(DIRECT, OWNER, "hello"))
    assert "I did not keep your message (OSError)" in told
    assert told.endswith("You said: hello")


def test_a_locked_home_is_told_and_the_thread_is_closed_later(
    slack: SlackServer, bot: SlackBot, owned_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object) -> None:
        raise Locked(owned_home.root, 1.0)

    thread = slack.say(DIRECT, OWNER, "We decided to use Postgres for the billing service.")
    answered(slack, DIRECT, thread)
    wait_for(lambda: not bot.door._waiting)
    bot.idle._clock = lambda: time.time() + 3700.0
    with monkeypatch.context() as patched:
        patched.setattr("interfaces.slack.idle_threads.keep_promise", refuse)
        assert bot.idle.close_due() == []
    assert len(bot.idle.close_due()) == 1
    assert bot.idle.close_due() == []


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nwhile True: sys.stdout.write('x' * 65536)", "import time\ntime.sleep(60)",
        "print('half')\nraise SystemExit(1)", "import sys\nsys.stdout.buffer.write(b'\\xff' * 10)",
    ],
)  # fmt: skip
def test_a_command_that_hangs_floods_or_fails_is_told(
    slack: SlackServer, bot: SlackBot, tmp_path: Path, code: str
) -> None:
    script = tmp_path / "answer.py"
    script.write_text(code)
    bot.door._responder = CommandResponder(command=f"{sys.executable} {script}", timeout_s=1.0)
    began = time.monotonic()
    thread = slack.say(PUBLIC, OWNER, f"<@{AGENT}> hello")
    told = answered(slack, PUBLIC, thread)
    assert told.endswith("I cannot answer now. The log of this bot says why") or len(told) < 50
    assert "xx" not in told
    assert time.monotonic() - began < 20.0
