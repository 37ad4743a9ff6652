"""Daily ledger of the tokens that closings spend at the language model, which enforces the day's limit.

The ledger is machine state. Tokens are reserved under the home's lock before a request is sent, and corrected
afterwards. Two closings at once therefore never share a token, and a killed closing has spent its reservation.
"""

from __future__ import annotations

import json
from datetime import datetime

from agent_home import storage
from agent_home.home import Home
from agent_home.store.machine_state import hold_home

__all__ = ["adjust_tokens", "reserve_tokens", "tokens_spent_on"]

_FILE = "endpoint-tokens.json"
_DAYS_KEPT = 31


def tokens_spent_on(home: Home, moment: datetime) -> int:
    """Return the tokens spent or reserved on *moment*'s day."""
    return _read(home).get(f"{moment:%Y-%m-%d}", 0)


def reserve_tokens(home: Home, moment: datetime, tokens: int, *, limit: int) -> bool:
    """Count *tokens* as spent if the day's sum stays within *limit*. Return whether it does.

    Raises:
        Locked, OSError: the ledger cannot be written. Nothing was reserved.
    """
    with hold_home(home):
        if tokens_spent_on(home, moment) + tokens > limit:
            return False
        _add(home, moment, tokens)
    return True


def adjust_tokens(home: Home, moment: datetime, tokens: int) -> None:
    """Add *tokens*, which may be negative, to the day's sum.

    Raises:
        Locked, OSError: see :func:`reserve_tokens`.
    """
    with hold_home(home):
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
    """Return the sums by day, empty where the ledger cannot be read."""
    try:
        rows = json.loads(storage.read_state(home.machine / _FILE))
        return {str(day): int(tokens) for day, tokens in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
