"""Tell whether a model fits into the address space that this process may still use.

A loader that runs out of memory does not give back what it took, and then the words are not found either.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["lacking"]

#: Bytes beside the model's file: the runtime's and the tokenizer's libraries, their heaps, and the search by words.
_RUNTIME_BYTES = 128 << 20
#: The file is read, and its weights are laid out once more.
_COPIES = 2


def lacking(model_bytes: int) -> str:
    """Return that a model with a file of *model_bytes* does not fit, and what to do. Else return an empty string."""
    needed, left = _RUNTIME_BYTES + _COPIES * model_bytes, _left()
    if left is None or left >= needed:
        return ""
    return (
        f"the model needs {_megabytes(needed)} of address space and {_megabytes(left)} are left."
        f" Raise the limit (`ulimit -v`)"
    )


def _left() -> int | None:
    """Return the bytes of address space up to the limit of this process, or ``None`` without a limit."""
    if not sys.platform.startswith("linux"):
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    except (OSError, ValueError):
        return None
    return max(0, limit - pages * os.sysconf("SC_PAGE_SIZE"))


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.0f} MB"
