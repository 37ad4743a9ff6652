"""The present time of a command, which ``--now`` can set so that a result can be repeated."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["moment_of", "now", "parse_time"]


def now() -> datetime:
    """Return the present time in the machine's own zone."""
    return datetime.now(UTC).astimezone()


def parse_time(text: str) -> datetime:
    """Parse an ISO 8601 time. A time without a zone is in the machine's own.

    Raises:
        ValueError: *text* is no ISO 8601 date or time.

    >>> parse_time("2026-11-21T09:00:00+08:00").isoformat()
    '2026-11-21T09:00:00+08:00'
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise ValueError(f"{text!r} is no ISO 8601 time. Write for example 2026-11-21T09:00:00") from error
    if not 1900 <= moment.year <= 9000:  # outside, arithmetic with days and zones overflows
        raise ValueError(f"{text!r} is out of range. Write a time from 1900 to 9000")
    return moment if moment.tzinfo else moment.astimezone()


def moment_of(text: str) -> datetime:
    """Return the moment that a stored time names. One without a zone is taken for UTC.

    Raises:
        ValueError: it is no time.
    """
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
