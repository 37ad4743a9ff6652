"""Own the hot state: the working context of sessions, and what their tools returned a moment ago.

Use :func:`hot_state`. ``docs/hot-state.md`` says where values are kept and what holds without the server.
"""

from __future__ import annotations

from .state import (
    CONTEXT_S,
    TOOL_S,
    HotItem,
    HotState,
    drop_hot_state,
    hot_state,
    redis_state,
    settle_hot_state,
    use_hot_state_key,
)
from .store import HotStateRefused

__all__ = [
    "CONTEXT_S",
    "TOOL_S",
    "HotItem",
    "HotState",
    "HotStateRefused",
    "drop_hot_state",
    "hot_state",
    "redis_state",
    "settle_hot_state",
    "use_hot_state_key",
]
