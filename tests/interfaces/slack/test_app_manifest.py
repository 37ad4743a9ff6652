"""The manifest asks for what the bot uses, and the check names what is missing."""

from __future__ import annotations

import yaml

from interfaces.slack.app import SlackSetup, slack_client
from interfaces.slack.app_manifest import SCOPES, checked_app, manifest_text
from tests.interfaces.slack.slack_server import SlackServer


def test_the_manifest_is_for_the_socket_or_for_http() -> None:
    socket = yaml.safe_load(manifest_text("Ada"))
    assert socket["settings"]["socket_mode_enabled"] is True
    assert socket["oauth_config"]["scopes"]["bot"] == list(SCOPES)
    assert "request_url" not in socket["settings"]["event_subscriptions"]
    http = yaml.safe_load(manifest_text("Ada", url="https://bot.example/slack/events"))
    assert http["settings"]["socket_mode_enabled"] is False
    assert http["features"]["slash_commands"][0]["url"] == "https://bot.example/slack/events"
    assert http["settings"]["event_subscriptions"]["request_url"] == "https://bot.example/slack/events"


def test_the_check_names_each_missing_scope_and_setting(slack: SlackServer) -> None:
    client = slack_client(SlackSetup(bot_token="xoxb-1", api_url=slack.url))
    assert checked_app(client, "xapp-1", socket_mode=True).problems == ()
    slack.scopes = slack.scopes.replace("users:read", "users:write")
    slack.failing["apps.connections.open"] = "not_allowed_token_type"
    found = checked_app(client, "xapp-1", socket_mode=True)
    assert found.problems[0].startswith("the scope users:read is missing")
    assert "connections:write" in found.problems[1]
    assert len(checked_app(client, "", socket_mode=False).problems) == 1
    slack.failing["auth.test"] = "invalid_auth"
    assert "SLACK_BOT_TOKEN" in checked_app(client, "", socket_mode=False).problems[0]
