"""A person may do something a few times, and again later."""

from __future__ import annotations

from interfaces.slack import allowance
from interfaces.slack.allowance import Allowance


def test_a_person_has_their_own_allowance_and_gets_it_again() -> None:
    now = [0.0]
    calls = Allowance(2, 10.0, clock=lambda: now[0])
    assert [calls.take("U1") for _ in range(3)] == [True, True, False]
    assert calls.take("U2")
    now[0] = 10.0
    assert [calls.take("U1") for _ in range(3)] == [True, True, False]


def test_many_people_take_no_room_for_ever() -> None:
    calls = Allowance(1, 10.0)
    for number in range(allowance._MOST_PEOPLE + 10):
        calls.take(f"U{number}")
    assert len(calls._done) == allowance._MOST_PEOPLE
