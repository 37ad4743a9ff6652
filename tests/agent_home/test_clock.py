"""Tests of parsing times: they get a zone, or are refused."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.clock import now, parse_time


def test_the_present_has_a_zone() -> None:
    assert now().tzinfo is not None


@given(st.integers(0, 4_000_000_000), st.timezones())
def test_a_time_with_a_zone_is_unchanged(seconds: int, zone: tzinfo) -> None:
    moment = datetime.fromtimestamp(seconds, UTC).astimezone(zone)
    assert parse_time(f" {moment.isoformat()} ").isoformat() == moment.isoformat()


@pytest.mark.parametrize("text", ["2026-11-21", "2026-11-21T09:00:00", "2026-11-21T09:00:00Z"])
def test_a_time_always_gets_a_zone(text: str) -> None:
    assert parse_time(text).tzinfo is not None


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "21.11.2026", "1763715600"])
def test_an_invalid_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="Write for example"):
        parse_time(text)
