"""Own what Slack's events say about messages: which one, in which thread, by whom, in plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = [
    "ChangedMessage",
    "SlackMessage",
    "changed_message",
    "command_in",
    "new_message",
    "plain_text",
    "time_of",
    "written_by",
]

#: Subtypes of a message that a person wrote. Others are notices of Slack, such as a topic that changed.
_WRITTEN = frozenset({None, "file_share", "thread_broadcast", "me_message"})
#: Beginning of a command in a thread, where Slack knows no commands.
_COMMAND = re.compile(r"!memory(?:\s+|\Z)")
_TS = re.compile(r"\d{1,12}\.\d{1,9}")
#: A part in angle brackets: a person, a channel, a group, a call to everybody, or an address, and perhaps its label.
_LINK = re.compile(r"<(?P<mark>[@#!]?)(?P<target>[^<>|\s]{1,3000})(?:\|(?P<label>[^<>]{0,3000}))?>")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
#: Names of files that a message names.
_MOST_FILES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackMessage:
    """A message of a person. *thread* is the time stamp of the first message of its thread, perhaps its own.

    *text* is as Slack writes it. *direct* says that it was sent to the agent alone.
    """

    channel: str
    thread: str
    ts: str
    user: str
    text: str
    direct: bool = False
    edited: str = ""

    @property
    def key(self) -> str:
        """Name of the message, the same whichever event brings it."""
        return f"{self.channel}:{self.ts}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedMessage:
    """A message that was edited, or deleted if *now* is ``None``. *at* is the time stamp of the change."""

    channel: str
    thread: str
    ts: str
    at: str
    now: SlackMessage | None


def new_message(event: Mapping[str, Any]) -> SlackMessage | None:
    """Return the message of the event ``message`` or ``app_mention``, or ``None`` where no person wrote it."""
    return written_by(event, _text(event, "channel"), direct=event.get("channel_type") == "im")


def written_by(row: Mapping[str, Any], channel: str, *, direct: bool = False) -> SlackMessage | None:
    """Return the message *row* of *channel*, from an event or from a thread that was read.

    Messages of bots are left out: two that answer each other would never end.
    """
    ts = _stamp(row, "ts")
    user = _text(row, "user")
    if row.get("subtype") not in _WRITTEN or row.get("bot_id") or row.get("hidden") or not (ts and user and channel):
        return None
    edited = row.get("edited")
    return SlackMessage(
        channel=channel, thread=_stamp(row, "thread_ts") or ts, ts=ts, user=user, text=_whole_text(row), direct=direct,
        edited=_stamp(edited, "ts") if isinstance(edited, Mapping) else "",
    )  # fmt: skip


def changed_message(event: Mapping[str, Any]) -> ChangedMessage | None:
    """Return what the event ``message_changed`` or ``message_deleted`` changed, or ``None`` if nothing was said anew.

    Slack also sends such an event when it shows a preview of a link, and when a message gets its first answer. A
    deleted first message of a thread that has answers becomes a tombstone.
    """
    channel = _text(event, "channel")
    before = event.get("previous_message")
    before = before if isinstance(before, Mapping) else {}
    after = event.get("message")
    after = after if isinstance(after, Mapping) else {}
    at = _stamp(event, "event_ts") or _stamp(event, "ts")
    if event.get("subtype") == "message_deleted" or after.get("subtype") == "tombstone":
        ts = _stamp(event, "deleted_ts") or _stamp(after, "ts")
        thread = _stamp(before, "thread_ts") or _stamp(after, "thread_ts") or ts
        return ChangedMessage(channel=channel, thread=thread, ts=ts, at=at, now=None) if channel and ts and at else None
    now = written_by(after, channel, direct=event.get("channel_type") == "im")
    if now is None or not now.edited or (before and _whole_text(before) == now.text):
        return None
    return ChangedMessage(channel=channel, thread=now.thread, ts=now.ts, at=now.edited, now=now)


def plain_text(text: str, name_of: Callable[[str], str] = lambda user: user, *, agent: str = "") -> str:
    """Return *text* of Slack as it reads: names in place of ids, addresses behind their labels.

    A call of the *agent*, by its user id, at the beginning is left out.

    >>> plain_text("<@U1> see <https://a.example|the page> &amp; ask <@U2>", {"U2": "Mara"}.get, agent="U1")
    'see the page (https://a.example) & ask @Mara'
    """

    def told(match: re.Match[str]) -> str:
        mark, target, label = match["mark"], match["target"], match["label"]
        if mark == "@":
            return f"@{name_of(target) or target}"
        if mark:
            return f"{'#' if mark == '#' else '@'}{(label or target).lstrip('@#').split('^')[0]}"
        return f"{label} ({target})" if label and label != target and not target.endswith(label) else label or target

    if agent:
        text = re.sub(rf"^\s*<@{re.escape(agent)}(?:\|[^<>]*)?>[\s,:]*", "", text)
    text = _LINK.sub(told, text)
    for entity, char in _ENTITIES:
        text = text.replace(entity, char)
    return text.strip()


def command_in(text: str) -> str | None:
    """Return what stands behind `!memory` in a plain text, or ``None`` where it is no command.

    >>> command_in("!memory why"), command_in("what does !memory do?")
    ('why', None)
    """
    found = _COMMAND.match(text)
    return text[found.end() :] if found else None


def time_of(ts: str) -> str:
    """Return the time of Slack's time stamp as ISO 8601, or an empty string.

    >>> time_of("1764400000.000200")
    '2025-11-29T07:06:40+00:00'
    """
    try:
        return datetime.fromtimestamp(int(ts.partition(".")[0]), UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def _whole_text(row: Mapping[str, Any]) -> str:
    """Return the text of a message, and a line for each file: its name, not what is in it."""
    files = row.get("files")
    files = files if isinstance(files, list) else []
    names = [" ".join(str(file.get("name") or "").split()) for file in files[:_MOST_FILES] if isinstance(file, dict)]
    return "\n".join(part for part in (_text(row, "text"), *(f"[file: {name}]" for name in names if name)) if part)


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def _stamp(row: Mapping[str, Any], key: str) -> str:
    value = _text(row, key)
    return value if _TS.fullmatch(value) else ""
