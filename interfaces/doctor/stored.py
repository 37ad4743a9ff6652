"""Check what is stored outside of git and Markdown: outputs of tools and checkpoints."""

from __future__ import annotations

from typing import Literal

from agent_home.checkpoints.checkpoint import damaged_checkpoints
from agent_home.home import Home
from agent_home.outputs.reading import check_outputs

from ..counts import counted

__all__ = ["outputs_check"]

#: Bytes of contents that are compared with their digests, the newest first.
_MOST_READ = 64 << 20
#: Most outputs that are named. The rest is counted.
_MOST_NAMED = 5


def outputs_check(home: Home) -> tuple[Literal["ok", "failed"], str]:
    """Return which outputs and checkpoints are damaged, and what to do.

    Raises:
        OSError: their folder cannot be read.
    """
    found = check_outputs(home, most_bytes=_MOST_READ)
    names = [error.name for error in found.damaged] + list(damaged_checkpoints(home))
    unread = f", {found.unread / 1e6:.0f} MB of them not read (memory fetch checks them)" if found.unread else ""
    if not names:
        return "ok", f"{counted(found.outputs, 'output')}{unread}"
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    named = ", ".join(names[:_MOST_NAMED]) + more
    return "failed", (
        f"damaged: {named}. Restore their files below outputs/ from a backup (memory restore-home), or delete the "
        f"records there{unread}"
    )
