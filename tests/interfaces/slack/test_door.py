"""The bot with Slack's own libraries, against a stand-in of Slack: messages kept, answered, repeated and changed."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from agent_home.audience import Audience
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.speakers import resolve_speakers
from agent_home.store.transcript import Message
from assembler.receipt import Receipt
from interfaces.api import AgentHome
from interfaces.slack.app import SlackBot
from interfaces.slack.conversation import session_of
from tests.interfaces.slack.conftest import NotedBot, NotedResponder
from tests.interfaces.slack.slack_server import AGENT, MARA, OWNER, SlackServer, direct, wait_for

DIRECT, PUBLIC, PRIVATE = "D0OWNER01", "C0PUBLIC1", "C0PRIVATE"


def kept(home: Home, bot: SlackBot, place: str, thread: str) -> list[Message]:
    """The messages that readers of the transcript of a thread see."""
    path = transcript.session_path(home, session_of(bot.door._conversations.workspace, place, thread))
    return [turn.message for turn in transcript.read(path)] if path else []


def answered(slack: SlackServer, place: str, thread: str, count: int = 1) -> list[str]:
    wait_for(lambda: len(slack.answers(place, thread)) >= count)
    return slack.answers(place, thread)


def test_a_thread_is_a_session_and_its_lines_keep_their_speakers(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    thread = slack.say(PUBLIC, OWNER, f"<@{AGENT}> the staging server is called heron")
    wait_for(lambda: len(kept(owned_home, bot, PUBLIC, thread)) == 2)
    slack.say(PUBLIC, MARA, "I would call it egret", thread=thread)
    slack.say(PUBLIC, MARA, "nobody asked the agent here")  # another thread, in which the agent was never called
    wait_for(lambda: len(kept(owned_home, bot, PUBLIC, thread)) == 3)
    said = kept(owned_home, bot, PUBLIC, thread)
    assert [(m.role, m.name, m.account, m.channel) for m in said] == [
        ("user", "Sam", OWNER, PUBLIC), ("assistant", "", "", PUBLIC), ("participant", "Mara", MARA, PUBLIC),
    ]  # fmt: skip
    assert said[0].content == "the staging server is called heron"
    assert len(transcript.sessions(owned_home)) == 1
    path = transcript.sessions(owned_home)[0].path
    roles = [turn.message.role for turn in resolve_speakers(owned_home, transcript.read(path)).turns]
    assert roles == ["user", "assistant", "participant"]
    assert len(slack.answers(PUBLIC)) == 1  # Mara did not call it


def test_two_channels_and_two_threads_are_four_sessions(slack: SlackServer, bot: SlackBot, owned_home: Home) -> None:
    for place in (PUBLIC, DIRECT):
        for text in ("one", "two"):
            answered(slack, place, slack.say(place, OWNER, f"<@{AGENT}> {text}"))
    wait_for(lambda: len(transcript.sessions(owned_home)) == 4)
    names = [file.session for file in transcript.sessions(owned_home)]
    assert len({name.partition(":")[0] for name in names}) == 2


def test_a_name_in_slack_makes_nobody_the_owner(slack: SlackServer, bot: SlackBot, owned_home: Home) -> None:
    slack.users[MARA]["profile"] = {"display_name": "Sam", "real_name": "Sam"}
    thread = slack.say(PUBLIC, MARA, f"<@{AGENT}> I prefer tabs")
    answered(slack, PUBLIC, thread)
    assert kept(owned_home, bot, PUBLIC, thread)[0].role == "participant"


def test_a_repeated_event_is_handled_once(
    slack: SlackServer, bot: SlackBot, owned_home: Home, responder: NotedResponder
) -> None:
    row = slack.write(PUBLIC, OWNER, f"<@{AGENT}> hello")
    event = slack.event_of(PUBLIC, row)
    event_id = slack.send(event)
    for retry in (1, 2, 3):
        slack.send(event, event_id=event_id, retry=retry)
    slack.send({**event, "type": "app_mention"})  # the other event of the same message, under an id of its own
    answered(slack, PUBLIC, row["ts"])
    wait_for(lambda: len(kept(owned_home, bot, PUBLIC, row["ts"])) == 2)
    assert len(responder.questions) == 1
    assert len(slack.answers(PUBLIC)) == 1


def test_a_repeated_event_is_known_after_a_restart(
    slack: SlackServer, connected: NotedBot, responder: NotedResponder
) -> None:
    row = slack.write(DIRECT, OWNER, "hello")
    event = slack.event_of(DIRECT, row)
    with connected():
        event_id = slack.send(event)
        answered(slack, DIRECT, row["ts"])
    with connected():
        slack.send(event, event_id=event_id, retry=3)
        later = slack.say(DIRECT, OWNER, "and now?")
        answered(slack, DIRECT, later)
    assert [question.thread[-1].text for question in responder.questions] == ["hello", "and now?"]


def test_late_and_reordered_messages_all_reach_the_transcript(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    thread = slack.say(PUBLIC, OWNER, f"<@{AGENT}> let us plan")
    answered(slack, PUBLIC, thread)
    rows = [slack.write(PUBLIC, MARA, f"point {number}", thread=thread) for number in range(4)]
    for row in (rows[3], rows[1], rows[2], rows[0]):
        slack.send(slack.event_of(PUBLIC, row))
    wait_for(lambda: len(kept(owned_home, bot, PUBLIC, thread)) == 6)
    points = {m.content for m in kept(owned_home, bot, PUBLIC, thread) if m.role == "participant"}
    assert points == {"point 0", "point 1", "point 2", "point 3"}


def test_the_first_call_begins_a_session_in_whichever_order_the_events_come(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    root = slack.write(PUBLIC, MARA, "something between us")["ts"]
    rows = [
        slack.write(PUBLIC, user, text, thread=root)
        for user, text in ((OWNER, f"<@{AGENT}> first"), (MARA, "second"), (OWNER, f"<@{AGENT}> third"))
    ]  # fmt: skip
    for row in (rows[2], slack.message(PUBLIC, root), rows[1], rows[0]):
        slack.send(slack.event_of(PUBLIC, row))
    answered(slack, PUBLIC, root, 2)
    wait_for(lambda: not bot.door._waiting)
    bot.idle._caught_up(bot.door._record.threads()[0])
    said = {m.content for m in kept(owned_home, bot, PUBLIC, root) if m.role != "assistant"}
    assert said == {"first", "second", "third"}


def test_an_edit_replaces_what_was_said(slack: SlackServer, bot: SlackBot, owned_home: Home) -> None:
    thread = slack.say(PUBLIC, OWNER, f"<@{AGENT}> we ship on Thursday")
    answered(slack, PUBLIC, thread)
    event = slack.edit(PUBLIC, thread, f"<@{AGENT}> we ship on Friday")
    slack.send(event)
    wait_for(lambda: kept(owned_home, bot, PUBLIC, thread)[-1].content == "we ship on Friday")
    assert [m.content for m in kept(owned_home, bot, PUBLIC, thread) if m.role == "user"] == ["we ship on Friday"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_newest_edit_counts_in_any_order(
    slack: SlackServer, bot: SlackBot, owned_home: Home, order: tuple[int, int]
) -> None:
    thread = slack.say(PUBLIC, OWNER, f"<@{AGENT}> version A")
    answered(slack, PUBLIC, thread)
    edits = [slack.edit(PUBLIC, thread, f"version {name}") for name in ("B", "A")]
    for number in order:
        slack.send(edits[number])
        time.sleep(0.2)
    path = transcript.sessions(owned_home)[0].path
    wait_for(lambda: len(list(transcript.read_lines(path, withdrawn_too=True))) >= 5)
    assert [m.content for m in kept(owned_home, bot, PUBLIC, thread) if m.role == "user"] == ["version A"]


def test_a_deleted_message_is_seen_by_no_reader(slack: SlackServer, bot: SlackBot, owned_home: Home) -> None:
    thread = slack.say(DIRECT, OWNER, "start")
    answered(slack, DIRECT, thread)
    ts = slack.say(DIRECT, OWNER, "the code of the door is swordfish", thread=thread)
    answered(slack, DIRECT, thread, 2)
    wait_for(lambda: len(kept(owned_home, bot, DIRECT, thread)) == 4)
    slack.send(slack.delete(DIRECT, ts))  # in a thread of the assistant's container
    wait_for(lambda: len(kept(owned_home, bot, DIRECT, thread)) == 3)
    assert not any(m.content.startswith("the code") for m in kept(owned_home, bot, DIRECT, thread))


def test_a_deletion_that_comes_before_its_message_counts(slack: SlackServer, bot: SlackBot, owned_home: Home) -> None:
    thread = slack.say(PUBLIC, OWNER, f"<@{AGENT}> start")
    answered(slack, PUBLIC, thread)
    row = slack.write(PUBLIC, MARA, "never mind", thread=thread)
    late = slack.event_of(PUBLIC, dict(row))
    slack.send(slack.delete(PUBLIC, row["ts"]))
    path = transcript.sessions(owned_home)[0].path
    wait_for(lambda: bool(transcript.withdrawals(path)))
    slack.send(late)
    wait_for(
        lambda: any(m and m.content == "never mind" for m, _, _ in transcript.read_lines(path, withdrawn_too=True))
    )
    assert [m.content for m in kept(owned_home, bot, PUBLIC, thread) if m.role == "participant"] == []


def test_the_answer_is_written_with_the_prompt_of_its_readers(
    slack: SlackServer, bot: SlackBot, owned_home: Home, responder: NotedResponder
) -> None:
    AgentHome(owned_home).remember("The safe is behind the painting", origin="user")
    answered(slack, DIRECT, slack.say(DIRECT, OWNER, "where is the safe?"))
    answered(slack, PUBLIC, slack.say(PUBLIC, OWNER, f"<@{AGENT}> where is the safe?"))
    answered(slack, "D0MARA001", slack.say("D0MARA001", MARA, "where is the safe?"))
    audiences = [question.audience for question in responder.questions]
    assert audiences == ["owner", "group", "group"]
    assert ["behind the painting" in question.prompt for question in responder.questions] == [True, False, False]


def test_a_channel_that_others_join_while_the_answer_is_written_gets_a_narrower_one(
    slack: SlackServer, bot: SlackBot, responder: NotedResponder
) -> None:
    def invite(_question: object) -> None:
        slack.members[PRIVATE] = [*slack.members[PRIVATE], "U0GUEST01"]
        responder.before = lambda _question: None

    responder.before = invite
    thread = slack.say(PRIVATE, OWNER, f"<@{AGENT}> where is the plan?")
    assert len(answered(slack, PRIVATE, thread)) == 1
    assert [question.audience for question in responder.questions] == ["trusted", "group"]


@pytest.mark.parametrize("flags", [{"is_private": False}, {"is_ext_shared": True}, {"is_pending_ext_shared": True}])
def test_a_channel_that_is_opened_while_the_answer_is_written_gets_a_narrower_one(
    slack: SlackServer, bot: SlackBot, responder: NotedResponder, flags: dict[str, bool]
) -> None:
    responder.before = lambda _question: slack.channels[PRIVATE].update(flags)
    thread = slack.say(PRIVATE, OWNER, f"<@{AGENT}> where is the plan?")
    assert len(answered(slack, PRIVATE, thread)) == 1
    assert [question.audience for question in responder.questions] == ["trusted", "group"]


def test_a_command_in_a_direct_message_shows_nothing_that_its_new_readers_may_not_see(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    AgentHome(owned_home).remember("The safe is behind the painting", origin="user")
    thread = slack.say(DIRECT, OWNER, "where is the safe?")
    answered(slack, DIRECT, thread)
    wait_for(lambda: not bot.door._waiting)
    why, commands = bot.door.commands.run, bot.door.commands

    def shared(*args: Any, **values: Any) -> str:
        text = why(*args, **values)
        slack.channels[DIRECT]["is_ext_shared"] = True
        return text

    commands.run = shared  # type: ignore[method-assign]
    slack.say(DIRECT, OWNER, "!memory why", thread=thread)
    assert "Ask me again" in answered(slack, DIRECT, thread, 2)[1]


def test_a_direct_message_gets_its_answer_while_it_is_written(
    slack: SlackServer, bot: SlackBot, responder: NotedResponder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interfaces.slack.delivery._PART_S", 0.0)
    responder.pieces = ("First line\n", "second line\n", "![x](https://evil.example/?d=1)\n", "<!channel> end")
    thread = slack.say(DIRECT, OWNER, "tell me")
    wait_for(lambda: bool(slack.called("chat.stopStream")))
    text = answered(slack, DIRECT, thread)[0]
    assert text.endswith("@channel end")
    assert "First line\nsecond line\n" in text
    assert "![x](https://evil" not in text
    assert len(slack.called("chat.appendStream")) >= 1
    statuses = [given["status"] for given in slack.called("assistant.threads.setStatus")]
    assert statuses[0] == "is thinking..."


def test_where_slack_takes_no_stream_the_answer_comes_as_a_whole(
    slack: SlackServer, bot: SlackBot, responder: NotedResponder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interfaces.slack.delivery._PART_S", 0.0)
    slack.failing["chat.startStream"] = "unknown_method"
    responder.pieces = ("one\n", "two\n", "three")
    thread = slack.say(DIRECT, OWNER, "tell me")
    assert answered(slack, DIRECT, thread)[0].endswith("one\ntwo\nthree")


def test_a_call_waits_as_long_as_slack_asks(slack: SlackServer, bot: SlackBot) -> None:
    slack.limited["chat.postMessage"] = slack.limited["conversations.info"] = 1
    slack.retry_after = "1"
    thread = slack.say(PUBLIC, OWNER, f"<@{AGENT}> hello")
    assert answered(slack, PUBLIC, thread)[-1].endswith("You said: hello")
    first, second = (at for method, at in slack.times if method == "chat.postMessage")
    assert second - first >= 1.0
    assert len(slack.answers(PUBLIC)) == 1


def test_a_new_connection_takes_the_place_of_the_old_one(
    slack: SlackServer, bot: SlackBot, responder: NotedResponder
) -> None:
    answered(slack, DIRECT, slack.say(DIRECT, OWNER, "one"))
    slack.disconnect()
    answered(slack, DIRECT, slack.say(DIRECT, OWNER, "two"))
    assert [question.thread[-1].text for question in responder.questions] == ["one", "two"]


def test_memory_that_is_off_keeps_nothing_and_says_so(
    slack: SlackServer, bot: SlackBot, owned_home: Home, responder: NotedResponder
) -> None:
    thread = slack.say(PUBLIC, OWNER, f"<@{AGENT}> before")
    answered(slack, PUBLIC, thread)
    assert "Memory is off in this channel" in slack.command(PUBLIC, MARA, "off")
    slack.say(PUBLIC, OWNER, f"<@{AGENT}> this stays between us", thread=thread)
    assert "Memory is off in this channel: it was switched off" in answered(slack, PUBLIC, thread, 2)[1]
    assert responder.questions[-1].prompt == ""
    slack.say(PUBLIC, OWNER, f"<@{AGENT}> again", thread=thread)
    assert "Memory is off" not in answered(slack, PUBLIC, thread, 3)[2]  # it is told once
    assert "can switch it on again" in slack.command(PUBLIC, "U0GUEST01", "on")
    assert "Memory is on again" in slack.command(PUBLIC, OWNER, "on")
    slack.say(PUBLIC, OWNER, f"<@{AGENT}> after", thread=thread)
    answered(slack, PUBLIC, thread, 4)
    wait_for(lambda: len(kept(owned_home, bot, PUBLIC, thread)) == 4)
    assert [m.content for m in kept(owned_home, bot, PUBLIC, thread) if m.role == "user"] == ["before", "after"]


def test_degraded_memory_is_told_in_the_thread(
    slack: SlackServer, bot: SlackBot, owned_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent_home.errors import Locked

    def refuse(*_args: object, **_values: object) -> None:
        raise Locked(owned_home.root, 1.0)

    monkeypatch.setattr("interfaces.slack.conversation.import_messages", refuse)
    thread = slack.say(DIRECT, OWNER, "hello")
    first = answered(slack, DIRECT, thread)[0]
    assert "Memory is degraded: I did not keep your message (Locked)" in first
    assert first.endswith("You said: hello")


def test_a_part_of_memory_that_does_not_work_is_told_once(
    slack: SlackServer, bot: SlackBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt, numbers = bot.door._agent.prompt, itertools.count(1)

    def degraded(*args: Any, **values: Any) -> Receipt:
        return replace(prompt(*args, **values), degraded=(f"{next(numbers)} passages of diary.md wait for vectors",))

    monkeypatch.setattr(bot.door._agent, "prompt", degraded)
    thread = slack.say(DIRECT, OWNER, "one")
    assert "did not work (1 passages of diary.md wait" in answered(slack, DIRECT, thread)[0]
    slack.say(DIRECT, OWNER, "two", thread=thread)
    assert answered(slack, DIRECT, thread, 2)[1] == "You said: two"
    told = answered(slack, PUBLIC, slack.say(PUBLIC, MARA, f"<@{AGENT}> hello"))[0]
    assert "Memory is degraded" in told
    assert "diary" not in told


def test_a_responder_that_fails_is_told_in_the_thread(
    slack: SlackServer, bot: SlackBot, responder: NotedResponder
) -> None:
    from interfaces.slack.responder import ResponderFailed

    def fail(_question: object) -> None:
        raise ResponderFailed("http://model.example: status 500, expected 200")

    responder.before = fail
    assert "status 500" in answered(slack, DIRECT, slack.say(DIRECT, OWNER, "hello"))[0]
    told = answered(slack, PUBLIC, slack.say(PUBLIC, MARA, f"<@{AGENT}> hello"))[0]
    assert "I cannot answer now" in told
    assert "model.example" not in told


def test_the_assistants_container_greets_and_answers(
    slack: SlackServer, bot: SlackBot, owned_home: Home, responder: NotedResponder
) -> None:
    root = slack.stamp()
    opened = {
        "type": "assistant_thread_started", "event_ts": root,
        "assistant_thread": {"user_id": OWNER, "channel_id": DIRECT, "thread_ts": root, "context": {}},
    }  # fmt: skip
    event_id = slack.send(opened)
    slack.send(opened, event_id=event_id, retry=1)
    wait_for(lambda: len(slack.answers(DIRECT)) == 1)
    assert "I keep this conversation. What I know, I use as for my owner alone" in slack.answers(DIRECT)[0]
    slack.say(DIRECT, OWNER, "what do you know?", thread=root)
    wait_for(lambda: len(slack.answers(DIRECT)) == 2)
    assert responder.questions[0].audience == "owner"
    wait_for(lambda: len(kept(owned_home, bot, DIRECT, root)) == 2)


def test_a_bot_that_was_started_for_a_group_shows_nobody_more(
    slack: SlackServer, connected: NotedBot, responder: NotedResponder
) -> None:
    with connected(widest=Audience.group):
        answered(slack, DIRECT, slack.say(DIRECT, OWNER, "hello"))
    assert responder.questions[0].audience == "group"


def test_a_thread_that_asks_too_much_is_told_so(
    slack: SlackServer, bot: SlackBot, responder: NotedResponder, owned_home: Home
) -> None:
    go_on = threading.Event()
    responder.before = lambda _question: go_on.wait(30.0)
    thread = slack.say(DIRECT, OWNER, "0")
    for number in range(1, 5):
        slack.say(DIRECT, OWNER, str(number), thread=thread)
    wait_for(lambda: sum("earlier messages" in text for text in slack.answers(DIRECT, thread)) == 2)
    go_on.set()
    wait_for(lambda: not bot.door._waiting)
    assert len(responder.questions) == 3
    assert len([m for m in kept(owned_home, bot, DIRECT, thread) if m.role == "user"]) == 5


def test_bots_are_not_answered(slack: SlackServer, bot: SlackBot, responder: NotedResponder) -> None:
    row = slack.write(PUBLIC, "U0OTHER01", f"<@{AGENT}> loop")
    slack.send(slack.event_of(PUBLIC, {**row, "bot_id": "B0OTHER01", "subtype": "bot_message"}))
    answered(slack, PUBLIC, slack.say(PUBLIC, OWNER, f"<@{AGENT}> hello"))
    assert len(responder.questions) == 1


def test_a_direct_message_of_another_organisation_is_for_anybody(
    slack: SlackServer, bot: SlackBot, responder: NotedResponder
) -> None:
    slack.channels[DIRECT] = direct(DIRECT, OWNER, is_ext_shared=True)
    answered(slack, DIRECT, slack.say(DIRECT, OWNER, "hello"))
    assert responder.questions[0].audience == "group"


def test_another_workspaces_person_with_the_owners_id_is_not_the_owner(
    slack: SlackServer, bot: SlackBot, owned_home: Home, responder: NotedResponder
) -> None:
    row = slack.write(PUBLIC, OWNER, f"<@{AGENT}> I prefer tabs")
    row.update(user_team="T0ALIEN01", team="T0ALIEN01")
    slack.send(slack.event_of(PUBLIC, row))
    answered(slack, PUBLIC, row["ts"])
    wait_for(lambda: len(kept(owned_home, bot, PUBLIC, row["ts"])) == 2)
    said = kept(owned_home, bot, PUBLIC, row["ts"])[0]
    assert (said.role, said.name, said.account) == ("participant", "someone in Slack", f"{OWNER}@T0ALIEN01")
    assert not responder.questions[0].thread[-1].owner
    slack.edit(PUBLIC, row["ts"], "I prefer spaces")  # of which no event comes
    bot.idle._caught_up(bot.door._record.threads()[0])
    assert [(m.role, m.content) for m in kept(owned_home, bot, PUBLIC, row["ts"])][-1] == (
        "participant", "I prefer spaces",
    )  # fmt: skip
    path = transcript.sessions(owned_home)[0].path
    assert "user" not in [turn.message.role for turn in resolve_speakers(owned_home, transcript.read(path)).turns]
    told = slack.command(PUBLIC, OWNER, "remember I prefer tabs", team_id="T0ALIEN01")
    assert told == "I answer in another workspace"


def test_events_of_another_workspace_reach_nothing(
    slack: SlackServer, bot: SlackBot, responder: NotedResponder
) -> None:
    row = slack.write(DIRECT, OWNER, "what is in memory?")
    slack.send(slack.event_of(DIRECT, row), team="T0ALIEN01")
    answered(slack, DIRECT, slack.say(DIRECT, OWNER, "hello"))
    assert [question.thread[-1].text for question in responder.questions] == ["hello"]
    assert len(bot.door._record.threads()) == 1


def test_who_only_looks_like_the_agent_or_a_person_calls_nobody(
    slack: SlackServer, bot: SlackBot, responder: NotedResponder
) -> None:
    slack.say(PUBLIC, MARA, f"<@{AGENT}X> hello")  # somebody whose id is longer
    reminder = slack.write(PUBLIC, "USLACKBOT", f"<@{AGENT}> a reminder that anybody may set")
    slack.send(slack.event_of(PUBLIC, reminder))
    answered(slack, PUBLIC, slack.say(PUBLIC, OWNER, f"<@{AGENT}> hello"))
    assert len(responder.questions) == 1
    assert not bot.door._record.knows(f"message {PUBLIC}:{reminder['ts']}")


def test_one_person_takes_neither_every_answer_nor_every_thread(
    slack: SlackServer, bot: SlackBot, owned_home: Home, responder: NotedResponder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interfaces.slack.door._MOST_OF_PERSON", 2)
    monkeypatch.setattr("interfaces.slack.door._MOST_IN_ALL", 2)
    going = threading.Event()

    def wait(_question: object) -> None:
        assert going.wait(60.0)

    responder.before = wait
    threads = [slack.say(PUBLIC, MARA, f"<@{AGENT}> question {number}") for number in range(4)]
    wait_for(lambda: len(slack.answers(PUBLIC)) == 2)
    assert all("still at earlier messages" in text for text in slack.answers(PUBLIC))
    own = slack.say(DIRECT, OWNER, "and mine?")
    wait_for(lambda: len(responder.questions) == 3)
    going.set()
    answered(slack, DIRECT, own)
    wait_for(lambda: not bot.door._waiting)
    bot.door._begun._most = bot.door._calls._most = 4
    assert "again in an hour" in answered(slack, PUBLIC, slack.say(PUBLIC, MARA, f"<@{AGENT}> one more"))[0]
    last = slack.say(PUBLIC, MARA, f"<@{AGENT}> one more")
    wait_for(lambda: bot.door._record.knows(f"message {PUBLIC}:{last}"))
    slack.say(PUBLIC, MARA, f"<@{AGENT}> in an old thread", thread=threads[0])
    wait_for(lambda: kept(owned_home, bot, PUBLIC, threads[0])[-1].content == "in an old thread")
    answered(slack, DIRECT, slack.say(DIRECT, OWNER, "again?"))
    assert slack.answers(PUBLIC, last) == []  # it is told once
    assert len(bot.door._record.threads()) == 6
