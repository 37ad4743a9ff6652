"""Own what happens when something is said in Slack: keep it, ask for an answer, and deliver that to the channel.

An event is taken once, by its id, and a message once, whichever events bring it. Messages are kept at once. Answers are
written by a few threads, one at a time for each conversation. Every problem of memory is told in the thread.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakValueDictionary

from agent_home.audience import Audience
from agent_home.clock import now as present
from agent_home.errors import HomeError
from agent_home.home import Home
from assembler.errors import AssemblerError
from distill.errors import DistillError
from distill.review.withdrawn_turns import ask_about_withdrawn
from recall.errors import RecallError

from ..api import AgentHome
from .allowance import Allowance
from .channel_audience import ChannelAudience, ChannelAudiences
from .conversation import Conversations, NoRoom
from .delivery import AudienceNarrowed, Delivery, DeliveryFailed, safe_text
from .memory_command import MemoryCommand
from .message import SlackMessage, changed_message, command_in, is_called, new_message, plain_text
from .record import SlackRecord, SlackThread
from .responder import Question, Responder, ResponderFailed

__all__ = ["LOGGER", "SlackDoor"]

#: Tells what happened, without any text of a message or of memory.
LOGGER = logging.getLogger("agent_home.slack")
#: Errors of the home that a thread is told about.
_MEMORY_ERRORS = (HomeError, AssemblerError, DistillError, RecallError, OSError, ValueError)
#: Answers that are written at the same time. Messages of one thread, and of all but the owner, that wait for theirs.
_WORKERS, _MOST_WAITING, _MOST_IN_ALL = 4, 3, 40
#: Answers to one person other than the owner that may wait, in all threads.
_MOST_OF_PERSON = 6
#: Calls of one person other than the owner in an hour, and threads that they may begin in one.
_MOST_CALLS, _MOST_BEGUN, _HOUR_S = 60, 30, 3600.0
#: Times that an answer is written for a channel whose readers change meanwhile.
_TRIES = 2
_STATUS = "is thinking..."
_BUSY = "I am still at earlier messages, and do not answer this one"
_ENOUGH = "You have called me very often. I answer you again in an hour"
_CHANGED = "Who reads this channel changed while I wrote. Ask me again"
_FAILED = "I cannot answer now"
_SHOWN_OF_PROMPT = 200
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    """Share of memory in an answer: the *prompt*, what it *shows*, and the *problem* that the thread is told."""

    prompt: str = ""
    shown: tuple[str, ...] = ()
    problem: str = ""


class SlackDoor:
    """The bot of one home in one workspace. Close it to wait for the answers that are being written."""

    def __init__(
        self,
        home: Home,
        record: SlackRecord,
        conversations: Conversations,
        audiences: ChannelAudiences,
        delivery: Delivery,
        responder: Responder,
    ) -> None:
        self._agent = AgentHome(home, warn=LOGGER.warning)
        self._record = record
        self._conversations = conversations
        self._audiences = audiences
        self._delivery = delivery
        self._responder = responder
        self.commands = MemoryCommand(home, record, conversations, audiences)
        self._pool = ThreadPoolExecutor(max_workers=_WORKERS, thread_name_prefix="slack-answer")
        self._locks: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
        self._waiting: Counter[str] = Counter()
        self._guard = threading.Lock()
        self._calls, self._begun = Allowance(_MOST_CALLS, _HOUR_S), Allowance(_MOST_BEGUN, _HOUR_S)
        self._notices = Allowance(1, _HOUR_S)

    def close(self) -> None:
        """Wait for the answers that are being written. Those that did not begin are left out."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    # ------------------------------------------------------------------------------------------------- events

    def on_message(self, body: Mapping[str, Any]) -> None:
        """Take an event ``message`` or ``app_mention``: keep the message, and answer it if the agent was called."""
        place = self._conversations.workspace
        message = new_message(body["event"], team=place.team)
        if message is None or message.user == place.agent or not self._is_ours(body):
            return
        called = message.direct or is_called(message.text, place.agent)
        thread = self._conversations.known(message.channel, message.thread)
        if thread is None and not called:  # the talk of others leaves no trace here
            return
        if not (self._is_new(body) and self._record.claim(f"message {message.key}")):
            return
        command = command_in(self._conversations.text_of(message))
        if command is not None and (called or thread is not None):
            self._answer_command(message, command)
            return
        if called and not self._may_call(message, begins=thread is None):
            if self._notices.take(message.user):
                self._say(message, _ENOUGH)
            if thread is None:
                return
            called = False
        if called or thread is None:
            thread = self._conversations.begin(message)
        elif not self._conversations.belongs(thread, message):
            return
        problem = self._kept(thread, message)
        if called:
            self._submit(thread, message, problem)
        elif problem:
            self._tell_problem(thread, message, problem)

    def on_change(self, body: Mapping[str, Any]) -> None:
        """Take an event about a message that was edited or deleted."""
        change = changed_message(body["event"], team=self._conversations.workspace.team)
        if change is None or not self._is_ours(body):
            return
        thread = self._conversations.known(change.channel, change.thread)
        if thread is None or not self._is_new(body):
            return
        if self._record.off_period(change.channel, change.thread, change.ts) is not None:
            return
        with self.turn_of(thread.session):
            try:
                closed = self._conversations.closed_ids(thread)
                gone = self._conversations.change(thread, change)
                self.ask_about(thread, closed.intersection(gone), how="edited" if change.now else "deleted")
            except _MEMORY_ERRORS as error:
                LOGGER.warning("a change of a message was not kept (%s)", type(error).__name__)

    def on_thread_started(self, body: Mapping[str, Any], say: Callable[[str], Any]) -> None:
        """Answer whoever opened the assistant's container, and say what becomes of the conversation."""
        if not (self._is_ours(body) and self._is_new(body)):
            return
        opened = body["event"]["assistant_thread"]
        channel, thread = str(opened["channel_id"]), str(opened["thread_ts"])
        off = self._record.open_periods(channel, thread)
        now = self._audiences.judge(channel)
        kept = "Memory is off here" if off else "I keep this conversation"
        say(f"{kept}. What I know, I use as for {_READERS[now.audience]}. `!memory help` says what you can change")

    def run_command(self, command: Mapping[str, Any]) -> str:
        """Return the answer to the slash command."""
        given = {key: str(command.get(key) or "") for key in ("text", "user_id", "channel_id", "team_id", "trigger_id")}
        team = self._conversations.workspace.team
        if given["team_id"] and given["team_id"] != team:
            return "I answer in another workspace"
        if given["trigger_id"] and not self._record.claim(f"command {given['trigger_id']}"):
            return "I have done that already"
        text = plain_text(given["text"], self._conversations.name_of)
        return safe_text(self.commands.run(text, user=given["user_id"], channel=given["channel_id"]))

    def ask_about(self, thread: SlackThread, ids: set[str], *, how: Literal["deleted", "edited"] = "deleted") -> None:
        """Let the owner decide about the entries of messages that were changed after they became memory.

        Raises:
            HomeError: it could not be asked.
        """
        if ids:
            ask_about_withdrawn(self._agent.home, thread.session, ids, now=present(), how=how)

    @contextmanager
    def turn_of(self, session: str) -> Iterator[None]:
        """Hold a conversation for the block, so that its messages and answers stay in order."""
        with self._guard:
            lock = self._locks.get(session) or threading.RLock()
            self._locks[session] = lock
        with lock:
            yield

    # ------------------------------------------------------------------------------------------------- keeping

    def _is_ours(self, body: Mapping[str, Any]) -> bool:
        """Return whether an event is of the bot's workspace. An app may be installed in several ones."""
        rows = body.get("authorizations")
        rows = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
        teams = {row.get("team_id") for row in rows} or {body.get("team_id")}
        return bool(teams & {self._conversations.workspace.team, None})

    def _is_new(self, body: Mapping[str, Any]) -> bool:
        event_id = body.get("event_id")
        return not isinstance(event_id, str) or self._record.claim(f"event {event_id}")

    def _kept(self, thread: SlackThread, message: SlackMessage) -> str:
        """Keep *message*. Return what is wrong with memory, or an empty string."""
        off = self._record.off_period(message.channel, message.thread, message.ts)
        if off is not None:
            where = "this thread" if off.thread else "this channel"
            return f"Memory is off in {where}: it was switched off with `/memory off`. I keep nothing of it"
        with self.turn_of(thread.session):
            try:
                self._conversations.store(thread, message)
            except NoRoom as error:
                return f"Memory is degraded: I did not keep your message, because {error}"
            except _MEMORY_ERRORS as error:
                LOGGER.warning("a message was not kept (%s: %s)", type(error).__name__, error)
                return f"Memory is degraded: I did not keep your message ({type(error).__name__})"
        return ""

    def _answer_command(self, message: SlackMessage, command: str) -> None:
        thread = message.thread if message.thread != message.ts else ""
        readers = self._audiences.judge(message.channel).audience if message.direct else None
        text = self.commands.run(command, user=message.user, channel=message.channel, thread=thread, ts=message.ts)
        try:
            if message.direct:  # nobody else is there, and Slack shows no other kind of answer in an assistant's thread
                self._delivery.post(message.channel, message.thread, text, allowed=readers)
            else:
                self._delivery.tell(message.channel, message.user.partition("@")[0], message.thread, text)
        except DeliveryFailed as error:
            LOGGER.warning("a command was not answered (%s)", error)
        except AudienceNarrowed:
            self._say(message, _CHANGED)

    def _tell_problem(self, thread: SlackThread, message: SlackMessage, problem: str) -> None:
        """Tell a thread once what is wrong with memory, though nobody called the agent."""
        known = self._record.thread(thread.session) or thread
        if known.told != _told(problem):
            self._record.change(thread.session, told=_told(problem))
            self._say(message, problem)

    # ------------------------------------------------------------------------------------------------- answering

    def _may_call(self, message: SlackMessage, *, begins: bool) -> bool:
        """Return whether *message* may be answered. Each call costs the owner an answer, and each thread a closing."""
        if message.user == self._conversations.workspace.owner:
            return True
        return self._calls.take(message.user) and (not begins or self._begun.take(message.user))

    def _places(self, thread: SlackThread, message: SlackMessage) -> dict[str, int]:
        """Return what an answer to *message* takes room of, and how many it has."""
        is_owner = message.user == self._conversations.workspace.owner
        others = {f"person {message.user}": _MOST_OF_PERSON, "everybody else": _MOST_IN_ALL}
        return {thread.session: _MOST_WAITING} | ({} if is_owner else others)

    def _submit(self, thread: SlackThread, message: SlackMessage, problem: str) -> None:
        places = self._places(thread, message)
        with self._guard:
            full = any(self._waiting[place] >= most for place, most in places.items())
            self._waiting.update({} if full else dict.fromkeys(places, 1))
            self._waiting = +self._waiting
        if full:
            self._say(message, _BUSY)
            return
        self._pool.submit(self._answer, thread, message, problem)

    def _answer(self, thread: SlackThread, message: SlackMessage, problem: str) -> None:
        try:
            with self.turn_of(f"answer {thread.session}"):
                self._show_status(message, _STATUS)
                self._answer_in_time(thread, message, problem)
        except DeliveryFailed as error:
            LOGGER.warning("an answer was not delivered (%s)", error)
        except Exception:
            LOGGER.exception("an answer failed")
            self._say(message, f"{_FAILED}: there is a defect in this bot. Its log names it")
        finally:
            with self._guard:
                self._waiting.subtract(dict.fromkeys(self._places(thread, message), 1))
                self._waiting = +self._waiting
            self._show_status(message, "")

    def _show_status(self, message: SlackMessage, text: str) -> None:
        if message.direct:
            self._delivery.status(message.channel, message.thread, text)

    def _answer_in_time(self, thread: SlackThread, message: SlackMessage, problem: str) -> None:
        now = self._audiences.judge(message.channel)
        for _ in range(_TRIES):
            try:
                self._answer_for(thread, message, now, problem)
            except AudienceNarrowed as error:
                now = error.now
            else:
                return
        self._say(message, _CHANGED)

    def _answer_for(self, thread: SlackThread, message: SlackMessage, now: ChannelAudience, problem: str) -> None:
        """Answer for the audience of *now*.

        Raises:
            AudienceNarrowed: the channel has another audience when the answer is ready. It was not delivered.
        """
        off = self._record.off_period(message.channel, message.thread, message.ts) is not None
        off = off or bool(self._record.open_periods(message.channel, message.thread))  # it was switched off meanwhile
        memory = _Memory(problem=problem) if off else self._memory_for(thread, message, now.audience, problem)
        question = Question(
            prompt=memory.prompt, thread=self._conversations.lines(thread, message), session=thread.session,
            audience=now.audience,
        )  # fmt: skip
        known = self._record.thread(thread.session) or thread
        lead = f"_{memory.problem}_\n\n" if memory.problem and _told(memory.problem) != known.told else ""
        try:
            ts, text = self._delivered(message, self._responder.answer(question), now.audience, lead)
        except ResponderFailed as error:
            LOGGER.warning("no answer came (%s)", error)
            why = f": {error}" if now.audience == Audience.owner else ". The log of this bot says why"
            self._delivery.post(message.channel, message.thread, f"{lead}{_FAILED}{why}", allowed=now.audience)
            return
        self._record.change(thread.session, audience=str(now.audience), shown=memory.shown, told=_told(memory.problem))
        if off:
            return
        with self.turn_of(thread.session):
            try:
                self._conversations.store_answer(thread, ts, text)
            except _MEMORY_ERRORS as error:
                LOGGER.warning("an answer was not kept (%s)", type(error).__name__)

    def _delivered(
        self, message: SlackMessage, pieces: Iterator[str], audience: Audience, lead: str
    ) -> tuple[str, str]:
        """Deliver an answer. Return its time stamp and its text."""
        if message.direct:
            user, _, team = message.user.partition("@")
            to = {"recipient_team_id": team or self._conversations.workspace.team, "recipient_user_id": user}
            ts, text = self._delivery.stream(message.channel, message.thread, pieces, allowed=audience, lead=lead, **to)
        else:
            text = "".join(pieces)
            ts = (
                self._delivery.post(message.channel, message.thread, lead + text, allowed=audience)
                if text.strip()
                else ""
            )
        if not text.strip():
            raise ResponderFailed("the answer is empty")
        return ts, text

    def _memory_for(self, thread: SlackThread, message: SlackMessage, audience: Audience, problem: str) -> _Memory:
        """Return the prompt for *audience*. Without one, the answer is given without memory, and says why."""
        try:
            receipt = self._agent.prompt(
                self._conversations.text_of(message), audience=audience, session=thread.session
            )
        except _MEMORY_ERRORS as error:
            LOGGER.warning("no prompt (%s: %s)", type(error).__name__, error)
            why = str(error) if audience == Audience.owner else type(error).__name__
            return _Memory(problem=problem or f"Memory is degraded: I answer without it ({why})")
        shown = tuple(line.id for line in receipt.entries if line.action in {"kept", "redacted"})[:_SHOWN_OF_PROMPT]
        if receipt.degraded and not problem:
            parts = "; ".join(receipt.degraded) if audience == Audience.owner else "the owner can see which part"
            problem = f"Memory is degraded: a part of it did not work ({parts})"
        return _Memory(prompt=receipt.text, shown=shown, problem=problem)

    def _say(self, message: SlackMessage, text: str) -> None:
        """Post a text that holds nothing of memory."""
        try:
            self._delivery.post(message.channel, message.thread, text, allowed=None)
        except DeliveryFailed as error:
            LOGGER.warning("a notice was not delivered (%s)", error)


_READERS: Mapping[Audience, str] = {
    Audience.owner: "my owner alone",
    Audience.trusted: "people whom my owner trusts",
    Audience.group: "a channel that anybody may read",
}


def _told(problem: str) -> str:
    """Return what tells *problem* from others. Numbers in it change from message to message."""
    return _NUMBER.sub("0", problem)
