"""Own the file in which a run finds its prompt: machine state of the home, gone with the run.

A run that was killed leaves its file, and the next run removes it.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agent_home import storage
from agent_home.home import Home

__all__ = ["prompt_file"]

#: Another machine's process cannot be looked up. Its run has read its prompt after this time.
_OLDEST_S = 86_400


@contextmanager
def prompt_file(home: Home, text: str) -> Iterator[Path]:
    """Keep *text* in a file of its own for the block, which only this user can read.

    Raises:
        OSError: the disk is full, or the home cannot be written.
    """
    folder = home.machine / "prompts"
    _remove_abandoned(folder)
    path = folder / f"{_host()}-{os.getpid()}-{secrets.token_hex(4)}.md"
    try:
        storage.stage(path, text.encode("utf-8", "replace"))
        yield path
    finally:
        with suppress(OSError):
            storage.remove(path)


def _host() -> str:
    return re.sub(r"[^\w.-]", "_", socket.gethostname())[:100]


def _remove_abandoned(folder: Path) -> None:
    with suppress(OSError):
        for path in folder.glob("*.md"):
            with suppress(OSError):
                if _is_abandoned(path):
                    storage.remove(path)


def _is_abandoned(path: Path) -> bool:
    """Return whether the process whose file *path* is has gone. This process had none before."""
    if time.time() - path.stat().st_mtime > _OLDEST_S:
        return True
    host, _, rest = path.stem.rpartition("-")[0].rpartition("-")
    if host != _host() or not rest.isdecimal():
        return False
    return int(rest) == os.getpid() or not _runs(int(rest))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
