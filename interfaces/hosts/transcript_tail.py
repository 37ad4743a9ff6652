"""Look whether the end of a host's session file has a message. Imports nothing slow, because hooks ask.

The file is the host's. It may lag, and it may be anything: a pipe does not stop the reader.
"""

from __future__ import annotations

import json
import os
import stat

__all__ = ["tail_holds"]

#: Bytes of the file's end that are read: the last message and what a host writes behind it.
_MOST_BYTES = 2 << 20


def tail_holds(path: str, message: str) -> bool:
    """Return whether the end of the file *path* has *message* as a whole JSON string."""
    wanted = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):  # no such file, or no such name
        return False
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return False
        return wanted in os.pread(descriptor, _MOST_BYTES, max(0, status.st_size - _MOST_BYTES))
    except OSError:
        return False
    finally:
        os.close(descriptor)
