"""Check what grows in a home for as long as it is used: loose objects of git, records, and originals."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

from agent_home.git import packing
from agent_home.home import Home
from agent_home.screening.originals import expired, kept_days

from ..counts import counted

__all__ = ["originals_check", "packing_check", "records_check"]

#: As many times the objects that make a night pack mean that no night has packed for long.
_OVERDUE = 10
#: Size of the records from which on it is worth looking at them.
_LARGE_BYTES = 256 << 20
#: What the machine keeps besides the index, by the pattern of its files.
_RECORDS = {
    "audit": "audit*.jsonl",
    "events": "events*.jsonl",
    "closings": "closings.jsonl",
    "appended": "appended.jsonl",
    "quarantine": "quarantine/*",
    "set aside": "recovered/*",
    "copies of a damaged index": "index.db.corrupt-*",
}
_Result = tuple[Literal["ok", "warning"], str]


def packing_check(home: Home) -> _Result:
    """Return whether the repository was packed lately, and what to do if it was not.

    Raises:
        HistoryError: git is absent or refused.
    """
    state = packing.inspect(home)
    since = f"last packed on {state.last[:10]}" if state.last else "never packed"
    if state.off:
        return "ok", f"{state}. `{state.off}` leaves packing to you"
    if state.loose - state.left >= _OVERDUE * state.least:
        return "warning", f"{state}, {since}. `memory distill` packs them. Run it every night"
    return "ok", f"{state}, {since}"


def originals_check(home: Home, now: datetime) -> _Result:
    """Return whether an original of a message with personal data is older than the settings let it be."""
    over = expired(home, now)
    if not over:
        return "ok", "no original of a message is kept for too long"
    detail = f"{counted(len(over), 'original')} of messages with personal data, kept past their {kept_days(home)} days"
    return "warning", f"{detail}. `memory doctor --fix` drops them, as the next `memory close` does"


def records_check(home: Home) -> _Result:
    """Return the sizes of the machine's records, and what to do where they are large."""
    sizes = {name: sum(_sizes(home, pattern)) for name, pattern in _RECORDS.items()}
    listed = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items() if size) or "none"
    if sum(sizes.values()) < _LARGE_BYTES:
        return "ok", listed
    advice = "Move old audit-*.jsonl and index.db.corrupt-* away if nobody needs them"
    return "warning", f"{listed}, in {' and '.join(map(str, _folders(home)))}. {advice}"


def _sizes(home: Home, pattern: str) -> Iterator[int]:
    paths = (path for folder in _folders(home) for path in folder.glob(pattern))
    return (path.stat().st_size for path in paths if path.is_file())


def _folders(home: Home) -> list[Path]:
    return list(dict.fromkeys((home.machine, home.index.parent)))
