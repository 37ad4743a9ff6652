"""The app over HTTP: signatures are checked, and events and commands come in as over the socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from agent_home.creation import create
from agent_home.home import Home
from agent_home.settings import OwnerSettings
from interfaces.slack.app import (
    EVENTS_PATH,
    OwnerUnclear,
    SlackSetup,
    SlackUnusable,
    http_application,
    owner_account,
    slack_bot,
)
from tests.conftest import NOW
from tests.interfaces.slack.conftest import NotedResponder
from tests.interfaces.slack.slack_server import OWNER, SlackServer, signed, wait_for

SECRET, DIRECT = "8f742231b10e8888abcd99yyyzzz85a5", "D0OWNER01"


@pytest.fixture
def web(slack: SlackServer, owned_home: Home, responder: NotedResponder) -> Iterator[TestClient]:
    setup = SlackSetup(bot_token="xoxb-1", signing_secret=SECRET, owner=OWNER, api_url=slack.url)
    with (
        slack_bot(owned_home, setup, responder, socket_mode=False) as bot,
        TestClient(http_application(bot.app)) as made,
    ):
        yield made


def post(web: TestClient, body: object, secret: str = SECRET) -> int:
    text = json.dumps(body)
    return int(web.post(EVENTS_PATH, content=text, headers=signed(secret, text)).status_code)


def test_a_signed_event_is_answered_once(slack: SlackServer, web: TestClient, responder: NotedResponder) -> None:
    row = slack.write(DIRECT, OWNER, "hello")
    body = {"type": "event_callback", "event_id": "Ev1", "team_id": "T0HOME001", "event": slack.event_of(DIRECT, row)}
    assert [post(web, body) for _ in range(3)] == [200, 200, 200]
    wait_for(lambda: len(slack.answers(DIRECT)) == 1)
    assert len(responder.questions) == 1


def test_a_request_without_slacks_signature_is_refused(slack: SlackServer, web: TestClient) -> None:
    row = slack.write(DIRECT, OWNER, "hello")
    body = {"type": "event_callback", "event_id": "Ev1", "event": slack.event_of(DIRECT, row)}
    assert post(web, body, secret="another") == 401
    assert web.post(EVENTS_PATH, json=body).status_code == 401
    assert web.get(EVENTS_PATH).status_code == 405
    assert web.post(EVENTS_PATH, content=b"x" * (2 << 20)).status_code == 413
    assert web.post(EVENTS_PATH, content=b"\xff").status_code == 400
    assert slack.answers(DIRECT) == []


def test_slack_finds_out_that_the_address_is_ours(web: TestClient) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "c1", "token": "t"})
    answer = web.post(EVENTS_PATH, content=body, headers=signed(SECRET, body))
    assert answer.json() == {"challenge": "c1"}


def test_a_command_over_http_is_answered_to_one_person(slack: SlackServer, web: TestClient) -> None:
    fields = {"command": "/memory", "text": "help", "user_id": OWNER, "channel_id": DIRECT, "team_id": "T0HOME001",
              "response_url": f"{slack.url}respond/1"}  # fmt: skip
    body = urlencode(fields)
    headers = signed(SECRET, body) | {"Content-Type": "application/x-www-form-urlencoded"}
    assert web.post(EVENTS_PATH, content=body, headers=headers).status_code == 200
    wait_for(lambda: bool(slack.responses))
    assert slack.responses[0]["response_type"] == "ephemeral"


def test_a_token_that_slack_does_not_know_stops_the_bot(
    slack: SlackServer, owned_home: Home, responder: NotedResponder
) -> None:
    setup = SlackSetup(bot_token="xoxb-1", api_url=slack.url)
    for method in ("apps.connections.open", "auth.test"):
        slack.failing = {method: "invalid_auth"}
        with pytest.raises(SlackUnusable, match=method), slack_bot(owned_home, setup, responder, socket_mode=True):
            pass


def test_the_owner_comes_from_the_settings_or_the_command(home: Home) -> None:
    assert owner_account(home) == ""
    assert owner_account(home, "U012AB3CD") == "U012AB3CD"
    with pytest.raises(OwnerUnclear, match="no Slack user"):
        owner_account(home, "sam")
    create(home.root, owner=OwnerSettings(accounts=("sam@example", OWNER)), now=NOW)
    assert owner_account(Home(home.root)) == OWNER
    with pytest.raises(OwnerUnclear, match="other accounts"):
        owner_account(Home(home.root), "U012AB3CD")
    create(home.root, owner=OwnerSettings(accounts=("U0SECOND1",)), now=NOW)
    with pytest.raises(OwnerUnclear, match="several Slack users"):
        owner_account(Home(home.root))
    assert owner_account(Home(home.root), "U0SECOND1") == "U0SECOND1"


def test_tokens_are_not_shown(home: Home) -> None:
    setup = SlackSetup(bot_token="xoxb-1", app_token="xapp-1", signing_secret="secret-1")
    assert not {"xoxb-1", "xapp-1", "secret-1"} & set(repr(setup).replace("'", " ").split())
