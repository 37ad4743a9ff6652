"""Times are told with a zone, or refused."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.clock import now, parse_time


def test_the_present_has_a_zone() -> None:
    assert now().tzinfo is not None


@given(st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.timezones()))
def test_a_time_with_a_zone_comes_back(moment: datetime) -> None:
    assert parse_time(f" {moment.isoformat()} ").isoformat() == moment.isoformat()


@pytest.mark.parametrize("text", ["2026-11-21", "2026-11-21T09:00:00", "2026-11-21T09:00:00Z"])
def test_a_time_always_gets_a_zone(text: str) -> None:
    assert parse_time(text).tzinfo is not None


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "21.11.2026", "1763715600"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="write for example"):
        parse_time(text)
