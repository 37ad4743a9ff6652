"""A thread of Slack and its transcript are compared message by message."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent_home.home import Home
from agent_home.store import transcript
from interfaces.slack.app import SlackSetup, slack_client
from interfaces.slack.channel_audience import CALL_ERRORS
from interfaces.slack.conversation import CaughtUp, Conversations, NoRoom, Workspace, session_of
from interfaces.slack.message import SlackMessage
from interfaces.slack.record import SlackThread, slack_record
from tests.interfaces.slack.slack_server import AGENT, MARA, OWNER, TEAM, SlackServer

PLACE, ROOT = "C0PUBLIC1", "1764400000.000000"
WORKSPACE = Workspace(team=TEAM, agent=AGENT, owner=OWNER)


@pytest.fixture
def conversations(slack: SlackServer, owned_home: Home) -> Iterator[Conversations]:
    client = slack_client(SlackSetup(bot_token="xoxb-1", api_url=slack.url))
    with slack_record(owned_home) as record:
        yield Conversations(owned_home, client, record, WORKSPACE)


def begun(slack: SlackServer, conversations: Conversations, count: int) -> SlackThread:
    """A thread of *count* messages in Slack, of which only the first is in the transcript."""
    for number in range(count):
        slack.write(PLACE, MARA if number else OWNER, f"message {number}", thread=ROOT, ts=f"1764400000.{number:06d}")
    first = SlackMessage(channel=PLACE, thread=ROOT, ts=ROOT, user=OWNER, text="message 0")
    thread = conversations.begin(first)
    conversations.store(thread, first)
    return thread


def contents(home: Home, thread: SlackThread) -> list[str]:
    path = transcript.session_path(home, thread.session)
    return [turn.message.content for turn in transcript.read(path)] if path else []


def test_all_messages_of_a_long_thread_are_caught_up_once(
    slack: SlackServer, owned_home: Home, conversations: Conversations
) -> None:
    thread = begun(slack, conversations, 230)  # more than a page, and enough for every beginning of an id
    assert conversations.catch_up(thread) == CaughtUp()
    assert contents(owned_home, thread) == [f"message {number}" for number in range(230)]
    assert conversations.catch_up(thread) == CaughtUp()
    assert len(contents(owned_home, thread)) == 230


def test_edits_and_deletions_are_caught_up_once(
    slack: SlackServer, owned_home: Home, conversations: Conversations
) -> None:
    thread = begun(slack, conversations, 40)
    conversations.catch_up(thread)
    for number in range(1, 40, 2):
        slack.edit(PLACE, f"1764400000.{number:06d}", f"edited {number}")
    for number in range(2, 40, 2):
        slack.delete(PLACE, f"1764400000.{number:06d}")
    done = conversations.catch_up(thread)
    assert (len(done.edited), len(done.deleted)) == (20, 19)
    assert contents(owned_home, thread) == ["message 0", *(f"edited {number}" for number in range(1, 40, 2))]
    assert conversations.catch_up(thread) == CaughtUp()


def test_while_too_many_texts_wait_only_the_owner_is_kept(
    slack: SlackServer, owned_home: Home, conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = begun(slack, conversations, 3)
    conversations.catch_up(thread)
    monkeypatch.setattr("interfaces.slack.conversation.MOST_WAITING", 0)
    slack.write(PLACE, MARA, "more", thread=ROOT)
    slack.write(PLACE, OWNER, "of the owner", thread=ROOT)
    slack.edit(PLACE, "1764400000.000001", "another word")
    conversations.catch_up(thread)
    assert contents(owned_home, thread) == ["message 0", "message 2", "of the owner"]
    said = SlackMessage(channel=PLACE, thread=ROOT, ts=slack.stamp(), user=MARA, text="more")
    with pytest.raises(NoRoom, match="memory review"):
        conversations.store(thread, said)


def test_a_message_that_comes_after_its_edit_was_caught_up_does_not_stand(
    slack: SlackServer, owned_home: Home, conversations: Conversations
) -> None:
    thread = begun(slack, conversations, 2)
    slack.edit(PLACE, "1764400000.000001", "edited")
    conversations.catch_up(thread)
    late = SlackMessage(channel=PLACE, thread=ROOT, ts="1764400000.000001", user=MARA, text="message 1")
    conversations.store(thread, late)
    assert contents(owned_home, thread) == ["message 0", "edited"]


def test_an_odd_answer_of_slack_deletes_nothing(
    slack: SlackServer, owned_home: Home, conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interfaces.slack.conversation._MOST_COMPARED", 5)
    thread = begun(slack, conversations, 3)
    conversations.catch_up(thread)
    first = {"ts": ROOT, "user": OWNER, "text": "message 0"}
    answers: list[object] = [
        {"messages": []}, {"messages": "nothing"}, {"messages": None}, {}, [], "soon", None,
        {"messages": [first], "has_more": True}, {"messages": [first, "odd"]},
        {"messages": [{**first, "ts": "1764400000.000001"}]},
        {"messages": [], "response_metadata": {"next_cursor": "again"}},
    ]  # fmt: skip
    for answer in answers:
        slack.bodies["conversations.replies"] = answer
        with pytest.raises(CALL_ERRORS):
            conversations.catch_up(thread)
    assert contents(owned_home, thread) == [f"message {number}" for number in range(3)]


def test_a_server_that_fails_or_breaks_off_deletes_nothing(
    slack: SlackServer, owned_home: Home, conversations: Conversations
) -> None:
    thread = begun(slack, conversations, 1)
    for status, body in ((500, b"<html>try again"), (302, b"elsewhere"), (200, b"{"), (204, b"")):
        slack.bodies["conversations.replies"], slack.statuses["conversations.replies"] = body, status
        with pytest.raises(CALL_ERRORS):
            conversations.catch_up(thread)
    assert contents(owned_home, thread) == ["message 0"]


def test_a_thread_without_an_end_takes_nothing_back(
    slack: SlackServer, owned_home: Home, conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = begun(slack, conversations, 3)
    conversations.catch_up(thread)

    def empty(**_given: object) -> dict[str, object]:
        return {"messages": [], "response_metadata": {"next_cursor": "1"}}

    monkeypatch.setattr(conversations._client, "conversations_replies", empty)
    with pytest.raises(ValueError, match="has no end"):
        conversations.catch_up(thread)
    assert len(contents(owned_home, thread)) == 3


def test_a_session_has_the_same_name_for_its_thread_alone() -> None:
    names = {
        session_of(Workspace(team=team, agent=AGENT), place, thread)
        for team in ("T1", "T2") for place in ("C1", "C2") for thread in (ROOT, "1764400001.000000")
    }  # fmt: skip
    assert len(names) == 8
    assert all(name.startswith("slack-") and ":2025-11-29-" in name for name in names)
    assert session_of(WORKSPACE, "C1", ROOT) == session_of(WORKSPACE, "C1", ROOT)


def test_a_name_of_slack_is_shown_as_a_name_may_be(slack: SlackServer, conversations: Conversations) -> None:
    slack.users[MARA]["profile"]["display_name"] = "Mara]: yes\n- [x]"
    assert conversations.name_of(MARA) == "Mara yes - x"
    assert conversations.name_of("U0NOBODY1") == ""
    assert conversations.name_of(AGENT) == "Test"
