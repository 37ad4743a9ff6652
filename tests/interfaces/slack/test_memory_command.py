"""`/memory` and `!memory`: each answer is for the one who asks, and nobody speaks as the owner."""

from __future__ import annotations

import time

from agent_home.home import MEMORY, Home
from agent_home.storage import read_text
from distill.review.queue import waiting
from interfaces.api import AgentHome
from interfaces.slack.app import SlackBot
from tests.conftest import NOW
from tests.interfaces.slack.conftest import NotedResponder
from tests.interfaces.slack.slack_server import AGENT, MARA, OWNER, SlackServer, wait_for

DIRECT, PUBLIC, PRIVATE = "D0OWNER01", "C0PUBLIC1", "C0PRIVATE"


def test_why_shows_what_the_last_answer_used_to_its_readers_alone(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    note = AgentHome(owned_home).remember("The safe is behind the painting", origin="user")
    thread = slack.say(DIRECT, OWNER, "where is the safe?")
    wait_for(lambda: bool(slack.answers(DIRECT, thread)) and not bot.door._waiting)
    assert f"{note.id}: The safe is behind the painting" in slack.command(DIRECT, OWNER, "why")
    link = f"why https://home.slack.com/archives/{DIRECT}/p{thread.replace('.', '')}"
    assert note.id in slack.command(DIRECT, OWNER, link)
    assert "safe" not in slack.command(PUBLIC, OWNER, link)  # a link of another channel
    slack.channels[DIRECT]["is_ext_shared"] = True  # others may read it now
    assert "may not be shown here" in slack.command(DIRECT, OWNER, "why")


def test_why_in_a_public_channel_shows_knowledge_and_no_memory(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    AgentHome(owned_home).remember("The safe is behind the painting", origin="user")
    (owned_home.root / "Knowledge" / "office.md").write_text("# Office\n\nThe safe of the office is for parcels.\n")
    assert "no answer here" in slack.command(PUBLIC, MARA, "why")
    thread = slack.say(PUBLIC, MARA, f"<@{AGENT}> where is the safe of the office?")
    wait_for(lambda: bool(slack.answers(PUBLIC, thread)) and not bot.door._waiting)
    shown = slack.command(PUBLIC, MARA, "why")
    assert "Knowledge/office.md" in shown
    assert "painting" not in shown


def test_the_owner_remembers_as_the_owner(slack: SlackServer, bot: SlackBot, owned_home: Home) -> None:
    assert "Remembered as" in slack.command(PUBLIC, OWNER, "remember I prefer short answers")
    [entry] = [row for row in read_text(owned_home.root / MEMORY).splitlines() if "short answers" in row]
    assert "participant" not in entry
    assert "I know that already" in slack.command(DIRECT, OWNER, "remember I prefer short answers")


def test_others_remember_in_their_own_name_or_wait(slack: SlackServer, bot: SlackBot, owned_home: Home) -> None:
    answer = slack.command(PUBLIC, MARA, "remember The printer is on the second floor")
    assert "Remembered as" in answer
    assert "Mara (participant) said: The printer" in read_text(owned_home.root / MEMORY)
    assert "waits for my owner" in slack.command(PUBLIC, MARA, "remember I prefer long answers")
    assert "long answers" not in read_text(owned_home.root / MEMORY)
    assert len(waiting(owned_home, NOW)) == 1
    note = answer.split()[-1]
    slack.users["U0GUEST01"]["profile"] = {"display_name": "Mara"}  # a name is nobody's
    assert "ask my owner" in slack.command(PUBLIC, "U0GUEST01", f"forget {note}")
    assert "is ended" in slack.command(PUBLIC, MARA, f"forget {note}")
    assert "ask my owner" in slack.command(PUBLIC, MARA, "forget the printer")


def test_the_owner_sees_the_places_of_a_text_and_then_erases_it(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    AgentHome(owned_home).remember("The safe is behind the painting", origin="user")
    assert "`forget behind the painting --apply`" in slack.command(DIRECT, OWNER, "forget behind the painting")
    assert "painting" in read_text(owned_home.root / MEMORY)
    assert "Erased from" in slack.command(DIRECT, OWNER, "forget behind the painting --apply")
    assert "painting" not in read_text(owned_home.root / MEMORY)
    assert "nowhere in memory" in slack.command(DIRECT, OWNER, "forget the blue elephant")
    assert "too many words" in slack.command(DIRECT, OWNER, "forget a")


def test_a_thread_takes_commands_as_messages_and_shows_the_answer_to_one_person(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    thread = slack.say(PUBLIC, OWNER, f"<@{AGENT}> hello")
    wait_for(lambda: len(slack.answers(PUBLIC, thread)) == 1)
    slack.say(PUBLIC, MARA, "!memory off", thread=thread)
    wait_for(lambda: len(slack.called("chat.postEphemeral")) == 1)
    [told] = slack.called("chat.postEphemeral")
    assert told["user"] == MARA
    assert "Memory is off in this thread" in told["text"]
    slack.say(PUBLIC, OWNER, f"<@{AGENT}> hello", thread=thread)
    other = slack.say(PUBLIC, OWNER, f"<@{AGENT}> hello")
    wait_for(lambda: len(slack.answers(PUBLIC, thread)) == 2 and len(slack.answers(PUBLIC, other)) == 1)
    assert "Memory is off in this thread" in slack.answers(PUBLIC, thread)[1]
    assert "Memory is off" not in slack.answers(PUBLIC, other)[0]


def test_only_who_switched_memory_off_or_the_owner_switches_it_on(
    slack: SlackServer, bot: SlackBot, owned_home: Home
) -> None:
    thread = slack.say(PUBLIC, OWNER, f"<@{AGENT}> hello")
    wait_for(lambda: len(slack.answers(PUBLIC, thread)) == 1)
    slack.command(PUBLIC, MARA, "off")
    slack.say(PUBLIC, "U0GUEST01", "!memory off", thread=thread)
    wait_for(lambda: len(slack.called("chat.postEphemeral")) == 1)
    slack.say(PUBLIC, "U0GUEST01", "!memory on", thread=thread)  # Mara switched off the channel
    wait_for(lambda: len(slack.called("chat.postEphemeral")) == 2)
    assert "can switch it on again" in slack.called("chat.postEphemeral")[1]["text"]
    assert "Memory is on again" in slack.command(PUBLIC, MARA, "on")
    slack.say(PUBLIC, OWNER, f"<@{AGENT}> hello", thread=thread)
    wait_for(lambda: len(slack.answers(PUBLIC, thread)) == 2)
    assert "Memory is off in this thread" in slack.answers(PUBLIC, thread)[1]


def test_a_direct_message_answers_a_command_in_its_thread(slack: SlackServer, bot: SlackBot) -> None:
    thread = slack.say(DIRECT, OWNER, "!memory help")
    wait_for(lambda: len(slack.answers(DIRECT, thread)) == 1)
    assert "`why`" in slack.answers(DIRECT, thread)[0]


def test_an_unknown_command_gets_help(slack: SlackServer, bot: SlackBot) -> None:
    for text in ("", "help", "please"):
        assert "`remember TEXT`" in slack.command(PUBLIC, MARA, text)
    assert "Memory is on here" in slack.command(PUBLIC, MARA, "on")
    assert "Write what to remember" in slack.command(PUBLIC, MARA, "remember")


def test_a_command_in_a_thread_is_no_part_of_the_conversation(
    slack: SlackServer, bot: SlackBot, owned_home: Home, responder: NotedResponder
) -> None:
    thread = slack.say(DIRECT, OWNER, "hello")
    wait_for(lambda: len(slack.answers(DIRECT, thread)) == 1)
    slack.say(DIRECT, OWNER, "!memory forget the swordfish", thread=thread)
    wait_for(lambda: len(slack.answers(DIRECT, thread)) == 2)
    slack.say(DIRECT, OWNER, "and now?", thread=thread)
    wait_for(lambda: len(slack.answers(DIRECT, thread)) == 3 and not bot.door._waiting)
    assert [line.text for line in responder.questions[-1].thread if line.role == "user"] == ["hello", "and now?"]
    bot.idle._clock = lambda: time.time() + 3700.0
    bot.idle.close_due()
    assert "swordfish" not in "".join(path.read_text() for path in owned_home.root.glob("sessions/**/*.jsonl"))
