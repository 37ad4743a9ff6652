"""Ends of entries that a closing is not sure of are asked once, and a person decides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import pytest

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from agent_home.store.lineage import lineage
from agent_home.store.transcript import Message
from distill.close import close
from distill.closing_result import Closed
from distill.errors import NotPlaceable
from distill.review.entry_endings import MAX_ASKED, moot_ids
from distill.review.queue import accept, edit, find, reject, waiting
from distill.statements.operation import Operation
from distill.summary.extraction import Summary

MODULE = sys.modules["distill.close"]
THREAD = Entry(id="OT-0001", date="2026-11-01", title="Order the soil", fields={"Origin": "user"})
CHOICE = Entry(id="KD-0001", date="2026-11-01", title="The beds are of cedar", fields={"Origin": "user"})
Hear = Callable[..., Closed]


@pytest.fixture
def hear(home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch) -> Hear:
    """Return a function that closes a session of one sentence which perhaps ends entries."""
    with transaction(home, actor="close", message="m", now=now) as edits:
        memory = edits.read("MEMORY.md")
        edits.write("MEMORY.md", memory.with_entries([("Open Threads", THREAD), ("Key Decisions", CHOICE)]))

    def heard(session: str, *ends: tuple[str, str], text: str = "", said: str = "Thanks, the soil came.") -> Closed:
        def unsure(summary: Summary, messages: Sequence[Message], *_: object, **__: object) -> Summary:
            source = messages[0].source
            found = (
                Operation(kind=kind, target=name, sources=(source,), text=text or said, unsure=True)  # type: ignore[arg-type]
                for kind, name in ends
            )
            return replace(summary, operations=tuple(found))

        monkeypatch.setattr(MODULE, "with_endings", unsure)
        message = Message(session=session, id="m1", ts="2026-11-20T10:00:00", role="user", content=said)
        transcript.append(home, session, [message], actor="import", now=now)
        return close(home, session, now=now)

    return heard


def entry(home: Home, entry_id: str) -> Entry:
    found = parse(storage.read_text(home.root / "MEMORY.md")).entry(entry_id)
    assert found is not None
    return found


def test_an_accepted_end_is_written_and_asked_once(home: Home, now: datetime, hear: Hear) -> None:
    closed = hear("s-1", ("resolve", "OT-0001"))
    assert [(changed.id, changed.unsure, changed.asked) for changed in closed.changed] == [("OT-0001", True, True)]
    hear("s-2", ("resolve", "OT-0001"))
    (item,) = waiting(home, now)
    assert (item.id, item.ends, item.risk) == ("OT-0001", "resolve", "medium")
    assert item.reason == "OT-0001 is perhaps resolved: Thanks, the soil came."
    assert lineage(home, "OT-0001").question == item.reason
    assert "State" not in entry(home, "OT-0001").fields
    accept(home, item, person="Mara", now=now)
    assert entry(home, "OT-0001").fields["State"] == "resolved 2026-11-20, s-1#m1: Thanks, the soil came."
    assert waiting(home, now) == []


def test_a_question_is_listed_at_the_section_of_the_entry_that_would_end(home: Home, now: datetime, hear: Hear) -> None:
    hear("s-1", ("supersede", "OT-0001"), text="we buy bark now.", said="Decision: we buy bark now.")
    (item,) = waiting(home, now)
    assert "KD-" in item.text
    assert (item.id, item.section) == ("OT-0001", "Open Threads")


def test_a_rejected_end_is_never_asked_again(home: Home, now: datetime, hear: Hear) -> None:
    hear("s-1", ("resolve", "OT-0001"))
    reject(home, find(home, "ot-0001", now), person="Mara", now=now)
    assert hear("s-2", ("resolve", "OT-0001"), said="The soil is there, I think.").changed == ()
    assert waiting(home, now) == []
    assert "State" not in entry(home, "OT-0001").fields


def test_a_decision_is_superseded_by_a_statement_that_a_person_accepts(home: Home, now: datetime, hear: Hear) -> None:
    hear("s-1", ("supersede", "KD-0001"), text="The beds are of larch")
    (item,) = waiting(home, now)
    assert "The beds are of larch" in item.text
    with pytest.raises(NotPlaceable, match="Accept or reject"):
        edit(home, item, "The beds are of oak", person="Mara", now=now)
    accept(home, item, person="Mara", now=now)
    newer = entry(home, entry(home, "KD-0001").fields["Superseded-By"])
    assert (newer.title, newer.fields["Supersedes"]) == ("The beds are of larch", "KD-0001")


def test_a_decision_that_seems_over_is_replaced_by_the_decision_of_that_turn(
    home: Home, now: datetime, hear: Hear
) -> None:
    closed = hear("s-1", ("resolve", "KD-0001"), text="the beds are of larch.", said="Decision: the beds are of larch.")
    (new,) = closed.entries
    accept(home, find(home, "KD-0001", now), person="Mara", now=now)
    assert entry(home, "KD-0001").fields["Superseded-By"] == new.id
    assert entry(home, new.id).fields["Supersedes"] == "KD-0001"


def test_a_question_about_an_entry_that_ended_otherwise_is_dropped(home: Home, now: datetime, hear: Hear) -> None:
    hear("s-1", ("resolve", "OT-0001"))
    with transaction(home, actor="test", message="m", now=now) as edits:
        done = THREAD.changed(fields={"State": "resolved 2026-11-19"})
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry_changed(done))
    assert moot_ids(home) == {"OT-0001"}
    assert waiting(home, now) == []
    assert moot_ids(home) == set()


def test_one_closing_asks_a_few_questions_only(home: Home, now: datetime, hear: Hear) -> None:
    names = [f"OT-100{number}" for number in range(MAX_ASKED + 2)]
    with transaction(home, actor="test", message="m", now=now) as edits:
        threads = [("Open Threads", Entry(id=name, date="2026-11-01", title=f"Thread {name}")) for name in names]
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entries(threads))
    closed = hear("s-1", *(("resolve", name) for name in names))
    assert sum(changed.asked for changed in closed.changed) == len(waiting(home, now)) == MAX_ASKED
    assert sum(changed.unsure for changed in closed.changed) == len(names)


def test_an_operation_without_an_entry_or_a_statement_asks_nothing(home: Home, now: datetime, hear: Hear) -> None:
    hear("s-1", ("retract", "OT-9999"), ("supersede", "KD-0001"), text=" ")
    assert waiting(home, now) == []


def add_entry(home: Home, now: datetime, title: str, *, section: str = "Open Threads", name: str = "OT-0009") -> None:
    with transaction(home, actor="close", message="m", now=now) as edits:
        added = Entry(id=name, date="2026-11-01", title=title, fields={"Sources": "s-0#m1", "Origin": "user"})
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entries([(section, added)]))


def test_an_accepted_end_of_one_task_leaves_the_other_one_open(home: Home, now: datetime, hear: Hear) -> None:
    add_entry(home, now, "send the invoice and renew the domain before 30 November")
    hear("s-1", ("resolve", "OT-0009"), said="I sent the invoice.")
    (item,) = waiting(home, now)
    assert item.reason == 'OT-0009 is perhaps revised without "send the invoice": I sent the invoice.'
    accept(home, item, person="Mara", now=now)
    left = entry(home, "OT-0009")
    assert (left.title, left.retired) == ("renew the domain before 30 November.", False)
    assert left.detail == "Instead of: send the invoice (resolved 2026-11-20, s-1#m1: I sent the invoice.)"
    assert left.fields["Sources"] == "s-0#m1, s-1#m1"


def test_a_question_names_all_words_that_go(home: Home, now: datetime, hear: Hear) -> None:
    add_entry(home, now, "renew the domain and the certificate")
    hear("s-1", ("resolve", "OT-0009"), said="I renewed the domain.")
    (item,) = waiting(home, now)
    assert 'resolved with all of "renew the domain and the certificate"' in item.reason


def test_an_accepted_replacement_in_memory_keeps_the_rest(home: Home, now: datetime, hear: Hear) -> None:
    add_entry(
        home, now, "User: sign my mails with Best and write dates as day month year",
        section="Standing Preferences", name="SP-0009",
    )  # fmt: skip
    add_entry(home, now, "User: Sign my mails with Cheers.", section="Standing Preferences", name="SP-0010")
    hear("s-1", ("supersede", "SP-0009"), text="User: Sign my mails with Cheers.")
    (item,) = waiting(home, now)
    accept(home, item, person="Mara", now=now)
    kept = entry(home, "SP-0010")
    assert kept.detail.splitlines() == [
        "User: write dates as day month year.",
        "Instead of: sign my mails with Best",
    ]
    assert entry(home, "SP-0009").fields["Superseded-By"] == "SP-0010"


def test_a_closing_tells_the_question_that_waits(home: Home, hear: Hear, now: datetime) -> None:
    hear("one", ("resolve", "OT-0001"), said="The soil is here, I think.")
    closed = hear("two", ("supersede", "OT-0001"), text="Order the bark", said="Maybe bark instead.")
    (item,) = waiting(home, now)
    (changed,) = closed.changed
    assert (changed.kind, changed.asked) == (item.ends, True) == ("resolve", True)
    assert item.reason.endswith(f": {changed.text}")
    assert changed.text == "The soil is here, I think."
