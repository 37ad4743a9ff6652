"""Own how texts reach a channel: each delivery asks again who reads it, and stops where fewer may see the text.

An answer goes to a direct message while it is written, because nobody joins one. Everywhere else it comes as a whole.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from slack_sdk import WebClient

from agent_home.audience import Audience
from agent_home.documents.links import disarm_links

from .channel_audience import CALL_ERRORS, ChannelAudience, ChannelAudiences, is_narrower, said_of
from .responder import ResponderFailed

__all__ = ["AudienceNarrowed", "Delivery", "DeliveryFailed", "safe_text"]

#: Characters of one message. Slack takes 12 000 of Markdown.
_MOST_CHARS = 11_000
#: Seconds between two parts of an answer that is written into a direct message, and characters of one such part.
_PART_S, _PART_CHARS = 1.0, 3_000
#: A call to everybody of a channel or workspace. An answer must not be a way to make one.
_CALL = re.compile(r"<!(?P<name>[a-z^A-Z0-9]+)(?:\|[^<>]*)?>")
#: An address, of which Slack shows a preview in a message that grows. Only a whole message can be without one.
_ADDRESS = re.compile(r"://|\bwww\.", re.IGNORECASE)
#: Code on lines of its own. What stands in it is no link.
_FENCED = re.compile(
    r"^ {0,3}(?P<fence>`{3,9}|~{3,9})[^\n]*\n(?:.*?^ {0,3}(?P=fence)(?P<end>)|.*\Z)", re.MULTILINE | re.DOTALL
)


class DeliveryFailed(Exception):
    """Slack did not take a message. The message says why."""


class AudienceNarrowed(Exception):
    """People read the channel now who may not see the text. *now* is the audience of the channel."""

    def __init__(self, now: ChannelAudience) -> None:
        super().__init__(f"the channel is one for {now.audience} now: {now.why}")
        self.now = now


def safe_text(text: str) -> str:
    """Return *text* without images of the net, links that carry data away, and calls to everybody.

    >>> safe_text("Hello <!channel>, ask <@U1>")
    'Hello @channel, ask <@U1>'
    """
    return _CALL.sub(r"@\g<name>", disarm_links(text)).replace("<!", "< !")


class Delivery:
    """Posts messages of the agent."""

    def __init__(
        self, client: WebClient, audiences: ChannelAudiences, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._audiences = audiences
        self._clock = clock

    def status(self, channel: str, thread: str, text: str) -> None:
        """Show that the agent is at work, where Slack shows it. It is no part of the conversation."""
        with suppress(*CALL_ERRORS):
            self._client.assistant_threads_setStatus(channel_id=channel, thread_ts=thread, status=text)

    def post(self, channel: str, thread: str, text: str, *, allowed: Audience | None) -> str:
        """Post *text*, which the audience *allowed* may see, into a thread. Return the time stamp of its first message.

        ``None`` is for a text that holds nothing of memory.

        Raises:
            AudienceNarrowed: others read the channel now. Nothing more was posted.
            DeliveryFailed: Slack refused it.
        """
        first = ""
        for part in _parts(safe_text(text)):
            self._require(channel, allowed)
            try:
                posted = self._client.chat_postMessage(
                    channel=channel, thread_ts=thread, markdown_text=part, unfurl_links=False, unfurl_media=False
                )
                first = first or str(posted["ts"])
            except CALL_ERRORS as error:
                raise DeliveryFailed(_said(error)) from error
        return first

    def tell(self, channel: str, user: str, thread: str, text: str) -> None:
        """Show *text* to *user* alone, in a thread.

        Raises:
            DeliveryFailed: Slack refused it.
        """
        try:
            self._client.chat_postEphemeral(channel=channel, user=user, thread_ts=thread, text=safe_text(text))
        except CALL_ERRORS as error:
            raise DeliveryFailed(_said(error)) from error

    def stream(
        self, channel: str, thread: str, pieces: Iterator[str], *, allowed: Audience, lead: str = "", **to: str
    ) -> tuple[str, str]:
        """Write an answer into a direct message while its *pieces* come. Return its time stamp and the whole answer.

        *lead* stands before the answer and is no part of it. *to* names the recipient. What Slack does not take as a
        stream is posted, and so is all of the answer from its first address on.

        Raises:
            AudienceNarrowed, DeliveryFailed: see :meth:`post`.
            ResponderFailed: the answer broke off. What came of it stays.
        """
        stream, posted = _Stream(self._client, channel, thread, to), ""
        told: list[str] = []
        waiting, last = lead, self._clock()
        try:
            for piece in pieces:
                told.append(piece)
                waiting += piece
                is_due = self._clock() - last >= _PART_S and not stream.refused
                whole, rest = _whole_lines(waiting) if is_due else ("", waiting)
                if whole and _has_link(whole):
                    stream.refused = True
                elif whole:
                    self._require(channel, allowed)
                    waiting = rest if stream.append(safe_text(whole)) else waiting
                    last = self._clock()
            self._require(channel, allowed)
        except AudienceNarrowed:
            stream.stop("")
            raise
        except ResponderFailed:
            may_stand = self._may_see(channel, allowed) and not _has_link(waiting)
            stream.stop(safe_text(waiting) if may_stand else "")
            raise
        has_link = _has_link(waiting)
        if not stream.stop("" if has_link else safe_text(waiting)) or has_link:
            posted = self.post(channel, thread, waiting, allowed=allowed)
        return stream.ts or posted, "".join(told)

    def _may_see(self, channel: str, allowed: Audience) -> bool:
        try:
            self._require(channel, allowed)
        except AudienceNarrowed:
            return False
        return True

    def _require(self, channel: str, allowed: Audience | None) -> None:
        if allowed is None or allowed == Audience.group:  # no channel is narrower than that
            return
        now = self._audiences.judge(channel)
        if is_narrower(now.audience, allowed):
            raise AudienceNarrowed(now)


class _Stream:
    """A message of Slack that grows. It begins with its first part. *refused* says that Slack takes no stream."""

    def __init__(self, client: WebClient, channel: str, thread: str, to: dict[str, str]) -> None:
        self._client = client
        self._channel = channel
        self._start: dict[str, Any] = {"channel": channel, "thread_ts": thread, **to}
        self.ts = ""
        self.refused = False

    def append(self, text: str) -> bool:
        """Add *text*. Return whether Slack took it."""
        try:
            if not self.ts:
                self.ts = str(self._client.chat_startStream(**self._start, markdown_text=text)["ts"])
            else:
                self._client.chat_appendStream(channel=self._channel, ts=self.ts, markdown_text=text)
        except CALL_ERRORS:
            self.refused = True
        return not self.refused

    def stop(self, text: str) -> bool:
        """End the message with *text*. Return whether Slack took it. A message that never began takes nothing."""
        if not self.ts:
            return False
        *before, last = _parts(text) or [""]
        taken = not self.refused and all(self.append(part) for part in before)
        try:
            rest = (last or None) if taken else None
            self._client.chat_stopStream(channel=self._channel, ts=self.ts, markdown_text=rest)
        except CALL_ERRORS:
            return not text
        return taken or not text


def _has_link(text: str) -> bool:
    """Return whether an address is left in *text* when it is delivered."""
    return _ADDRESS.search(safe_text(text)) is not None


def _whole_lines(text: str) -> tuple[str, str]:
    """Return the whole lines of *text* and the rest. A long line is cut at a blank, so that no link is cut.

    Nothing is cut within code, because each part must look like what it is in the whole text.
    """
    at = text.rfind("\n") + 1
    if not at and len(text) > _PART_CHARS and "`" not in text:
        at = text.rfind(" ") + 1
    open_code = next((found.start() for found in _FENCED.finditer(text[:at]) if found["end"] is None), at)
    return text[:open_code], text[open_code:]


def _parts(text: str) -> list[str]:
    """Return *text* in parts of one message each, cut between paragraphs, lines or words where it can be."""
    parts = []
    while len(text) > _MOST_CHARS:
        found = (text.rfind(border, _MOST_CHARS // 2, _MOST_CHARS) for border in ("\n\n", "\n", " "))
        at = next((place for place in found if place > 0), _MOST_CHARS)
        parts.append(text[:at])
        text = text[at:].lstrip("\n")
    return [*parts, text] if text.strip() else parts


def _said(error: Exception) -> str:
    said = said_of(error)
    return f"Slack says {said}" if said else f"Slack cannot be reached ({type(error).__name__})"
