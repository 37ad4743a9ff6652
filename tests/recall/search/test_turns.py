"""Hits as the turns they were, with those beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_home.home import Home
from recall.index.sync import SyncReport
from recall.search.turns import turns_around

Say = Callable[..., Path]
Update = Callable[[], SyncReport]


def test_a_turn_comes_with_one_on_each_side_in_order(home: Home, say: Say, update: Update) -> None:
    say("a", "one", "two", "three", "four", "five")
    say("b", "six")
    update()
    turns = turns_around(home, ["a#m3", "b#m1", "MEMORY.md#KD-7F3A", "gone#m1"]).turns
    assert list(turns) == ["a#m2", "a#m3", "a#m4", "b#m1"]
    turn = turns["a#m3"]
    assert (turn.text, turn.session, turn.name, turn.role, turn.ts) == (
        "three",
        "a",
        "Ada",
        "user",
        "2026-11-20T10:03:00",
    )
    assert (turns["a#m2"].last + 1, turn.last + 1) == (turn.first, turns["a#m4"].first)


def test_a_long_turn_is_whole_and_its_neighbours_are_turns_not_parts(home: Home, say: Say, update: Update) -> None:
    long = "\n\n".join(f"Paragraph {number} speaks of subject{number} at some length. " * 8 for number in range(6))
    say("a", "before", long, "after")
    update()
    turns = turns_around(home, ["a#m2"]).turns
    assert list(turns) == ["a#m1", "a#m2", "a#m3"]
    assert turns["a#m2"].last > turns["a#m2"].first
    assert turns["a#m2"].text.split() == long.split()


def test_a_turn_that_no_prompt_could_hold_has_no_text(home: Home, say: Say, update: Update) -> None:
    say("a", "before", "word " * 20_000, "after")
    update()
    assert [turn.text for turn in turns_around(home, ["a#m2"]).turns.values()] == ["before", "", "after"]


@pytest.mark.parametrize("audience", ["trusted", "group", "job", "stranger"])
def test_an_audience_without_sessions_gets_no_turns(home: Home, say: Say, update: Update, audience: str) -> None:
    say("a", "one", "two")
    update()
    assert turns_around(home, ["a#m1"], audience=audience).turns == {}


def test_an_index_that_cannot_be_read_is_named(home: Home, say: Say, update: Update) -> None:
    assert turns_around(home, ["a#m1"]).turns == {}
    say("a", "one")
    update()
    home.index.write_bytes(b"no database " * 1000)
    around = turns_around(home, ["a#m1"])
    assert around.turns == {}
    assert "neighbouring turns are missing" in around.problem
