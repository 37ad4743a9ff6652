"""How many tokens closings spent at the language model, day by day, so that a day's limit holds.

A file in ``.memory``. Tokens are set aside before a question is sent, under the home's lock, and corrected afterwards:
of two closings at once none spends what the other was given, and one that is killed has spent what it set aside.
"""

from __future__ import annotations

import json
from datetime import datetime

from agent_home import storage
from agent_home.home import Home
from agent_home.lock import hold

__all__ = ["adjust_tokens", "reserve_tokens", "tokens_spent_on"]

_FILE = "endpoint-tokens.json"
_DAYS_KEPT = 31


def tokens_spent_on(home: Home, moment: datetime) -> int:
    """The tokens spent or set aside on *moment*'s day."""
    return _read(home).get(f"{moment:%Y-%m-%d}", 0)


def reserve_tokens(home: Home, moment: datetime, tokens: int, *, limit: int) -> bool:
    """Count *tokens* as spent if the day's sum stays within *limit*; say whether it does.

    Raises:
        Locked, OSError: the file cannot be written; nothing was set aside.
    """
    with hold(home.lock):
        if tokens_spent_on(home, moment) + tokens > limit:
            return False
        _add(home, moment, tokens)
    return True


def adjust_tokens(home: Home, moment: datetime, tokens: int) -> None:
    """Add *tokens*, which may be negative, to the day's sum.

    Raises:
        Locked, OSError: see :func:`reserve_tokens`.
    """
    with hold(home.lock):
        _add(home, moment, tokens)


def _add(home: Home, moment: datetime, tokens: int) -> None:
    days = _read(home)
    day = f"{moment:%Y-%m-%d}"
    days[day] = max(0, days.get(day, 0) + tokens)
    kept = dict(sorted(days.items())[-_DAYS_KEPT:])
    staged = home.machine / f"{_FILE}.new"
    storage.stage(staged, json.dumps(kept).encode())
    storage.replace(staged, home.machine / _FILE)


def _read(home: Home) -> dict[str, int]:
    """The sums by day; none where the file cannot be read."""
    try:
        rows = json.loads(storage.read_text(home.machine / _FILE) or "{}")
        return {str(day): int(tokens) for day, tokens in rows.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
