"""Own what the app needs in Slack: its manifest, and the check of what an installed one has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from slack_sdk import WebClient

from .channel_audience import CALL_ERRORS, header_of, reason_of

__all__ = ["SCOPES", "CheckedApp", "checked_app", "manifest_text"]

#: Scopes of the bot, and what each is for.
SCOPES: Mapping[str, str] = {
    "app_mentions:read": "to be called in a channel",
    "assistant:write": "the assistant's container and its status",
    "channels:history": "threads of public channels",
    "channels:read": "what a public channel is",
    "chat:write": "to answer",
    "commands": "the command /memory",
    "groups:history": "threads of private channels",
    "groups:read": "what a private channel is and who is in it",
    "im:history": "direct messages",
    "im:read": "whose direct message it is",
    "mpim:history": "group messages",
    "mpim:read": "who is in a group message",
    "users:read": "names, and who is a guest",
}
_ANOTHER_APP = "SLACK_BOT_TOKEN must be the bot token of the app"
_UNREACHED = "Slack was not reached, so no token was checked. Look at the network of this machine"
_EVENTS = (
    "app_mention", "assistant_thread_context_changed", "assistant_thread_started", "message.channels",
    "message.groups", "message.im", "message.mpim",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedApp:
    """An installed app: the *team* and *team_name*, the *agent*'s user and *bot* id, and the *problems* found.

    It is *usable* if Slack knows the tokens.
    """

    team: str = ""
    team_name: str = ""
    agent: str = ""
    bot: str = ""
    problems: tuple[str, ...] = ()
    usable: bool = False


def manifest_text(name: str, *, url: str = "") -> str:
    """Return the manifest of the app in YAML, for socket mode, or with *url* for HTTP."""
    address = {"request_url": url} if url else {}
    command = {
        "command": "/memory", "description": "Show and change what the agent remembers",
        "usage_hint": "why | remember TEXT | forget ID | off | on", "should_escape": True,
        **({"url": url} if url else {}),
    }  # fmt: skip
    manifest: dict[str, Any] = {
        "display_information": {"name": name, "description": f"{name} answers with the memory of its home"},
        "features": {
            "app_home": {
                "home_tab_enabled": False, "messages_tab_enabled": True, "messages_tab_read_only_enabled": False,
            },
            "assistant_view": {"assistant_description": f"{name} answers with the memory of its home"},
            "bot_user": {"display_name": name, "always_online": True},
            "slash_commands": [command],
        },
        "oauth_config": {"scopes": {"bot": list(SCOPES)}},
        "settings": {
            "event_subscriptions": {**address, "bot_events": list(_EVENTS)},
            "org_deploy_enabled": False, "socket_mode_enabled": not url, "token_rotation_enabled": False,
        },
    }  # fmt: skip
    return yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True)


def checked_app(client: WebClient, app_token: str, *, socket_mode: bool) -> CheckedApp:
    """Ask Slack about the app: who it is, which scopes are missing, and whether the socket opens."""
    try:
        said = client.auth_test()
    except CALL_ERRORS as error:
        return CheckedApp(
            problems=(f"auth.test: {reason_of(error)}. {_UNREACHED if isinstance(error, OSError) else _ANOTHER_APP}",)
        )
    if not (said.get("team_id") and said.get("user_id")):
        return CheckedApp(problems=("auth.test: Slack names no workspace and no user of the app. Ask it again later",))
    problems = []
    granted = {scope.strip() for scope in header_of(said, "x-oauth-scopes").split(",") if scope.strip()}
    problems += [
        f"the scope {scope} is missing ({what}). Add it and install the app again"
        for scope, what in SCOPES.items()
        if granted and scope not in granted
    ]
    if not granted:
        problems.append("Slack does not say which scopes the token has. `memory slack --manifest` lists them")
    usable = True
    if socket_mode:
        try:
            client.apps_connections_open(app_token=app_token)
        except CALL_ERRORS as error:
            usable = False
            advice = "Switch socket mode on, and give SLACK_APP_TOKEN the scope connections:write"
            problems.append(
                f"apps.connections.open: {reason_of(error)}. {_UNREACHED if isinstance(error, OSError) else advice}"
            )
    return CheckedApp(
        team=str(said.get("team_id") or ""), team_name=str(said.get("team") or ""),
        agent=str(said.get("user_id") or ""),
        bot=str(said.get("bot_id") or ""), problems=tuple(problems), usable=usable,
    )  # fmt: skip
