"""Limit what a running process may use, and forbid it to start another one.

Linux sets limits of another process. Elsewhere only the time and the output of git are limited, by its client.
"""

from __future__ import annotations

import resource
from contextlib import suppress

__all__ = ["MAX_ADDRESS_BYTES", "limit"]

#: Address space of one git command. Packs are mapped in parts, and a file of this size is no source code.
MAX_ADDRESS_BYTES = 2 << 30
#: Git writes its error messages to a file, and nothing else.
_MAX_FILE_BYTES = 1 << 20


def limit(process_id: int, timeout_s: float) -> None:
    """Set the limits of the process *process_id*, which has just been started. One that has ended needs none.

    The limits count from now on: what the process has used before is not taken back. It may use
    ``MAX_ADDRESS_BYTES``, write next to nothing, compute for *timeout_s* seconds, and start no process and
    no thread. The system does not hold root to the last one.
    """
    set_limit = getattr(resource, "prlimit", None)
    if set_limit is None:
        return
    limits = {
        resource.RLIMIT_AS: MAX_ADDRESS_BYTES,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: max(1, round(timeout_s) + 1),
        resource.RLIMIT_FSIZE: _MAX_FILE_BYTES,
        resource.RLIMIT_NPROC: 0,
    }
    with suppress(ProcessLookupError):
        for kind, most in limits.items():
            set_limit(process_id, kind, (most, most))
