"""Test how messages write numbers of things."""

from __future__ import annotations

from interfaces.counts import counted


def test_one_thing_is_singular_and_every_other_number_is_plural() -> None:
    assert [counted(number, "text") for number in (0, 1, 2)] == ["0 texts", "1 text", "2 texts"]
    assert [counted(number, "entry", "entries") for number in (0, 1, 2)] == ["0 entries", "1 entry", "2 entries"]
