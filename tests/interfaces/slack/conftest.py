"""Fixtures of the Slack tests: a workspace, a home whose owner is in it, and a bot between them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from agent_home.audience import Audience
from agent_home.creation import create
from agent_home.home import Home
from agent_home.settings import OwnerSettings
from interfaces.slack.app import SlackBot, SlackSetup, slack_bot
from interfaces.slack.responder import Question
from tests.conftest import NOW
from tests.interfaces.slack.slack_server import OWNER, SlackServer, wait_for

NotedBot = Callable[..., AbstractContextManager[SlackBot]]


class NotedResponder:
    """Answers with the last line, and keeps what it was asked. *pieces* are answered instead, where given."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.pieces: tuple[str, ...] = ()
        self.before: Callable[[Question], object] = lambda _question: None

    def answer(self, question: Question) -> Iterator[str]:
        self.questions.append(question)
        self.before(question)
        yield from self.pieces or (f"You said: {question.thread[-1].text}",)


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer().running() as server:
        yield server


@pytest.fixture
def owned_home(home: Home) -> Home:
    create(home.root, owner=OwnerSettings(names=("Sam",), accounts=(OWNER,)), now=NOW)
    return Home(home.root)


@pytest.fixture
def responder() -> NotedResponder:
    return NotedResponder()


@pytest.fixture
def connected(slack: SlackServer, owned_home: Home, responder: NotedResponder) -> NotedBot:
    @contextmanager
    def run(*, idle_s: float = 3600.0, owner: str = OWNER, widest: Audience = Audience.owner) -> Iterator[SlackBot]:
        setup = SlackSetup(
            bot_token="xoxb-1", app_token="xapp-1", owner=owner, api_url=slack.url, idle_s=idle_s, widest=widest
        )
        stop, ready = threading.Event(), threading.Event()
        with slack_bot(owned_home, setup, responder, socket_mode=True) as bot:
            thread = threading.Thread(target=bot.serve_socket, args=(stop, ready.set))
            thread.start()
            try:
                wait_for(ready.is_set)
                yield bot
            finally:
                stop.set()
                while thread.is_alive():  # the library waits for its socket, which waits for a word of the server
                    slack.nudge()
                    thread.join(0.05)

    return run


@pytest.fixture
def bot(connected: NotedBot) -> Iterator[SlackBot]:
    with connected() as made:
        yield made
