"""Decide who reads a channel of Slack, anew at every delivery, and which audience of the home they are.

Slack says what a channel is and who is in it. Where it does not say so, the channel counts as one that anybody may
read. Only the fact that a person is a full member of the workspace is kept for some minutes, so no failing call makes a
channel look narrower than it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Literal

from slack_sdk import WebClient
from slack_sdk.errors import SlackClientError

from agent_home.audience import Audience

__all__ = [
    "CALL_ERRORS",
    "ChannelAudience",
    "ChannelAudiences",
    "header_of",
    "is_narrower",
    "page_of",
    "reason_of",
    "said_of",
]

Kind = Literal[
    "owner's direct message", "direct message", "group message", "private channel", "public channel",
    "shared with another organisation", "guests present", "unknown",
]  # fmt: skip
#: From the audience that sees least to the one that sees most.
_WIDTH = (Audience.group, Audience.trusted, Audience.owner)
#: Members that are looked at. A channel with more is no circle of people whom the owner trusts.
_MOST_MEMBERS = 200
_PAGE, _MOST_PAGES = 100, 20
#: Seconds for which a full member is taken for one without another question.
_KNOWN_S = 300.0
_MOST_KNOWN = 2000
#: Errors of a call: the answer says no, is no answer, or the server cannot be reached.
CALL_ERRORS = (SlackClientError, OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError)
_SHARED = (
    "is_shared", "is_ext_shared", "is_org_shared", "is_global_shared", "is_pending_ext_shared", "is_ext_ws_shared",
    "pending_shared", "pending_connected_team_ids",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelAudience:
    """The *audience* of a channel, what *kind* of channel it is, and *why* it has no wider audience."""

    audience: Audience
    kind: Kind
    why: str = ""


def is_narrower(one: str, other: str) -> bool:
    """Return whether the audience *one* sees less than *other*."""
    return _WIDTH.index(Audience(one)) < _WIDTH.index(Audience(other))


def header_of(response: Any, name: str) -> str:
    """Return a header of Slack's answer, or an empty string. *name* is in small letters."""
    headers = getattr(response, "headers", None) or {}
    found = next((value for key, value in headers.items() if str(key).lower() == name), "")
    return ",".join(found) if isinstance(found, list) else str(found)


def said_of(error: Exception) -> str:
    """Return the error that Slack names in its answer, or an empty string. The answer may be anything."""
    response = getattr(error, "response", None)
    data = getattr(response, "data", response)
    return str(data.get("error") or "") if isinstance(data, Mapping) else ""


def reason_of(error: Exception) -> str:
    """Return what Slack says about a failed call, or the kind of *error* where it says nothing."""
    return said_of(error) or str(getattr(error, "reason", "") or type(error).__name__)


def page_of(answer: Any, key: str) -> tuple[list[Any], str]:
    """Return the rows of a page of Slack's answer, and what asks for the next page.

    Raises:
        ValueError: the answer is no such page, or says that there is more and not how to get it.
    """
    rows = answer.get(key)
    cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
    if not isinstance(rows, list) or (answer.get("has_more") and not cursor):
        raise ValueError(f"its page of {key} is incomplete")
    return rows, cursor


class ChannelAudiences:
    """The audiences of the channels of one workspace. *owner* is the Slack user of the owner, or empty.

    *widest* is the audience that no channel exceeds.
    """

    def __init__(
        self,
        client: WebClient,
        *,
        owner: str,
        team: str,
        widest: Audience = Audience.owner,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._owner = owner
        self._team = team
        self._widest = widest
        self._clock = clock
        self._known: dict[str, float] = {}

    def judge(self, channel: str) -> ChannelAudience:
        """Return who reads *channel* now. Every call asks Slack."""
        try:
            info = self._client.conversations_info(channel=channel)["channel"]
            found = self._judged(channel, info) if isinstance(info, Mapping) else _unknown("it gave no answer")
        except CALL_ERRORS as error:
            found = _unknown(reason_of(error))
        if is_narrower(self._widest, found.audience):
            return ChannelAudience(
                audience=self._widest, kind=found.kind, why=f"the bot was started for {self._widest}"
            )
        return found

    def _judged(self, channel: str, info: Mapping[str, Any]) -> ChannelAudience:
        if info.get("id") != channel:
            return _unknown("it describes another channel")
        if any(info.get(key) for key in _SHARED) or any(map(self._is_foreign, _teams(info))):
            return _group("shared with another organisation", "people of another organisation read it")
        if info.get("is_im") is True:
            if self._owner and info.get("user") == self._owner:
                return ChannelAudience(audience=Audience.owner, kind="owner's direct message")
            return _group("direct message", "the owner is not in it")
        if info.get("is_mpim") is True:
            return self._circle(channel, "group message")
        if info.get("is_private") is True:
            return self._circle(channel, "private channel")
        if info.get("is_private") is False and info.get("is_channel") is True:
            return _group("public channel", "everybody of the workspace may read it")
        return _unknown("its answer names no kind of channel")

    def _circle(self, channel: str, kind: Kind) -> ChannelAudience:
        """Return the audience of a channel that only its members read."""
        members = self._members(channel)
        if len(members) > _MOST_MEMBERS:
            return _group(kind, f"it has more than {_MOST_MEMBERS} members")
        if self._owner not in members:
            return _group(kind, "the owner is not in it")
        for member in sorted(members):
            if not self._is_full_member(member):
                return _group("guests present", "a guest, or somebody whom Slack does not describe, reads it")
        return ChannelAudience(audience=Audience.trusted, kind=kind)

    def _members(self, channel: str) -> set[str]:
        """Return the members, or more than the allowed number of them. Pages come until there is no other."""
        found: set[str] = set()
        cursor = ""
        for _ in range(_MOST_PAGES):
            page = self._client.conversations_members(channel=channel, limit=_PAGE, cursor=cursor)
            members, cursor = page_of(page, "members")
            found |= {str(member) for member in members}
            if not cursor or len(found) > _MOST_MEMBERS:
                return found
        raise ValueError("the list of members has no end")

    def _is_full_member(self, user: str) -> bool:
        now = self._clock()
        if now < self._known.get(user, 0.0):
            return True
        row = self._client.users_info(user=user)["user"]
        flags = ("is_restricted", "is_ultra_restricted", "is_stranger", "deleted")
        if not isinstance(row, Mapping) or row.get("id") != user or any(row.get(flag) for flag in flags):
            return False
        # A person without this field is one whom Slack does not describe. A bot of the workspace has it too.
        if "is_restricted" not in row or self._is_foreign(row.get("team_id")):
            return False
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[user] = now + _KNOWN_S
        return True

    def _is_foreign(self, team: object) -> bool:
        return bool(team) and bool(self._team) and team != self._team


def _teams(info: Mapping[str, Any]) -> Iterator[object]:
    """Yield the workspaces that a channel belongs to, or will."""
    yield info.get("context_team_id")
    for key in ("shared_team_ids", "connected_team_ids", "internal_team_ids"):
        yield from info.get(key) or ()


def _group(kind: Kind, why: str) -> ChannelAudience:
    return ChannelAudience(audience=Audience.group, kind=kind, why=why)


def _unknown(why: str) -> ChannelAudience:
    return _group("unknown", f"Slack does not say who reads it: {why}")
