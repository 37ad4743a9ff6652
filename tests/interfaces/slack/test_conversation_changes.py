"""Whatever people write, edit and delete, and however its events come, a transcript is what the thread in Slack is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from agent_home.home import Home
from agent_home.store import transcript
from interfaces.slack.app import SlackBot, SlackSetup, slack_bot
from interfaces.slack.conversation import session_of
from interfaces.slack.record import SlackThread
from tests.interfaces.slack.conftest import NotedResponder
from tests.interfaces.slack.slack_server import AGENT, MARA, OWNER, TEAM, Row, SlackServer, wait_for

PLACE = "C0PUBLIC1"


@pytest.fixture
def unconnected(slack: SlackServer, owned_home: Home, responder: NotedResponder) -> Iterator[SlackBot]:
    """A bot whose events the test brings by hand, in its own order."""
    setup = SlackSetup(bot_token="xoxb-1", signing_secret="s", owner=OWNER, api_url=slack.url)
    with slack_bot(owned_home, setup, responder, socket_mode=False) as made:
        yield made


@dataclass
class Talk:
    """A thread in Slack that goes on at random, and the events that tell of it."""

    slack: SlackServer
    bot: SlackBot
    seed: int = 0
    root: str = ""
    events: list[Row] = field(default_factory=list)
    off: list[tuple[str, str]] = field(default_factory=list)
    numbers: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)  # noqa: S311 - the same steps each time

    def begin(self) -> SlackThread:
        self.bring(self.slack.event_of(PLACE, before := self.slack.write(PLACE, MARA, "before the call")))
        self.root = before["ts"]
        for _ in range(2):
            self.write()
        call = self.slack.write(PLACE, OWNER, f"<@{AGENT}> the call", thread=self.root)
        self.bring(self.slack.event_of(PLACE, call))
        wait_for(lambda: not self.bot.door._waiting)
        return self.bot.door._record.threads()[-1]

    def step(self) -> None:
        kinds = [self.write] * 5 + [self.edit] * 4 + [self.delete] * 2 + [self.switch]
        self.chance.choice(kinds)()

    def words(self) -> str:
        self.numbers += 1
        text = f"words {self.numbers}"
        return f"!memory forget {text}" if self.chance.random() < 0.15 else text

    def write(self) -> None:
        row = self.slack.write(PLACE, self.chance.choice((OWNER, MARA)), self.words(), thread=self.root)
        self.events.append(self.slack.event_of(PLACE, dict(row)))

    def edit(self) -> None:
        if ts := self._some():
            self.events.append(self.slack.edit(PLACE, ts, self.words()))

    def delete(self) -> None:
        ts = self._some()
        if ts and ts != self.root:
            self.events.append(self.slack.delete(PLACE, ts))

    def switch(self) -> None:
        since = self.slack.stamp()
        self.write()
        self.edit()
        until = self.slack.stamp()
        self.off.append((since, until))
        self.bot.door._record.switch_off(PLACE, self.root, by=MARA, since=since)
        self.bot.door._record.switch_on(PLACE, self.root, until=until)

    def bring(self, event: Row) -> None:
        body = {"team_id": TEAM, "event": event, "event_id": f"Ev{self.chance.random()}"}
        if "subtype" in event:
            self.bot.door.on_change(body)
        else:
            self.bot.door.on_message(body)

    def kept(self, began: str) -> list[str]:
        """The texts that the transcript should have, by a plain reading of the rules."""
        rows = [row for row in self.slack.messages[PLACE] if row["user"] != AGENT and row["ts"] >= began]
        return sorted(
            row["text"].removeprefix(f"<@{AGENT}> ") for row in rows
            if not row["text"].startswith("!memory")
            and not self._was_off(row["ts"]) and not self._was_off(row.get("edited", {}).get("ts", ""))
        )  # fmt: skip

    def _was_off(self, ts: str) -> bool:
        return any(since <= ts < until for since, until in self.off)

    def _some(self) -> str:
        rows = [row["ts"] for row in self.slack.messages[PLACE] if row["user"] != AGENT]
        return self.chance.choice(rows) if rows else ""


def said(home: Home, thread: SlackThread) -> list[str]:
    """What readers of the transcript see, without the agent's own lines."""
    path = transcript.session_path(home, thread.session)
    assert path is not None
    return sorted(turn.message.content for turn in transcript.read(path) if turn.message.role != "assistant")


@pytest.mark.parametrize("seed", range(4))
def test_a_transcript_is_what_its_thread_is_in_every_order_of_events(
    slack: SlackServer, unconnected: SlackBot, owned_home: Home, seed: int
) -> None:
    talk = Talk(slack, unconnected, seed)
    chance = talk.chance
    thread = talk.begin()
    for _ in range(25):
        talk.step()
    brought = talk.events + chance.sample(talk.events, 5)
    chance.shuffle(brought)
    for event in brought:
        talk.bring(event)
    assert said(owned_home, thread) == talk.kept(thread.began)
    for _ in range(10):
        talk.step()  # of these changes, some events are lost
    for event in talk.events[-10:]:
        if chance.random() < 0.5:
            talk.bring(event)
    unconnected.door._conversations.catch_up(thread)
    assert said(owned_home, thread) == talk.kept(thread.began)
    unconnected.door._conversations.catch_up(thread)
    assert said(owned_home, thread) == talk.kept(thread.began)


def test_an_edit_brings_in_nothing_that_was_said_before_the_call(
    slack: SlackServer, unconnected: SlackBot, owned_home: Home
) -> None:
    talk = Talk(slack, unconnected)
    thread = talk.begin()
    talk.bring(slack.edit(PLACE, talk.root, "the code of the door is swordfish"))
    unconnected.door._conversations.catch_up(thread)
    assert said(owned_home, thread) == ["the call"]


def test_an_answer_that_comes_after_memory_was_switched_off_is_not_kept(
    slack: SlackServer, unconnected: SlackBot, owned_home: Home, responder: NotedResponder
) -> None:
    def switch_off(_question: object) -> None:
        unconnected.door._record.switch_off(PLACE, "", by=MARA, since=slack.stamp())

    responder.before = switch_off
    thread = Talk(slack, unconnected).begin()
    path = transcript.session_path(owned_home, thread.session)
    assert path is not None
    assert [turn.message.content for turn in transcript.read(path)] == ["the call"]
    assert thread.session == session_of(unconnected.door._conversations.workspace, PLACE, thread.thread)


def test_an_answer_after_memory_was_switched_off_uses_none(
    slack: SlackServer, unconnected: SlackBot, responder: NotedResponder
) -> None:
    row = slack.write(PLACE, OWNER, f"<@{AGENT}> what do you know?")
    unconnected.door._record.switch_off(PLACE, "", by=MARA, since=slack.stamp())
    talk = Talk(slack, unconnected)
    talk.bring(slack.event_of(PLACE, row))
    wait_for(lambda: not unconnected.door._waiting)
    assert [question.prompt for question in responder.questions] == [""]
