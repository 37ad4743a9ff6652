"""Conversations in which users change their mind are closed as the product closes them."""

from __future__ import annotations

from bench.memory.__main__ import DATA
from bench.memory.changed_minds import close_change, read_changes


def test_half_of_the_conversations_are_near_misses() -> None:
    changes = read_changes(DATA / "changes.jsonl")
    assert len(changes) == 80
    assert sum(change.ends for change in changes) == 40


def test_a_corrected_value_ends_its_entry() -> None:
    changes = {change.id: change for change in read_changes(DATA / "changes.jsonl")}
    assert close_change(changes["12-en-ends"]) == "ended"
