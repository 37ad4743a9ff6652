"""Texts reach a channel in parts that Slack takes, and stop where fewer may see them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent_home.audience import Audience
from interfaces.slack.app import SlackSetup, slack_client
from interfaces.slack.channel_audience import ChannelAudiences
from interfaces.slack.delivery import AudienceNarrowed, Delivery, DeliveryFailed, safe_text
from interfaces.slack.responder import ResponderFailed
from tests.interfaces.slack.slack_server import GUEST, MARA, OWNER, TEAM, SlackServer

DIRECT, PRIVATE, THREAD = "D0OWNER01", "C0PRIVATE", "1764400000.000000"


@pytest.fixture
def delivery(slack: SlackServer) -> Delivery:
    client = slack_client(SlackSetup(bot_token="xoxb-1", api_url=slack.url))
    ticks = iter(range(0, 10_000, 5))
    return Delivery(client, ChannelAudiences(client, owner=OWNER, team=TEAM), clock=lambda: float(next(ticks)))


def test_a_long_text_comes_in_parts_and_no_word_is_lost(slack: SlackServer, delivery: Delivery) -> None:
    text = "\n\n".join(f"paragraph {number} " + "word " * 300 for number in range(20))
    first = delivery.post(PRIVATE, THREAD, text, allowed=Audience.trusted)
    parts = slack.answers(PRIVATE, THREAD)
    assert len(parts) > 2
    assert max(map(len, parts)) <= 11_000
    assert " ".join(" ".join(parts).split()) == " ".join(text.split())
    assert first == slack.messages[PRIVATE][0]["ts"]
    assert all(given["unfurl_links"] in {"0", False} for given in slack.called("chat.postMessage"))


def test_each_part_asks_who_reads_it(slack: SlackServer, delivery: Delivery) -> None:
    def join(_given: object) -> None:
        slack.members[PRIVATE] = [OWNER, MARA, GUEST]

    slack.before["chat.postMessage"] = join
    with pytest.raises(AudienceNarrowed, match="guest"):
        delivery.post(PRIVATE, THREAD, "word " * 5_000, allowed=Audience.trusted)
    assert len(slack.answers(PRIVATE, THREAD)) == 1


def test_a_notice_asks_nobody(slack: SlackServer, delivery: Delivery) -> None:
    slack.failing["conversations.info"] = "internal_error"
    delivery.post(DIRECT, THREAD, "I cannot answer now", allowed=None)
    with pytest.raises(AudienceNarrowed):
        delivery.post(DIRECT, THREAD, "the safe is behind the painting", allowed=Audience.owner)
    assert slack.answers(DIRECT) == ["I cannot answer now"]


def test_a_stream_stops_where_fewer_may_see_it(slack: SlackServer, delivery: Delivery) -> None:
    def pieces() -> Iterator[str]:
        yield "first line\n"
        yield "second line\n"
        slack.channels[DIRECT]["is_ext_shared"] = True
        yield "third line\n"

    with pytest.raises(AudienceNarrowed):
        delivery.stream(DIRECT, THREAD, pieces(), allowed=Audience.owner)
    assert slack.answers(DIRECT) == ["first line\nsecond line\n"]
    assert len(slack.called("chat.stopStream")) == 1


def test_a_stream_that_breaks_off_is_ended(slack: SlackServer, delivery: Delivery) -> None:
    def pieces() -> Iterator[str]:
        yield "first line\n"
        yield "half"
        raise ResponderFailed("broken off")

    with pytest.raises(ResponderFailed):
        delivery.stream(DIRECT, THREAD, pieces(), allowed=Audience.owner, lead="note\n")
    assert slack.answers(DIRECT) == ["note\nfirst line\nhalf"]
    assert len(slack.called("chat.stopStream")) == 1


@pytest.mark.parametrize("method", ["chat.appendStream", "chat.stopStream"])
def test_what_a_stream_does_not_take_any_more_is_posted(slack: SlackServer, delivery: Delivery, method: str) -> None:
    slack.failing[method] = "message_not_in_streaming_state"
    pieces = ("first line\n", "second line\n", "third line\n", "end")
    ts, text = delivery.stream(DIRECT, THREAD, iter(pieces), allowed=Audience.owner)
    assert text == "".join(pieces)
    assert "".join(slack.answers(DIRECT)) == text
    assert len(slack.answers(DIRECT)) == 2
    assert ts == slack.messages[DIRECT][0]["ts"]


def test_a_stream_that_breaks_off_where_fewer_may_see_it_adds_nothing(slack: SlackServer, delivery: Delivery) -> None:
    def pieces() -> Iterator[str]:
        yield "first line\n"
        yield "half"
        slack.channels[DIRECT]["is_ext_shared"] = True
        raise ResponderFailed("broken off")

    with pytest.raises(ResponderFailed):
        delivery.stream(DIRECT, THREAD, pieces(), allowed=Audience.owner)
    assert slack.answers(DIRECT) == ["first line\n"]


def test_a_message_that_slack_refuses_is_an_error(slack: SlackServer, delivery: Delivery) -> None:
    slack.failing |= {"chat.postMessage": "is_archived", "chat.postEphemeral": "user_not_in_channel"}
    with pytest.raises(DeliveryFailed, match="is_archived"):
        delivery.post(PRIVATE, THREAD, "hello", allowed=None)
    with pytest.raises(DeliveryFailed, match="user_not_in_channel"):
        delivery.tell(PRIVATE, MARA, THREAD, "hello")


def test_a_text_calls_nobody_and_loads_nothing() -> None:
    assert safe_text("<!channel> <!here|x> <!subteam^S012>") == "@channel @here @subteam^S012"
    assert "https://" not in safe_text("![plan](https://evil.example/?d=secret)")


def test_no_call_to_everybody_is_made_of_another_one(slack: SlackServer, delivery: Delivery) -> None:
    for text in ("<!here|<!x>>", "<!<!channel>>", "<!chan<!x>nel>", "<!here|a\nb>", "<!everyone >", "<!-- -->"):
        assert "<!" not in safe_text(text)
    delivery.tell(PRIVATE, MARA, THREAD, "<!here|<!x>>")
    assert "<!" not in slack.called("chat.postEphemeral")[0]["text"]


def test_code_that_is_cut_between_two_parts_hides_no_link(slack: SlackServer, delivery: Delivery) -> None:
    def pieces() -> Iterator[str]:
        yield "```\n"
        yield "code\n"
        yield "```\n"
        yield "[look](https://evil.example/?d={secret})\n"
        yield "```\nhttps://local.example/?d={name}\n```\n"

    delivery.stream(DIRECT, THREAD, pieces(), allowed=Audience.owner)
    text = "".join(slack.answers(DIRECT))
    assert "https://evil.example" not in text
    assert "https://local.example/?d={name}" in text  # code is left as it is


def test_an_answer_with_an_address_is_posted_without_a_preview(slack: SlackServer, delivery: Delivery) -> None:
    def pieces() -> Iterator[str]:
        yield "first line\n"
        yield "second line\n"
        yield "See https://a.example/page\n"
        yield "last line\n"

    ts, text = delivery.stream(DIRECT, THREAD, pieces(), allowed=Audience.owner)
    assert slack.answers(DIRECT) == ["first line\nsecond line\n", "See https://a.example/page\nlast line\n"]
    assert slack.messages[DIRECT][0]["ts"] == ts
    assert text.endswith("last line\n")
    assert not any("a.example" in str(given) for name, given in slack.calls if "Stream" in name)
    assert slack.called("chat.postMessage")[0]["unfurl_links"] in {"0", False}
