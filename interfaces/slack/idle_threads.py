"""Own how threads become memory: when nobody has written for a while, a thread is compared with Slack and closed.

The closing is promised first, so that it happens after a restart too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from agent_home.errors import HomeError
from agent_home.home import Home
from distill.errors import DistillError, EmptySession, NoSuchSession

from ..kept_promises import keep_promise
from ..promised_closings import PromisedClosing, left_closings, promise
from .channel_audience import CALL_ERRORS, said_of
from .conversation import Conversations
from .door import LOGGER, SlackDoor
from .record import SlackRecord, SlackThread

__all__ = ["IdleThreads"]

#: Who promises these closings.
_CALLER = "slack"
#: Seconds between two looks at the threads.
_LOOK_S = 30.0
#: Seconds after which a thread is closed although Slack does not say how it stands now.
_PATIENCE_S = 86_400.0
#: What Slack says of a channel that the bot cannot read any more. Its threads stay as they are known.
_LEFT = frozenset({
    "channel_not_found", "not_in_channel", "account_inactive", "invalid_auth", "missing_scope", "token_revoked",
})  # fmt: skip


class IdleThreads:
    """Closes the threads of one home after *idle_s* seconds without a message."""

    def __init__(
        self,
        home: Home,
        record: SlackRecord,
        conversations: Conversations,
        door: SlackDoor,
        *,
        idle_s: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._home = home
        self._record = record
        self._conversations = conversations
        self._door = door
        self._idle_s = idle_s
        self._clock = clock

    def run(self, stop: threading.Event) -> None:
        """Close threads that are idle, until *stop* is set."""
        while not stop.is_set():
            try:
                self.close_due()
            except Exception:  # noqa: BLE001 - the border of the thread, which must go on
                LOGGER.exception("closing idle threads failed")
            stop.wait(min(_LOOK_S, max(1.0, self._idle_s / 4)))

    def close_due(self) -> list[str]:
        """Close every thread that is idle, and keep what was promised before. Return the sessions that were closed."""
        left = {promised.session: promised for promised in left_closings(self._home) if promised.caller == _CALLER}
        closed = [session for session, promised in left.items() if self._keep(promised)]
        for thread in self._record.threads():
            due = thread.unclosed and self._clock() - thread.active >= self._idle_s
            if due and thread.session not in left and self._close(thread):
                closed.append(thread.session)
        return closed

    def _close(self, thread: SlackThread) -> bool:
        with self._door.turn_of(thread.session):
            if not self._caught_up(thread):
                return False
            try:
                promised = promise(self._home, thread.session, caller=_CALLER, audience=thread.audience)
            except OSError as error:
                LOGGER.warning("a closing could not be promised (%s)", error.strerror)
                return False
        return self._keep(promised)  # while it is closed, what is said in the thread is kept

    def _caught_up(self, thread: SlackThread) -> bool:
        """Compare the thread with Slack. Return whether it may be closed now."""
        try:
            closed = self._conversations.closed_ids(thread)
            done = self._conversations.catch_up(thread)
            self._door.ask_about(thread, closed.intersection(done.deleted))
            self._door.ask_about(thread, closed.intersection(done.edited), how="edited")
        except HomeError as error:
            LOGGER.warning("a thread was not compared with Slack (%s)", type(error).__name__)
            return self._clock() - thread.active >= self._idle_s + _PATIENCE_S
        except CALL_ERRORS as error:
            return said_of(error) in _LEFT or self._clock() - thread.active >= self._idle_s + _PATIENCE_S
        return True

    def _keep(self, promised: PromisedClosing) -> bool:
        before = self._record.thread(promised.session)
        try:
            keep_promise(self._home, promised)
        except (EmptySession, NoSuchSession):
            pass
        except (HomeError, DistillError, OSError) as error:
            LOGGER.warning("a thread was not closed (%s). It is tried again", type(error).__name__)
            return False
        known = self._record.thread(promised.session)
        if known is not None and before is not None and known.active == before.active:
            self._record.change(promised.session, unclosed=False)
        return True
