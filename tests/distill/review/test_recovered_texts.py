"""A person decides about texts that recovery set aside: to merge what is missing, or to drop them."""

from __future__ import annotations

from datetime import datetime

import pytest

from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.home import MEMORY, Home
from agent_home.store import set_aside
from agent_home.store.gateway import transaction
from distill.errors import NotPlaceable
from distill.review import recovered_texts
from distill.review.queue import ReviewItem, accept, plan, reject, waiting

AT = datetime.fromisoformat("2026-11-20T09:00:00+00:00").timestamp()
CEDAR = Entry(id="KD-0001", date="2026-11-01", title="The beds are of cedar")
OAK = Entry(id="KD-0002", date="2026-11-01", title="The gate is of oak")


class Killed(BaseException):
    """The end of a killed process."""


def killed(*_: object) -> None:
    raise Killed


@pytest.fixture
def kept(home: Home, now: datetime) -> ReviewItem:
    """What recovery set aside: MEMORY.md with one known entry and one that memory lacks."""
    with transaction(home, actor="test", message="m", now=now) as edits:
        memory = edits.read(MEMORY).with_entry("Key Decisions", CEDAR)
        edits.write(MEMORY, memory)
    set_aside.keep(home, MEMORY, memory.with_entry("Key Decisions", OAK).render(), at=AT, number=0)
    (item,) = waiting(home, now)
    return item


def titles(home: Home) -> set[str]:
    return {entry.title for entry in parse((home.root / MEMORY).read_text()).entries()}


def test_what_was_set_aside_is_named_with_its_date_and_difference(kept: ReviewItem) -> None:
    assert (kept.kind, kept.path) == ("recovered", MEMORY)
    assert "set aside on 2026-11-20" in kept.reason
    assert "entries that are missing or say something else: KD-0002" in kept.reason


def test_accepting_brings_the_missing_entries_in(home: Home, now: datetime, kept: ReviewItem) -> None:
    assert OAK.title not in titles(home)
    assert sum(line.startswith("+- **[KD-0002]") for line in plan(home, kept).diff) == 1
    assert accept(home, kept, person="Ada", now=now).commit
    assert titles(home) == {CEDAR.title, OAK.title}
    assert waiting(home, now) == []
    assert set_aside.waiting(home) == []


def test_rejecting_removes_the_text_and_nothing_else(home: Home, now: datetime, kept: ReviewItem) -> None:
    reject(home, kept, person="Ada", now=now)
    assert titles(home) == {CEDAR.title}
    assert (waiting(home, now), set_aside.waiting(home)) == ([], [])


def test_an_entry_with_other_words_keeps_both(home: Home, now: datetime, kept: ReviewItem) -> None:
    reject(home, kept, person="Ada", now=now)
    other = CEDAR.changed(title="The beds are of larch")
    set_aside.keep(home, MEMORY, f"## Key Decisions\n\n{other.render()}", at=AT, number=1)
    (item,) = waiting(home, now)
    accept(home, item, person="Ada", now=now)
    assert titles(home) == {CEDAR.title, other.title}


def test_an_archived_entry_does_not_come_back(home: Home, now: datetime, kept: ReviewItem) -> None:
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("Archive/2026-11.md", f"## Archived\n\n{OAK.render()}")
    (item,) = waiting(home, now)
    assert "no entry of it is missing" in item.reason
    accept(home, item, person="Ada", now=now)
    assert titles(home) == {CEDAR.title}


def test_sections_and_ledger_lines_that_are_missing_come_in(home: Home, now: datetime) -> None:
    day, ledger = "DailyActivity/2026-11-20.md", "ledger/references.jsonl"
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write(day, "## 10:00 One (c-1a)\n\n- one\n")
        edits.write(ledger, '{"a": 1}\n')
    set_aside.keep(home, day, "## 10:00 One (c-1a)\n\n- one\n\n## 11:00 Two (c-2b)\n\n- two\n", at=AT, number=0)
    set_aside.keep(home, ledger, '{"a": 1}\n{"b": 2}\n', at=AT, number=1)
    for item in waiting(home, now):
        assert "lines that are missing" in item.reason
        accept(home, item, person="Ada", now=now)
    text = (home.root / day).read_text()
    assert (text.count("- one"), text.count("- two")) == (1, 1)
    assert (home.root / ledger).read_text() == '{"a": 1}\n{"b": 2}\n'


def test_other_files_are_left_to_a_person(home: Home, now: datetime) -> None:
    set_aside.keep(home, "USER.md", "Ada\n", at=AT, number=0)
    (home.machine / "recovered" / "notes").write_bytes(b"\xff")
    for item in waiting(home, now):
        with pytest.raises(NotPlaceable):
            accept(home, item, person="Ada", now=now)
        reject(home, item, person="Ada", now=now)
    assert waiting(home, now) == []


def test_a_decision_killed_before_the_text_goes_is_finished(
    home: Home, now: datetime, kept: ReviewItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(recovered_texts, "_discard", killed)
        with pytest.raises(Killed):
            accept(home, kept, person="Ada", now=now)
    assert len(set_aside.waiting(home)) == 1
    assert waiting(home, now) == []
    assert set_aside.waiting(home) == []
