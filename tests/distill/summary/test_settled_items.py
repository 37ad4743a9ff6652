"""A corrected value changes the entry that it is about, and makes none of its own."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import superseded_by
from agent_home.home import Home
from agent_home.store import transcript
from distill.close import close

if TYPE_CHECKING:
    from ..conftest import Talk

SAID = (("user", "I have a dentist appointment with Dr. Shah on the 12th."), ("assistant", "Noted."))
ASKED = (
    ("user", "What do I have this week?"),
    ("assistant", "The dentist appointment with Dr. Shah on the 12th."),
    ("user", "no, the 14th"),
)


def live(home: Home) -> list[str]:
    entries = list(parse(storage.read_text(home.root / "MEMORY.md")).entries())
    return [entry.text for entry in entries if entry.id not in superseded_by(entries) and "KS-" not in entry.id]


@pytest.mark.parametrize("later", [False, True])
def test_a_bare_value_corrects_the_entry_or_the_sentence_of_the_session(
    later: bool, home: Home, talk: Talk, now: datetime
) -> None:
    transcript.append(home, "fc-1", talk(*SAID), actor="test", now=now)
    if later:
        close(home, "fc-1", now=now)
    transcript.append(home, "fc-1", talk(*ASKED, first=5), actor="test", now=now)
    close(home, "fc-1", now=now)
    assert live(home) == ["User: I have a dentist appointment with Dr. Shah on the 14th."]
    log = storage.read_text(next((home.root / "DailyActivity").glob("*.md")))
    assert "on the 14th" in log
    assert "fc-1#m7" in log


def test_a_value_that_corrects_nothing_known_makes_no_entry(home: Home, talk: Talk, now: datetime) -> None:
    rows = (("user", "Thanks."), ("assistant", "It closes at 8:30."), ("user", "no, 9:30"))
    transcript.append(home, "fc-1", talk(*rows), actor="test", now=now)
    close(home, "fc-1", now=now)
    assert live(home) == []
