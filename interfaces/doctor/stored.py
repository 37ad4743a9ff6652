"""Check what is stored outside of git and Markdown: outputs of tools, checkpoints, and hot state in Redis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agent_home.checkpoints.checkpoint import damaged_checkpoints
from agent_home.home import Home
from agent_home.outputs.own_place import linked_places
from agent_home.outputs.reading import check_outputs

from ..counts import counted

__all__ = ["outputs_check", "redis_check"]

#: Bytes of contents that are compared with their digests, the newest first.
_MOST_READ = 64 << 20
#: Most outputs that are named. The rest is counted.
_MOST_NAMED = 5


def outputs_check(home: Home) -> tuple[Literal["ok", "failed"], str]:
    """Return which outputs and checkpoints are damaged or lie behind links, and what to do.

    Raises:
        OSError: their folder cannot be read.
    """
    found = check_outputs(home, most_bytes=_MOST_READ)
    names = [error.name for error in found.damaged] + list(damaged_checkpoints(home))
    unread = f", {found.unread / 1e6:.0f} MB of them not read (memory fetch checks them)" if found.unread else ""
    links = list(linked_places(home))
    if not names and not links:
        return "ok", f"{counted(found.outputs, 'output')}{unread}"
    problems = [
        f"links: {_named(links)}. Nothing is read or written through them. Put the files themselves in their places"
    ] if links else []  # fmt: skip
    if names:
        problems.append(
            f"damaged: {_named(names)}. Restore their files below outputs/ from a backup (memory restore-home), or "
            f"delete the records there{unread}"
        )
    return "failed", ". ".join(problems)


def redis_check(home: Home) -> tuple[Literal["ok", "info", "warning"], str]:
    """Return whether the Redis server that is configured answers and takes writes, and since when it does not."""
    from recall.hot_state import redis_state

    found = redis_state(home)
    owed = ". What was forgotten is deleted there before its next use" if found.owed else ""
    if not found.address:
        if found.used:
            return "info", f"AGENT_HOME_REDIS_URL is not set, and this home has kept hot state in Redis{owed}"
        return "ok", "not used. Hot state is kept in a file of this machine"
    if found.problem:
        since = f". It is so since {found.since}" if found.since else ""
        return "warning", f"{found.problem}{since}. Meanwhile hot state is kept in a file of this machine{owed}"
    return "ok", f"{found.address} answers in {found.ms:.1f} ms"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
