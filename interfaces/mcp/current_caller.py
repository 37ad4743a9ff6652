"""Know who asks: the caller of the request that is being answered, for tools, resources and prompts alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from agent_home.audience import Audience
from agent_home.home import MEMORY

from ..service.http.callers import Caller

__all__ = ["Refused", "calling", "current_caller", "is_owner", "reads_memory"]

_CALLER: ContextVar[Caller] = ContextVar("caller")


class Refused(Exception):
    """A request cannot be answered as it was made. The message is about the request, so any audience may see it."""


def current_caller() -> Caller:
    """Return the caller of the request that is being answered.

    Raises:
        LookupError: no request is being answered.
    """
    return _CALLER.get()


@contextmanager
def calling(caller: Caller) -> Iterator[None]:
    """Answer what runs in the block for *caller*."""
    before = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(before)


def is_owner(caller: Caller) -> bool:
    """Return whether the answers are for the person that the agent works for."""
    return caller.audience == Audience.owner


def reads_memory(caller: Caller) -> bool:
    """Return whether the caller may know what MEMORY.md says."""
    return caller.home.may_read(MEMORY, caller.audience)
