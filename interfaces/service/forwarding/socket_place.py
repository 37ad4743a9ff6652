"""Own where the socket of a home's service lies: in its machine state, which only its owner may enter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_home.git_folder import state_folder

__all__ = ["NAME", "short_path", "socket_path"]

NAME = "service.sock"
#: Bytes of a socket's path that every system takes, the final zero included.
_LONGEST = 100


def socket_path(root: Path) -> Path:
    """Return the path of the socket of the home *root*."""
    return state_folder(root) / NAME


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """Yield a name of *path* that is short enough for a socket, through an open descriptor of its folder if need be.

    Raises:
        OSError: the folder cannot be opened, or the system has no such names.
    """
    if len(os.fsencode(path)) < _LONGEST:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
