"""A person decides about entries whose messages were deleted after they became memory."""

from __future__ import annotations

from datetime import datetime

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.home import Home
from agent_home.store.gateway import transaction
from distill.review.queue import accept, find, reject, waiting
from distill.review.withdrawn_turns import ask_about_withdrawn

TOLD = Entry(id="KD-0001", date="2026-11-01", title="The beds are of cedar", fields={"Sources": "s#m-a, s#m-b"})
OTHER = Entry(id="KD-0002", date="2026-11-01", title="The fence is white", fields={"Sources": "s#m-c"})


def write(home: Home, now: datetime) -> None:
    with transaction(home, actor="close", message="m", now=now) as edits:
        memory = edits.read("MEMORY.md")
        edits.write("MEMORY.md", memory.with_entries([("Key Decisions", TOLD), ("Key Decisions", OTHER)]))


def state(home: Home, entry_id: str) -> str:
    found = parse(storage.read_text(home.root / "MEMORY.md")).entry(entry_id)
    return found.fields.get("State", "") if found else "gone"


def test_the_entry_that_cites_a_deleted_message_waits_and_ends_when_it_is_accepted(home: Home, now: datetime) -> None:
    write(home, now)
    assert ask_about_withdrawn(home, "s", ["m-b"], now=now) == ("KD-0001",)
    assert state(home, "KD-0001") == ""
    [item] = waiting(home, now)
    assert "deleted" in str(item)
    accept(home, find(home, item.id, now), person="Sam", now=now)
    assert state(home, "KD-0001").startswith("retracted")
    assert state(home, "KD-0002") == ""


def test_a_question_that_was_rejected_is_not_asked_again(home: Home, now: datetime) -> None:
    write(home, now)
    ask_about_withdrawn(home, "s", ["m-a"], now=now)
    [item] = waiting(home, now)
    reject(home, find(home, item.id, now), person="Sam", now=now)
    ask_about_withdrawn(home, "s", ["m-a"], now=now)
    assert waiting(home, now) == []


def test_a_message_that_no_entry_cites_asks_nothing(home: Home, now: datetime) -> None:
    write(home, now)
    assert ask_about_withdrawn(home, "s", ["m-x"], now=now) == ()
    assert ask_about_withdrawn(home, "other", ["m-a"], now=now) == ()
    assert waiting(home, now) == []
