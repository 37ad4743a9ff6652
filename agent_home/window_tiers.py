"""Own the tiers: how many tokens of a model's window memory may take, and how many of them MEMORY.md may.

The assembler fits a prompt into a tier's budget, and archiving keeps MEMORY.md within it.
"""

from __future__ import annotations

from typing import Any

from .settings import Manifest

__all__ = ["TIERS", "WINDOW", "memory_limit"]

#: Tokens of the model's window, unless ``[assembler]`` or a command names another number.
WINDOW = 200_000
#: Pairs of a window and the memory budget from that window on.
TIERS: tuple[tuple[int, ...], ...] = ((500_000, 100_000), (200_000, 50_000), (64_000, 30_000))
#: Tokens of a budget that the other context files need at least.
_OTHER_FILES = 4_000
#: Limits of MEMORY.md in every tier. A small window gets an index of MEMORY.md, so the file need not shrink with it.
_LEAST, _MOST = 24_000, 80_000


def memory_limit(manifest: Manifest) -> int:
    """Return the largest number of tokens of MEMORY.md for the window in ``[assembler]``.

    Values that are no numbers count as absent here, and the assembler reports them.
    """
    table = manifest.tables.get("assembler", {})
    window = _number(table.get("window"), WINDOW)
    tiers = [tier for tier in _tiers(table.get("tiers")) if window >= tier[0]]
    budget = max(tiers)[1] if tiers else 0
    return max(_LEAST, min(_MOST, budget - _OTHER_FILES))


def _tiers(value: Any) -> tuple[tuple[int, ...], ...]:
    if not isinstance(value, list):
        return TIERS
    rows = [row for row in value if isinstance(row, list) and len(row) == 2]
    return tuple((_number(window, 0), _number(tokens, 0)) for window, tokens in rows)


def _number(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default
