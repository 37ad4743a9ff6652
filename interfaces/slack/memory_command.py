"""Own what `/memory` answers in Slack, and `!memory` in a thread, where Slack knows no commands.

The answer is shown to the one who asks, and to nobody else. The owner's account speaks as the owner. Everybody else
speaks for themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from agent_home import storage
from agent_home.audience import Audience
from agent_home.documents.document import parse
from agent_home.documents.entry import ENTRY_ID
from agent_home.errors import HomeError
from agent_home.home import MEMORY, Home
from agent_home.last_manifest import with_last_manifest
from distill.errors import DistillError
from recall.errors import RecallError

from ..api import AgentHome
from .allowance import Allowance
from .channel_audience import ChannelAudiences, is_narrower
from .conversation import Conversations, session_of
from .record import SlackRecord, SlackThread

__all__ = ["MemoryCommand"]

_LINK = re.compile(
    r"/archives/(?P<channel>[A-Z0-9]+)/p(?P<seconds>\d{9,11})(?P<rest>\d{6})(?:\?\S*thread_ts=(?P<ts>[\d.]+))?"
)
_APPLY = re.compile(r"\s+--?apply\s*\Z")
#: Seconds by which the clocks of Slack and of this machine may differ. What was written then counts as off.
_CLOCKS_S = 5.0
_MOST_SHOWN, _MOST_CHARS = 25, 300
#: Notes that a person other than the owner may leave in a day.
_MOST_NOTES, _DAY_S = 20, 86_400.0
_HELP = (
    "*`/memory`* shows and changes what I remember. In a thread, write `!memory` instead.\n"
    "• `why` - what of memory my last answer here was given with. `why LINK` asks about the thread of that link\n"
    "• `remember TEXT` - keep TEXT. Without being my owner, you keep it in your own name, or it waits for my owner\n"
    "• `forget ID` - end a note of yours. My owner erases an entry or a text: `forget TEXT --apply`\n"
    "• `off` - keep and use no memory here. In a thread: in this thread\n"
    "• `on` - use memory again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AskedCommand:
    """A command: its words behind the name, who asks, and where. *ts* is its time stamp, if it is a message."""

    rest: str
    user: str
    channel: str
    thread: str
    ts: str = ""


class MemoryCommand:
    """The commands of one home in one workspace."""

    def __init__(
        self, home: Home, record: SlackRecord, conversations: Conversations, audiences: ChannelAudiences
    ) -> None:
        self._root = home.root
        self._record = record
        self._conversations = conversations
        self._audiences = audiences
        self._notes = Allowance(_MOST_NOTES, _DAY_S)
        self._commands: Mapping[str, Callable[[_AskedCommand], str]] = {
            "why": self._why, "remember": self._remember, "forget": self._forget, "off": self._off, "on": self._on,
        }  # fmt: skip

    def run(self, text: str, *, user: str, channel: str, thread: str = "", ts: str = "") -> str:
        """Return the answer to a command. *thread* and *ts* are empty where it was no message of a thread."""
        name, _, rest = text.strip().partition(" ")
        command = self._commands.get(name.strip().lower())
        if command is None:
            return _HELP
        try:
            return command(_AskedCommand(rest=rest.strip(), user=user, channel=channel, thread=thread, ts=ts))
        except (HomeError, DistillError, RecallError, OSError, ValueError) as error:
            if self._is_owner(user):
                return f"That did not work: {error}"
            return "That did not work. My owner can see why in the log of this bot, or with `memory doctor`"

    # ------------------------------------------------------------------------------------------------- commands

    def _why(self, asked: _AskedCommand) -> str:
        thread = self._asked_thread(asked)
        if thread is None:
            return "I have given no answer here that I know of. `why LINK` asks about the thread of a message"
        if not thread.shown:
            return "My last answer there was given without anything of memory"
        now = self._audiences.judge(asked.channel).audience
        audience = now if is_narrower(now, thread.audience) else Audience(thread.audience)
        lines = list(self._shown(thread.shown, audience))
        if not lines:
            return "My last answer there was given with memory that may not be shown here"
        more = f"\nand {len(lines) - _MOST_SHOWN} more" if len(lines) > _MOST_SHOWN else ""
        return "My last answer there was given with:\n" + "\n".join(lines[:_MOST_SHOWN]) + more

    def _remember(self, asked: _AskedCommand) -> str:
        if not asked.rest:
            return "Write what to remember: `remember TEXT`"
        agent = AgentHome(self._home)
        if self._is_owner(asked.user):
            done = agent.remember(asked.rest, origin="user")
        else:
            lead = session_of(self._conversations.workspace, asked.channel, "0.0").partition(":")[0]
            if not self._conversations.has_room(f"{lead}:"):
                return "So much waits for my owner already that I take no more now"
            if not self._notes.take(asked.user):
                return f"You have left {_MOST_NOTES} notes today. That is all I take in a day"
            name = self._conversations.name_of(asked.user) or "someone in Slack"
            done = agent.remember(asked.rest, origin="participant", speaker=name, session=f"{lead}:notes")
        if done.quarantined:
            return "The guard holds this text back. It waits for my owner in `memory review`"
        if done.waits:
            return f"This waits for my owner: {done.waits}"
        if done.known:
            return "I know that already"
        if not self._is_owner(asked.user):
            self._record.claim(f"note {asked.user} {done.id}")
        return f"Remembered as {done.id}"

    def _forget(self, asked: _AskedCommand) -> str:
        if not asked.rest:
            return "Write what to forget: `forget ID` or `forget TEXT`"
        if self._is_owner(asked.user):
            return self._forget_of_owner(asked.rest)
        entry_id = asked.rest.strip("[]").upper()
        if not ENTRY_ID.fullmatch(entry_id) or not self._record.knows(f"note {asked.user} {entry_id}"):
            return "You can end notes that you made with `remember`, by their id. For anything else, ask my owner"
        name = self._conversations.name_of(asked.user) or "someone in Slack"
        done = AgentHome(self._home).resolve(
            entry_id, how="its author took it back", origin="participant", speaker=name
        )
        return f"{done.id} is ended. My owner can erase it"

    def _forget_of_owner(self, rest: str) -> str:
        from agent_home.clock import now as present
        from distill.forget import forget, places, removal_plan

        text = _APPLY.sub("", rest)
        if text == rest:
            plan = removal_plan(self._home, text)
            found = places(self._home, plan.target)
            if not found and not plan.unclear:
                return "It is nowhere in memory"
            unclear = (
                ". The turns say it in other words: decide with `memory forget` at a terminal" if plan.unclear else ""
            )
            return f"It is in {len(found)} places{unclear}. `forget {text} --apply` erases it there"
        done = forget(self._home, text, now=present(), actor="slack")
        left = [place for place in done.remaining if place.kind != "history"]
        if left:
            return f"It is still in {len(left)} places. `memory forget` at a terminal names them"
        history = ". Git's history keeps it until `memory forget --purge`" if done.in_history else ""
        return f"Erased from {len(done.before)} places{history}"

    def _off(self, asked: _AskedCommand) -> str:
        since = asked.ts or self._conversations.present_stamp(-_CLOCKS_S)
        self._record.switch_off(asked.channel, asked.thread, by=asked.user, since=since)
        where = "this thread" if asked.thread else "this channel"
        return (
            f"Memory is off in {where}. From now on I keep nothing of it and answer without memory. "
            "What was said before stays. `on` switches it on again"
        )

    def _on(self, asked: _AskedCommand) -> str:
        periods = self._record.open_periods(asked.channel, asked.thread)
        if not periods:
            return "Memory is on here"
        if not (self._is_owner(asked.user) or {asked.user} == {period.by for period in periods}):
            return "My owner, or whoever switched memory off, can switch it on again"
        until = asked.ts or self._conversations.present_stamp()
        self._record.switch_on(asked.channel, asked.thread, until=until)
        return "Memory is on again. What was said meanwhile is not kept"

    # ------------------------------------------------------------------------------------------------- private

    @property
    def _home(self) -> Home:
        """The home as ``agent.toml`` is now. The bot runs for long, and a person may change it meanwhile."""
        return with_last_manifest(Home(self._root))[0]

    def _is_owner(self, user: str) -> bool:
        owner = self._conversations.workspace.owner
        return bool(owner) and user == owner

    def _asked_thread(self, asked: _AskedCommand) -> SlackThread | None:
        """Return the thread that a command is about: that of a link, its own, or the latest one of the channel."""
        if asked.rest:
            found = _LINK.search(asked.rest)
            if found is None or found["channel"] != asked.channel:
                return None
            thread = found["ts"] or f"{found['seconds']}.{found['rest']}"
            return self._conversations.known(asked.channel, thread)
        if asked.thread:
            return self._conversations.known(asked.channel, asked.thread)
        here = [thread for thread in self._record.threads() if thread.channel == asked.channel]
        own = [thread for thread in here if thread.last_user == asked.user]
        return max(own or here, key=lambda thread: thread.active, default=None)

    def _shown(self, shown: tuple[str, ...], audience: Audience) -> Iterator[str]:
        """Yield a line for each part of a prompt that *audience* may see."""
        home, entries = self._home, {}
        if home.may_read(MEMORY, audience):
            entries = {entry.id: entry for entry in parse(storage.read_text(home.root / MEMORY)).entries()}
        for source in shown:
            path = source.partition("#")[0].partition(":")[0]
            if ENTRY_ID.fullmatch(source):
                if source in entries:
                    yield f"• {source}: {' '.join(entries[source].text.split())[:_MOST_CHARS]}"
            elif audience == Audience.owner or ((home.root / path).is_file() and home.may_read(path, audience)):
                yield f"• {source}"
