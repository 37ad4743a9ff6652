"""The time that a command takes for now, so that it can be told and a result can be repeated."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["now", "parse_time"]


def now() -> datetime:
    """The present, in the machine's own zone."""
    return datetime.now(UTC).astimezone()


def parse_time(text: str) -> datetime:
    """An ISO 8601 time; one without a zone is taken to be in the machine's.

    Raises:
        ValueError: *text* is no ISO 8601 date or time.

    >>> parse_time("2026-11-21T09:00:00+08:00").isoformat()
    '2026-11-21T09:00:00+08:00'
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise ValueError(f"{text!r} is no ISO 8601 time; write for example 2026-11-21T09:00:00") from error
    if not 1900 <= moment.year <= 9000:  # outside, arithmetic with days and zones overflows
        raise ValueError(f"{text!r} is out of range; write a time from 1900 to 9000")
    return moment if moment.tzinfo else moment.astimezone()
