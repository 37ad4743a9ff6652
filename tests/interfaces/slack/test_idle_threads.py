"""Threads that nobody writes in become memory, as they stand in Slack then."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from agent_home.home import MEMORY, Home
from agent_home.storage import read_text
from distill.review.queue import waiting
from interfaces.kept_promises import keep_promise
from interfaces.promised_closings import left_closings, promise
from interfaces.slack import idle_threads
from interfaces.slack.app import SlackBot
from tests.conftest import NOW
from tests.interfaces.slack.conftest import NotedBot
from tests.interfaces.slack.slack_server import AGENT, MARA, OWNER, SlackServer, wait_for

DIRECT, PUBLIC = "D0OWNER01", "C0PUBLIC1"
DECISION = "We decided to use Postgres for the billing service."


def idle(bot: SlackBot) -> list[str]:
    """Close threads as if an hour had passed."""
    bot.idle._clock = lambda: time.time() + 3700.0
    return bot.idle.close_due()


def talk(slack: SlackServer, place: str, *texts: str, user: str = OWNER) -> str:
    """Let somebody say *texts* in a thread, each of which is answered. Return the thread."""
    thread = slack.say(place, user, f"<@{AGENT}> {texts[0]}")
    for number, text in enumerate(texts[1:], 1):
        answered(slack, place, thread, number)
        slack.say(place, user, f"<@{AGENT}> {text}", thread=thread)
    answered(slack, place, thread, len(texts))
    return thread


def answered(slack: SlackServer, place: str, thread: str, count: int) -> None:
    wait_for(lambda: len(slack.answers(place, thread)) >= count)


def settled(bot: SlackBot, count: int) -> None:
    """Wait until all answers are kept."""
    wait_for(lambda: not bot.door._waiting)
    assert len(bot.door._record.threads()) == count


def test_an_idle_thread_becomes_memory_with_its_speakers(slack: SlackServer, bot: SlackBot, owned_home: Home) -> None:
    thread = talk(slack, PUBLIC, DECISION)
    slack.say(PUBLIC, MARA, "I prefer MySQL for the billing service.", thread=thread)
    wait_for(lambda: bot.door._record.threads()[0].last_user == MARA)
    settled(bot, 1)
    assert bot.idle.close_due() == []  # somebody wrote just now
    assert len(idle(bot)) == 1
    memory = read_text(owned_home.root / MEMORY)
    assert "Postgres" in memory
    assert "MySQL" not in memory  # only the owner decides
    assert left_closings(owned_home) == []
    assert idle(bot) == []  # there is nothing new


def test_a_deleted_message_of_an_open_thread_never_reaches_memory(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    thread = talk(slack, DIRECT, "Let us talk about the office.", DECISION)
    settled(bot, 1)
    row = next(row for row in slack.messages[DIRECT] if DECISION in row["text"] and row["user"] == OWNER)
    slack.delete(DIRECT, row["ts"])  # its event never comes
    answer = next(row for row in slack.messages[DIRECT] if DECISION in row["text"])
    slack.delete(DIRECT, answer["ts"])
    assert len(idle(bot)) == 1
    written = "".join(read_text(path) for path in owned_home.root.glob("**/*.md"))
    assert "Postgres" not in written
    assert thread


def test_a_thread_that_was_deleted_as_a_whole_leaves_nothing(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    talk(slack, DIRECT, DECISION)
    settled(bot, 1)
    slack.messages[DIRECT].clear()
    assert len(idle(bot)) == 1
    assert "Postgres" not in "".join(read_text(path) for path in owned_home.root.glob("**/*.md"))


def test_a_message_and_an_edit_without_events_reach_memory(slack: SlackServer, bot: SlackBot, owned_home: Home) -> None:
    thread = talk(slack, PUBLIC, "We decided to use MySQL for the billing service.")
    settled(bot, 1)
    slack.edit(PUBLIC, thread, f"<@{AGENT}> {DECISION}")
    slack.write(PUBLIC, OWNER, "We decided to call the staging server heron.", thread=thread)
    assert len(idle(bot)) == 1
    memory = read_text(owned_home.root / MEMORY)
    assert "Postgres" in memory
    assert "heron" in memory
    assert "MySQL" not in memory


def test_a_message_that_is_deleted_after_the_closing_waits_for_the_owner(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    thread = talk(slack, DIRECT, DECISION)
    settled(bot, 1)
    assert len(idle(bot)) == 1
    slack.send(slack.delete(DIRECT, thread))
    wait_for(lambda: bool(waiting(owned_home, NOW)))
    [item] = waiting(owned_home, NOW)
    assert "retracted" in str(item)
    assert "Postgres" in read_text(owned_home.root / MEMORY)  # a person decides


def test_an_event_that_comes_after_the_closing_reaches_memory_with_the_next_one(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    thread = talk(slack, PUBLIC, "Let us talk about the office.")
    late = slack.write(PUBLIC, OWNER, DECISION, thread=thread)
    slack.messages[PUBLIC].remove(late)  # it does not even stand in the thread yet
    settled(bot, 1)
    assert len(idle(bot)) == 1
    slack.messages[PUBLIC].append(late)
    slack.send(slack.event_of(PUBLIC, late))
    wait_for(lambda: bot.door._record.threads()[0].unclosed)
    assert len(idle(bot)) == 1
    assert "Postgres" in read_text(owned_home.root / MEMORY)


def test_an_edit_after_the_closing_replaces_the_entry_or_waits_for_the_owner(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    thread = talk(slack, DIRECT, DECISION)
    settled(bot, 1)
    assert len(idle(bot)) == 1
    event = slack.edit(DIRECT, thread, "Let us talk about the office.")
    slack.send(event)
    wait_for(lambda: bool(waiting(owned_home, NOW)))
    [item] = waiting(owned_home, NOW)
    assert "edited" in str(item)
    assert "Postgres" in read_text(owned_home.root / MEMORY)


def test_a_thread_is_not_closed_while_slack_does_not_answer(slack: SlackServer, bot: SlackBot) -> None:
    talk(slack, DIRECT, DECISION)
    settled(bot, 1)
    slack.failing["conversations.replies"] = "internal_error"
    assert idle(bot) == []
    bot.idle._clock = lambda: time.time() + 3 * 86_400.0
    assert len(bot.idle.close_due()) == 1


def test_a_thread_of_a_channel_that_the_bot_left_is_closed_as_it_is_known(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    talk(slack, PUBLIC, DECISION)
    settled(bot, 1)
    slack.failing["conversations.replies"] = "channel_not_found"
    assert len(idle(bot)) == 1
    assert "Postgres" in read_text(owned_home.root / MEMORY)


def test_a_promised_closing_is_kept_after_a_restart(slack: SlackServer, connected: NotedBot, owned_home: Home) -> None:
    with connected() as bot:
        talk(slack, DIRECT, DECISION)
        settled(bot, 1)
        session = bot.door._record.threads()[0].session
    promise(owned_home, session, caller="slack", audience="owner")
    with connected() as bot:
        wait_for(lambda: left_closings(owned_home) == [])
        wait_for(lambda: not bot.door._record.threads()[0].unclosed)
    assert "Postgres" in read_text(owned_home.root / MEMORY)


def test_what_was_said_while_memory_was_off_does_not_come_in_later(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    thread = talk(slack, PUBLIC, "Let us talk about the office.")
    settled(bot, 1)
    slack.command(PUBLIC, OWNER, "off")
    slack.write(PUBLIC, OWNER, DECISION, thread=thread)
    slack.command(PUBLIC, OWNER, "on")
    assert len(idle(bot)) == 1
    assert "Postgres" not in "".join(read_text(path) for path in owned_home.root.glob("**/*.md"))


def test_what_is_said_while_a_thread_is_closed_waits_for_the_next_closing(
    slack: SlackServer, bot: SlackBot, owned_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = talk(slack, PUBLIC, "Let us talk about the office.")
    settled(bot, 1)

    def slowly(*args: Any) -> object:
        done = keep_promise(*args)
        slack.say(PUBLIC, OWNER, DECISION, thread=thread)
        wait_for(lambda: bot.door._record.threads()[0].last_user == OWNER)
        time.sleep(0.3)
        return done

    monkeypatch.setattr(idle_threads, "keep_promise", slowly)
    assert len(idle(bot)) == 1
    monkeypatch.undo()
    assert bot.door._record.threads()[0].unclosed
    assert len(idle(bot)) == 1
    assert "Postgres" in read_text(owned_home.root / MEMORY)


def test_a_closed_thread_that_goes_on_is_closed_again(slack: SlackServer, bot: SlackBot, owned_home: Home) -> None:
    thread = talk(slack, DIRECT, "Let us talk about the office.")
    settled(bot, 1)
    assert len(idle(bot)) == 1
    slack.say(DIRECT, OWNER, DECISION, thread=thread)
    wait_for(lambda: len(slack.answers(DIRECT, thread)) == 2)
    settled(bot, 1)
    record = bot.door._record
    record.keep(replace(record.threads()[0], active=0.0))
    assert len(idle(bot)) == 1
    assert "Postgres" in read_text(owned_home.root / MEMORY)
