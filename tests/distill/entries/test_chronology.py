"""The order of entries of one day is the order of the turns that said them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.home import MEMORY, Home
from agent_home.store import transcript
from distill.entries.chronology import Chronology
from distill.entries.consolidation import consolidate

if TYPE_CHECKING:
    from ..conftest import Talk

WRONG = "Uploads may hold 30 files"
RIGHT = "Uploads may hold 40 files, not 30"


def entry(entry_id: str, title: str, *sources: str) -> Entry:
    fields = {"Sources": ", ".join(sources)} if sources else {}
    return Entry(id=entry_id, date="2026-11-20", title=title, fields=fields)


@pytest.fixture
def spoken(home: Home, talk: Talk, now: datetime) -> Home:
    for session, first in (("morning", 1), ("noon", 5)):
        rows = talk(("user", "one"), ("user", "two"), ("user", "three"), session=session, first=first)
        transcript.append(home, session, rows, actor="test", now=now)
    return home


@pytest.mark.parametrize(
    ("older", "newer", "expected"),
    [
        ("morning#m1", "morning#m2", False),
        ("morning#m2", "morning#m1", True),
        ("morning#m3", "noon#m5", False),
        ("noon#m5", "morning#m3", True),
        ("noon#m5", "elsewhere#m1", False),
        ("noon#m5", "noon#gone", False),
        ("noon#m5", "", False),
    ],
)
def test_turns_decide_which_entry_is_newer(spoken: Home, older: str, newer: str, expected: bool) -> None:
    order = Chronology(spoken)
    assert order.is_reversed(entry("KD-0001", WRONG, older), entry("KD-0002", RIGHT, newer)) is expected


def test_the_latest_turn_of_an_entry_counts(spoken: Home) -> None:
    said_again = entry("KD-0001", WRONG, "morning#m1", "noon#m7")
    assert Chronology(spoken).is_reversed(said_again, entry("KD-0002", RIGHT, "noon#m6"))


@pytest.mark.parametrize("first", ["KD-0001", "KD-0002"])
def test_the_later_turn_supersedes_wherever_its_entry_stands(spoken: Home, first: str) -> None:
    entries = {"KD-0001": entry("KD-0001", WRONG, "morning#m1"), "KD-0002": entry("KD-0002", RIGHT, "morning#m3")}
    document = parse("# Memory\n\n## Key Decisions\n").with_entry("Key Decisions", entries.pop(first))
    document = document.with_entry("Key Decisions", *entries.values())
    done = consolidate({MEMORY: document}, archive="", is_reversed=Chronology(spoken).is_reversed)
    assert [(link.older, link.newer) for link in done.superseded] == [("KD-0001", "KD-0002")]
    again = consolidate(done.documents, archive="", is_reversed=Chronology(spoken).is_reversed)
    assert again.unchanged


def test_a_correction_does_not_supersede_what_was_said_after_it(spoken: Home) -> None:
    correction = entry("CO-0001", "No, uploads may hold 30 files, not 40", "morning#m1")
    newer = entry("CO-0002", RIGHT, "noon#m5")
    document = parse("# Memory\n\n## Corrections and root causes\n")
    for each in (newer, correction):
        document = document.with_entry("Corrections and root causes", each)
    order: Callable[[Entry, Entry], bool] = Chronology(spoken).is_reversed
    done = consolidate({MEMORY: document}, archive="", is_reversed=order)
    assert [(link.older, link.newer) for link in done.superseded] == [("CO-0001", "CO-0002")]
