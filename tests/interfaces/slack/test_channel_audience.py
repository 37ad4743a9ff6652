"""Every kind of channel has its audience, and what Slack does not say is narrow."""

from __future__ import annotations

import pytest

from interfaces.slack.app import SlackSetup, slack_client
from interfaces.slack.channel_audience import ChannelAudiences, is_narrower
from tests.interfaces.slack.slack_server import (
    AGENT,
    GUEST,
    MARA,
    OWNER,
    STRANGER,
    TEAM,
    Row,
    SlackServer,
    channel,
    direct,
    person,
)  # fmt: skip

PLACE = "C0PLACE01"
US = [OWNER, MARA, AGENT]


def judged(slack: SlackServer, owner: str = OWNER) -> ChannelAudiences:
    client = slack_client(SlackSetup(bot_token="xoxb-1", api_url=slack.url))
    return ChannelAudiences(client, owner=owner, team=TEAM)


@pytest.mark.parametrize(
    ("info", "members", "audience", "kind"),
    [
        (direct(PLACE, OWNER), [], "owner", "owner's direct message"),
        (direct(PLACE, OWNER, is_ext_shared=True), [], "group", "shared with another organisation"),
        (direct(PLACE, OWNER, context_team_id="T0ALIEN01"), [], "group", "shared with another organisation"),
        (direct(PLACE, MARA), [], "group", "direct message"),
        (direct(PLACE, GUEST), [], "group", "direct message"),
        (direct(PLACE, STRANGER, is_shared=True), [], "group", "shared with another organisation"),
        (channel(PLACE, is_private=True), US, "trusted", "private channel"),
        (channel(PLACE, is_private=True), [MARA, AGENT], "group", "private channel"),
        (channel(PLACE, is_private=True), [*US, GUEST], "group", "guests present"),
        (channel(PLACE, is_private=True), [*US, "U0SINGLE1"], "group", "guests present"),
        (channel(PLACE, is_private=True), [*US, STRANGER], "group", "guests present"),
        (channel(PLACE, is_private=True), [*US, "U0NOBODY1"], "group", "unknown"),
        (channel(PLACE, is_private=True), [*US, "U0BARE001"], "group", "guests present"),
        (channel(PLACE, is_private=True, is_shared=True), US, "group", "shared with another organisation"),
        (channel(PLACE, is_private=True, is_ext_shared=True), US, "group", "shared with another organisation"),
        (channel(PLACE, is_private=True, is_org_shared=True), US, "group", "shared with another organisation"),
        (channel(PLACE, is_private=True, is_pending_ext_shared=True), US, "group", "shared with another organisation"),
        (channel(PLACE, is_private=True, shared_team_ids=[TEAM]), US, "trusted", "private channel"),
        (
            channel(PLACE, is_private=True, shared_team_ids=[TEAM, "T2"]),
            US,
            "group",
            "shared with another organisation",
        ),
        (channel(PLACE, is_private=True, pending_shared=["T2"]), US, "group", "shared with another organisation"),
        (channel(PLACE, is_private=True, connected_team_ids=["T2"]), US, "group", "shared with another organisation"),
        (channel(PLACE, is_private=True, id="C0OTHER01"), US, "group", "unknown"),
        (channel(PLACE, is_private=True, is_mpim=True), US, "trusted", "group message"),
        (channel(PLACE, is_private=True, is_mpim=True), [*US, GUEST], "group", "guests present"),
        (channel(PLACE), US, "group", "public channel"),
        (channel(PLACE), [*US, GUEST], "group", "public channel"),
        (channel(PLACE, is_ext_shared=True), US, "group", "shared with another organisation"),
        ({"id": PLACE}, US, "group", "unknown"),
        ({"id": PLACE, "is_channel": True}, US, "group", "unknown"),
        (None, US, "group", "unknown"),
    ],
)
def test_each_kind_of_channel_has_its_audience(
    slack: SlackServer, info: Row | None, members: list[str], audience: str, kind: str
) -> None:
    slack.users["U0SINGLE1"] = person("U0SINGLE1", "Sol", is_restricted=True, is_ultra_restricted=True)
    slack.users["U0BARE001"] = {"id": "U0BARE001", "name": "bare"}
    if info:
        slack.channels[PLACE] = info
    slack.members[PLACE] = members
    found = judged(slack).judge(PLACE)
    assert (found.audience, found.kind) == (audience, kind)


def test_without_an_owner_no_channel_sees_more_than_anybody(slack: SlackServer) -> None:
    audiences = judged(slack, owner="")
    assert {audiences.judge(place).audience for place in slack.channels} == {"group"}


@pytest.mark.parametrize("method", ["conversations.info", "conversations.members", "users.info"])
@pytest.mark.parametrize("error", ["missing_scope", "internal_error"])
def test_a_call_that_fails_makes_the_channel_narrow(slack: SlackServer, method: str, error: str) -> None:
    slack.failing[method] = error
    assert judged(slack).judge("C0PRIVATE").audience == "group"


def test_every_judgement_asks_slack_and_a_wider_answer_is_not_kept(slack: SlackServer) -> None:
    audiences = judged(slack)
    assert audiences.judge("C0PRIVATE").audience == "trusted"
    slack.members["C0PRIVATE"].append(GUEST)
    assert audiences.judge("C0PRIVATE").audience == "group"
    slack.members["C0PRIVATE"].remove(GUEST)
    slack.failing["conversations.members"] = "internal_error"
    assert audiences.judge("C0PRIVATE").audience == "group"
    del slack.failing["conversations.members"]
    slack.channels["C0PRIVATE"]["is_private"] = False
    assert audiences.judge("C0PRIVATE").kind == "public channel"


def test_a_member_who_becomes_a_guest_is_noticed_after_some_minutes(slack: SlackServer) -> None:
    now = [0.0]
    client = slack_client(SlackSetup(bot_token="xoxb-1", api_url=slack.url))
    audiences = ChannelAudiences(client, owner=OWNER, team=TEAM, clock=lambda: now[0])
    assert audiences.judge("C0PRIVATE").audience == "trusted"
    slack.users[MARA]["is_restricted"] = True
    assert audiences.judge("C0PRIVATE").audience == "trusted"
    now[0] = 301.0
    assert audiences.judge("C0PRIVATE").kind == "guests present"


def test_a_guest_on_a_later_page_is_found_and_a_crowd_is_no_circle(slack: SlackServer) -> None:
    names = [f"U0MEMBER{number:03d}" for number in range(140)]
    slack.users |= {name: person(name, name) for name in names}
    slack.members["C0PRIVATE"] = [OWNER, *names, GUEST]
    audiences = judged(slack)
    assert audiences.judge("C0PRIVATE").kind == "guests present"
    slack.members["C0PRIVATE"] = [OWNER, *names, *(f"U0CROWD{number:03d}" for number in range(200))]
    found = audiences.judge("C0PRIVATE")
    assert found.why == "it has more than 200 members"
    assert found.audience == "group"


def test_a_list_of_members_without_an_end_is_left(slack: SlackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    audiences = judged(slack)

    def again(**_given: object) -> Row:
        return {"members": [OWNER], "response_metadata": {"next_cursor": "1"}}

    monkeypatch.setattr(audiences._client, "conversations_members", again)
    assert audiences.judge("C0PRIVATE").kind == "unknown"


def test_audiences_have_an_order() -> None:
    assert is_narrower("group", "trusted")
    assert is_narrower("trusted", "owner")
    assert not is_narrower("owner", "owner")


@pytest.mark.parametrize("method", ["conversations.info", "conversations.members", "users.info"])
@pytest.mark.parametrize(
    "body",
    [
        [], "yes", None, {}, {"channel": [], "members": {}, "user": []}, b"<html>", b"\xff",
        {"channel": {"is_private": "yes"}, "members": [OWNER], "has_more": True, "user": {"id": OWNER}},
        {"members": [OWNER], "response_metadata": {"next_cursor": "again"}},
    ],
)  # fmt: skip
def test_an_odd_answer_makes_the_channel_narrow_and_asks_not_for_ever(
    slack: SlackServer, method: str, body: object
) -> None:
    slack.bodies[method] = body
    assert judged(slack).judge("C0PRIVATE").audience == "group"
    assert len(slack.calls) <= 201
