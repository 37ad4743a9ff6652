"""Own how a promised closing is done: again while the home is locked, and once for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_home.errors import Locked
from agent_home.home import MEMORY, Home
from agent_home.lease.operation import operation
from distill.errors import EmptySession, NoSuchSession

from .answers import closed_answer
from .api import AgentHome
from .promised_closings import PromisedClosing, forget_promise

if TYPE_CHECKING:
    from distill.closing_result import Closed

__all__ = ["keep_promise"]

#: Times that a closing waits for the lock of the home.
_TRIES = 4


def keep_promise(home: Home, promised: PromisedClosing) -> dict[str, Any]:
    """Close the session, and return the answer for the one who asked.

    The promise is kept then, or there is no such session any more. After any other error, such as a full disk, a locked
    home or a branch that is checked out for a moment, it stays for the next try.

    Raises:
        HomeError, DistillError: see :meth:`interfaces.api.AgentHome.close`.
    """
    with operation(home):  # a fleet's home publishes the closing together with the end of the promise
        try:
            done = _closed(home, promised.session)
        except (NoSuchSession, EmptySession):
            forget_promise(home, promised)
            raise
        forget_promise(home, promised)
    return closed_answer(done) if home.may_read(MEMORY, promised.audience) else {"session": promised.session}


def _closed(home: Home, session: str) -> Closed:
    """Close *session*. Each try waits for the lock, which other closings of a busy service may hold for long."""
    for _ in range(_TRIES - 1):
        try:
            return AgentHome(home).close(session)
        except Locked:
            continue
    return AgentHome(home).close(session)
