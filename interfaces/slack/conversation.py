"""Own how threads of Slack become sessions: their names, whose words are whose, and what happens to changed messages.

One session holds one thread of one channel. The thread in Slack is the truth. Events bring its messages, in any order
and perhaps not all of them. So before a thread becomes memory, it is read once more and compared with its transcript.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from agent_home.clock import now as present
from agent_home.errors import HomeError
from agent_home.home import Home
from agent_home.imports import ImportReport, import_messages
from agent_home.last_manifest import with_last_manifest
from agent_home.store import closings, transcript
from agent_home.store.speakers import owner_settings, speaker_label
from agent_home.store.transcript import Withdrawal
from distill.participant_notes import MOST_WAITING
from distill.review.queue import waiting_of_sessions

from .channel_audience import CALL_ERRORS, header_of, page_of, said_of
from .message import ChangedMessage, SlackMessage, command_in, plain_text, time_of, written_by
from .record import SlackRecord, SlackThread
from .responder import ThreadLine

__all__ = ["CaughtUp", "Conversations", "NoRoom", "Workspace", "session_of"]

#: Lines of a thread that a responder gets, the newest ones.
_MOST_LINES = 100
#: Messages of a thread that are compared with its transcript, and those that come in one page.
_MOST_COMPARED, _PAGE = 2_000, 200
#: Pages that are asked for. Slack may give shorter ones than asked.
_MOST_PAGES = 50
#: Seconds for which the name of a person is known.
_NAMED_S = 3600.0
_MOST_NAMES = 5_000
#: Seconds by which Slack's clock may differ, which it tells in whole seconds.
_BLINK_S = 3.0
#: Beginning of the names of all sessions of Slack, and texts of others in them that may wait for the owner.
_LEAD, _MOST_WAITING_OF_ALL = "slack-", 3 * MOST_WAITING
#: Mark of the versions of a message that was edited, before the letters of the version. No id has its letter.
_EDIT = "-v"


class NoRoom(HomeError):
    """So many texts of people in a channel wait for the owner that no more is kept."""

    def __init__(self) -> None:
        super().__init__("so many texts from Slack wait for the owner already (`memory review`)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The bot's place in Slack: its *team*, the user and bot id under which the *agent* writes, and the *owner*."""

    team: str
    agent: str
    bot: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaughtUp:
    """The ids of messages that were withdrawn when a thread was compared: of *deleted* ones, and before an edit."""

    deleted: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()


def session_of(workspace: Workspace, channel: str, thread: str) -> str:
    """Return the name of the session of a thread. All sessions of a channel begin with the same letters.

    Ids and times of Slack are left out, because long numbers look like personal data.
    """
    place = _letters(workspace.team, channel, size=4)
    return f"{_LEAD}{place}:{time_of(thread)[:10]}-{_letters(workspace.team, channel, thread, size=5)}"


class Conversations:
    """The sessions of one home in one workspace."""

    def __init__(self, home: Home, client: WebClient, record: SlackRecord, workspace: Workspace) -> None:
        self._root = home.root
        self._client = client
        self._record = record
        self.workspace = workspace
        self._names: dict[str, tuple[float, str]] = {}

    def begin(self, message: SlackMessage) -> SlackThread:
        """Return the thread of *message*, which calls the agent. It becomes a session unless it is one already.

        Events come in any order. The call that was written first begins the session.
        """
        session = session_of(self.workspace, message.channel, message.thread)
        known = self._record.thread(session)
        if known is None:
            known = SlackThread(
                session=session, channel=message.channel, thread=message.thread, began=message.ts, active=time.time(),
                unclosed=False,
            )  # fmt: skip
        elif _before(message.ts, known.began):
            known = replace(known, began=message.ts)
        self._record.keep(known)
        return known

    def known(self, channel: str, thread: str) -> SlackThread | None:
        """Return the session of a thread, or ``None`` if the agent was never called there."""
        return self._record.thread(session_of(self.workspace, channel, thread))

    def belongs(self, thread: SlackThread, message: SlackMessage) -> bool:
        """Return whether *message* was written after the agent was called into its thread."""
        return not _before(message.ts, thread.began)

    def store(self, thread: SlackThread, message: SlackMessage) -> ImportReport:
        """Append *message* to its transcript, under the name of who wrote it. What is there already adds nothing.

        Raises:
            NoRoom: the texts of others wait for the owner.
            HomeError: it could not be written.
        """
        return self._append(thread, [message])

    def store_answer(self, thread: SlackThread, ts: str, text: str) -> None:
        """Append the agent's answer, which was posted with the time stamp *ts*, unless memory was off then.

        Raises:
            HomeError: it could not be written.
        """
        if self._record.off_period(thread.channel, thread.thread, ts) is not None:
            return
        row = {
            "id": self.message_id(thread.channel, ts), "ts": time_of(ts), "role": "assistant", "content": text,
            "channel": thread.channel,
        }  # fmt: skip
        import_messages(self._home, thread.session, [row], now=present())
        self._touch(thread)

    def change(self, thread: SlackThread, change: ChangedMessage) -> tuple[str, ...]:
        """Bring an edit or a deletion into the transcript. Return the ids of the messages that were withdrawn.

        The newest change counts, in whichever order they come. A deletion is final. A message that was never kept does
        not come in by an edit, and words that were written while memory was off replace the earlier ones with nothing.

        Raises:
            NoRoom: the texts of others wait for the owner. The earlier words are withdrawn, and the new ones not kept.
            HomeError: it could not be written.
        """
        gone: list[str] = []
        if change.now is not None and not self._is_part(thread, change.now):
            return ()

        def items(path: Path | None) -> list[Mapping[str, Any]]:
            row = self._withdrawal(path, change)
            gone.extend(row.ids if row else ())
            return [transcript.withdrawal(row)] if row else []

        now = change.now if change.now and self._is_told(change.now) else None
        refused = now is not None and now.user != self.workspace.owner and not self.has_room(thread.session)
        rows = [self._row(now)] if now and not refused else []
        import_messages(self._home, thread.session, rows, now=present(), items=items)
        if refused:
            raise NoRoom
        if rows:
            self._touch(thread)
        return tuple(gone)

    def closed_ids(self, thread: SlackThread) -> set[str]:
        """Return the ids of the thread's messages that became memory, withdrawn ones too."""
        path = transcript.session_path(self._home, thread.session)
        if path is None:
            return set()
        lines = transcript.read_lines(path, withdrawn_too=True)
        turns = [transcript.Turn(message=message, start=start, end=end) for message, start, end in lines if message]
        if not turns:
            return set()
        parts = closings.closed_parts(self._home, closings.first_day(turns), sessions=[thread.session])
        fresh = {turn.start for turn in parts.fresh(thread.session, turns)}
        return {turn.message.id for turn in turns if turn.start not in fresh}

    def catch_up(self, thread: SlackThread) -> CaughtUp:
        """Compare the transcript with the thread in Slack, and bring in what events did not bring.

        Messages of others are left out while too many of theirs wait.

        Raises:
            SlackClientError, OSError, ValueError: Slack gave no whole answer, so nothing is known.
            HomeError: it could not be written.
        """
        rows = self._compared(thread)
        whole = len(rows) < _MOST_COMPARED
        present_ts = {str(row.get("ts")) for row in rows if row.get("subtype") != "tombstone"}
        found = [message for row in rows if (message := self._written(row, thread.channel)) is not None]
        parts = [message for message in found if self._is_part(thread, message)]
        known = self._stored_bases(thread)
        stored = set(known.values())
        deleted: list[str] = []
        edited: list[str] = []
        if whole:
            deleted += self._withdraw_absent(thread, {self.message_id(thread.channel, ts) for ts in present_ts}, known)
        for message in parts:
            is_known = self.message_id(message.channel, message.ts) in stored
            if message.edited and self._version_id(message) not in known and (is_known or self._is_told(message)):
                change = ChangedMessage(
                    channel=message.channel, thread=message.thread, ts=message.ts, at=message.edited, now=message
                )
                with suppress(NoRoom):
                    edited += self.change(thread, change)
        told = [one for one in parts if not one.edited and self._is_told(one)]
        fresh = [one for one in told if self.message_id(one.channel, one.ts) not in stored]
        if fresh:
            try:
                self._append(thread, fresh)
            except NoRoom:
                own = [one for one in fresh if one.user == self.workspace.owner]
                if own:
                    self._append(thread, own)
        return CaughtUp(deleted=tuple(deleted), edited=tuple(edited))

    def _compared(self, thread: SlackThread) -> list[Mapping[str, Any]]:
        """Return the messages of the thread in Slack. A thread of which nothing is left has none.

        Raises:
            SlackClientError, OSError, ValueError: nothing is known. A thread always has its first message, or what is
                left of it, so an answer without it does not say that everything was deleted.
        """
        try:
            rows = list(self._replies(thread.channel, thread.thread, _MOST_COMPARED))
        except SlackApiError as error:
            if said_of(error) == "thread_not_found":
                return []
            raise
        if not any(row.get("ts") == thread.thread for row in rows):
            raise ValueError("its answer is not the whole thread")
        return rows

    def lines(self, thread: SlackThread, message: SlackMessage) -> list[ThreadLine]:
        """Return the thread for a responder, oldest first, with *message* at its end. It is read from Slack.

        Where Slack gives no answer, only *message* is known.
        """
        try:
            rows = list(self._replies(thread.channel, thread.thread, _MOST_COMPARED))
        except CALL_ERRORS:
            rows = []
        found = [line for row in rows if (line := self._line(row, thread.channel)) is not None]
        found = [line for line in found if line.text and command_in(line.text) is None]
        found = [line for line in found if _before(line.ts, message.ts)][-_MOST_LINES + 1 :]
        own = ThreadLine(
            role="user", name=self.name_of(message.user), text=self.text_of(message), ts=message.ts,
            owner=message.user == self.workspace.owner,
        )  # fmt: skip
        return [*found, own]

    def text_of(self, message: SlackMessage) -> str:
        """Return the plain text of *message*, without the call of the agent."""
        return plain_text(message.text, self.name_of, agent=self.workspace.agent)

    def name_of(self, user: str) -> str:
        """Return the name of a person in Slack, as it may stand in a line, or an empty string."""
        if user == self.workspace.agent:
            return self._home.manifest.name
        until, name = self._names.get(user, (0.0, ""))
        if time.monotonic() < until:
            return name
        try:
            plain, _, team = user.partition("@")
            row = self._client.users_info(user=plain)["user"]
            if team and row.get("team_id") != team:
                return name  # somebody of this workspace has the same id
            profile = row.get("profile") or {}
            told = profile.get("display_name") or profile.get("real_name") or row.get("name") or ""
        except (*CALL_ERRORS, AttributeError):
            return name
        if len(self._names) >= _MOST_NAMES:
            self._names.clear()
        name = speaker_label(str(told))
        self._names[user] = (time.monotonic() + _NAMED_S, name)
        return name

    def has_room(self, session: str) -> bool:
        """Return whether a person could look through more texts of the session's channel, and of Slack, than wait.

        Somebody may make many channels and put the agent into each.
        """
        lead = session.partition(":")[0] + ":"
        here = waiting_of_sessions(self._home, lead)
        return here < MOST_WAITING and waiting_of_sessions(self._home, _LEAD) < _MOST_WAITING_OF_ALL

    def present_stamp(self, more_s: float = 0.0) -> str:
        """Return the present, and *more_s* seconds, as a time stamp of Slack, whose clock dates the messages.

        The clock of this machine counts where it differs by a blink, or Slack does not tell its own.
        """
        now = time.time()
        try:
            told = parsedate_to_datetime(str(header_of(self._client.api_test(), "date"))).timestamp()
        except CALL_ERRORS:
            told = now
        return f"{(now if abs(now - told) < _BLINK_S else told) + more_s:.6f}"

    def message_id(self, channel: str, ts: str) -> str:
        """Return the id under which the transcript has the first version of a message."""
        return f"m-{_letters(channel, ts, size=7)}"

    # ------------------------------------------------------------------------------------------------- private

    @property
    def _home(self) -> Home:
        """The home as ``agent.toml`` is now. The bot runs for long, and a person may change it meanwhile."""
        return with_last_manifest(Home(self._root))[0]

    def _append(self, thread: SlackThread, messages: Sequence[SlackMessage]) -> ImportReport:
        if any(message.user != self.workspace.owner for message in messages) and not self.has_room(thread.session):
            raise NoRoom
        report = import_messages(self._home, thread.session, list(map(self._row, messages)), now=present())
        self._touch(thread, messages[-1].user)
        return report

    def _touch(self, thread: SlackThread, user: str = "") -> None:
        known = self._record.thread(thread.session) or thread
        self._record.keep(replace(known, active=time.time(), unclosed=True, last_user=user or known.last_user))

    def _row(self, message: SlackMessage) -> dict[str, Any]:
        """Return *message* in the keys of the chat format. Only the owner's account speaks as the owner."""
        is_owner = bool(self.workspace.owner) and message.user == self.workspace.owner
        return {
            "id": self._version_id(message), "ts": time_of(message.ts), "role": "user" if is_owner else "participant",
            "name": self._owner_name(message.user) if is_owner else self.name_of(message.user) or "someone in Slack",
            "content": self.text_of(message), "account": message.user, "channel": message.channel,
        }  # fmt: skip

    def _owner_name(self, user: str) -> str:
        """Return the name under which the home knows the owner, so that the owner's words stay theirs."""
        names = owner_settings(self._home).names
        return names[0] if names else self.name_of(user)

    def _version_id(self, message: SlackMessage) -> str:
        base = self.message_id(message.channel, message.ts)
        return f"{base}{_EDIT}{_letters(message.edited, size=4)}" if message.edited else base

    def _withdrawal(self, path: Path | None, change: ChangedMessage) -> Withdrawal | None:
        """Return what *change* withdraws of the transcript at *path*, or ``None``. Call with the home's lock held."""
        base = self.message_id(change.channel, change.ts)
        earlier = [row for row in transcript.withdrawals(path) if row.base == base] if path else []
        versions = {base, *(name for name in _ids(path) if name.startswith(f"{base}{_EDIT}"))}
        newest = max((_sortable(row.at) for row in earlier), default=(0, 0))
        if any(row.deleted for row in earlier):
            ids = {self._version_id(change.now)} if change.now else set()
        elif change.now is None:
            ids = versions
        elif newest > _sortable(change.at):
            ids = {self._version_id(change.now)}
        else:
            ids = versions - {self._version_id(change.now)}
        ids -= {name for row in earlier for name in row.ids}
        if not ids and not (change.now is None and not any(row.deleted for row in earlier)):
            return None
        return Withdrawal(ids=tuple(sorted(ids or versions)), base=base, at=change.at, deleted=change.now is None)

    def _withdraw_absent(self, thread: SlackThread, present_ids: set[str], known: Mapping[str, str]) -> Iterator[str]:
        """Remove from view the stored messages that Slack does not have any more, and yield their ids."""
        path = transcript.session_path(self._home, thread.session)
        gone = {name for row in transcript.withdrawals(path) for name in row.ids} if path else set()
        for base in dict.fromkeys(known.values()):
            if base in present_ids or all(name in gone for name in known if known[name] == base):
                continue
            ids = tuple(sorted(name for name in known if known[name] == base))
            row = Withdrawal(ids=ids, base=base, at=f"{time.time():.6f}", deleted=True)
            rows = [transcript.withdrawal(row)]
            import_messages(self._home, thread.session, [], now=present(), items=lambda _path, rows=rows: rows)  # type: ignore[misc]
            yield from ids

    def _stored_bases(self, thread: SlackThread) -> dict[str, str]:
        """Return the ids of the stored messages with the id of their first version."""
        path = transcript.session_path(self._home, thread.session)
        return {name: name.partition(_EDIT)[0] for name in _ids(path)}

    def _is_part(self, thread: SlackThread, message: SlackMessage) -> bool:
        """Return whether *message* belongs into the transcript: it was written after the call, with memory on."""
        off = self._record.off_period(thread.channel, thread.thread, message.ts)
        return off is None and self.belongs(thread, message) and message.user != self.workspace.agent

    def _is_told(self, message: SlackMessage) -> bool:
        """Return whether the present words of *message* may be kept: no command, and no edit while memory was off."""
        if command_in(self.text_of(message)) is not None:
            return False
        edited = message.edited
        return not edited or self._record.off_period(message.channel, message.thread, edited) is None

    def _replies(self, channel: str, thread: str, most: int) -> Iterator[Mapping[str, Any]]:
        cursor, count = "", 0
        seen: set[object] = set()  # the first message of a thread may stand on every page
        for _ in range(_MOST_PAGES):
            page = self._client.conversations_replies(channel=channel, ts=thread, limit=_PAGE, cursor=cursor)
            rows, cursor = page_of(page, "messages")
            if not all(isinstance(row, Mapping) for row in rows):
                raise ValueError("its page of messages holds something else")
            for row in rows:
                if row.get("ts") not in seen and count < most:
                    count += 1
                    seen.add(row.get("ts"))
                    yield row
            if not cursor or count >= most:
                return
        raise ValueError("the thread has no end")  # what did not come is not gone

    def _written(self, row: Mapping[str, Any], channel: str) -> SlackMessage | None:
        return written_by(row, channel, team=self.workspace.team)

    def _line(self, row: Mapping[str, Any], channel: str) -> ThreadLine | None:
        """Return a message of a thread as a line. The agent's own messages are those of the assistant."""
        ts = str(row.get("ts") or "")
        if row.get("user") == self.workspace.agent or (self.workspace.bot and row.get("bot_id") == self.workspace.bot):
            return ThreadLine(
                role="assistant", name=self._home.manifest.name, text=plain_text(str(row.get("text") or "")), ts=ts
            )
        message = self._written(row, channel)
        if message is None:
            return None
        return ThreadLine(
            role="user", name=self.name_of(message.user) or message.user, text=self.text_of(message), ts=ts,
            owner=message.user == self.workspace.owner,
        )  # fmt: skip


def _ids(path: Path | None) -> list[str]:
    """Return the ids of all messages of a transcript, without those of parts that an import took out of them."""
    if path is None:
        return []
    lines = transcript.read_lines(path, withdrawn_too=True)
    return [message.id.partition(":")[0] for message, _, _ in lines if message is not None]


def _before(ts: str, other: str) -> bool:
    return _sortable(ts) < _sortable(other)


def _sortable(ts: str) -> tuple[int, int]:
    seconds, _, rest = ts.partition(".")
    try:
        return int(seconds or 0), int(rest.ljust(6, "0")[:6])
    except ValueError:
        return 0, 0


def _letters(*parts: str, size: int) -> str:
    """Return 2 * *size* letters that stand for *parts*."""
    digest = hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
    return "".join(chr(ord("a") + int(digit, 16)) for digit in digest)
