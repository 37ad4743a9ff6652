"""Sentences of a session end live threads, take claims back, and settle items of the session."""

from __future__ import annotations

import pytest

from agent_home.documents.entry import Entry
from agent_home.store.transcript import Message
from distill.entries.resolution import find_endings, sayings, settle_items, with_endings
from distill.evidence.status import Evidence
from distill.summary.extraction import Item, Summary

DECK = Entry(id="OT-0001", date="2026-11-01", title="Send the Q3 deck to Ana", fields={"Origin": "user"})
HEATER = Entry(id="OT-0002", date="2026-11-01", title="Chase the landlord about the broken heater")
CAT = Entry(id="RC-0001", date="2026-11-01", title="I'm allergic to penicillin", fields={"Origin": "user"})


def said(*texts: str, role: str = "user") -> list[Message]:
    return [Message(session="s", id=f"m{n}", role=role, content=text) for n, text in enumerate(texts, 1)]


def endings(*texts: str, role: str = "user", entries: tuple[Entry, ...] = (DECK, HEATER, CAT)) -> dict[str, str]:
    found = find_endings(entries, sayings(said(*texts, role=role), {}))
    return {operation.target: operation.kind for operation in found if not operation.unsure}


@pytest.mark.parametrize(
    "text",
    [
        "The deck was finally sent to Ana, so that's off my plate.",
        "Done: sent the Q3 deck to Ana",
        "- Completed: Q3 deck for Ana",
    ],
)
def test_a_finished_thread_is_resolved(text: str) -> None:
    assert endings("Hello there!", text) == {"OT-0001": "resolve"}


def test_an_operation_cites_its_turn_and_its_sentence() -> None:
    (found,) = find_endings([DECK], sayings(said("hi", "Done: sent the Q3 deck to Ana"), {}))
    assert (found.sources, found.text) == (("s#m2",), "sent the Q3 deck to Ana")


@pytest.mark.parametrize(
    "text", ["I still have to send the deck to Ana.", "Did you send the deck to Ana?", "Ana liked the other slides."]
)
def test_open_work_a_question_and_small_talk_resolve_nothing(text: str) -> None:
    assert endings(text) == {}


def test_two_threads_that_fit_equally_well_stay_open() -> None:
    twin = Entry(id="OT-0009", date="2026-11-01", title="Send the Q3 deck to Bob")
    assert endings("Done: the Q3 deck", entries=(DECK, twin)) == {}


def test_a_claim_of_the_user_is_taken_back_by_the_user_alone() -> None:
    text = "It turns out I'm not allergic to penicillin after all."
    assert endings(text) == {"RC-0001": "retract"}
    assert endings(text, role="assistant") == {}


def test_retired_superseded_and_protected_entries_are_left_alone() -> None:
    gone = DECK.changed(fields={"State": "resolved 2026-11-02"})
    kept = DECK.changed(fields={"Protected": "the board"})
    for entry in (gone, kept):
        assert endings("Done: sent the Q3 deck to Ana", entries=(entry,)) == {}


def test_a_thread_of_the_session_is_settled_by_a_later_turn_only() -> None:
    messages = said("I need to send the Q3 deck to Ana.", "Done: sent the Q3 deck to Ana")
    item = Item(kind="open_thread", text="I need to send the Q3 deck to Ana.", sources=("s#m1",), role="user")
    later = Item(kind="open_thread", text="Send the Q3 deck to Ana again", sources=("s#m2",), role="user")
    settled = settle_items([item, later], sayings(messages, {}), messages)
    assert [found.resolved for found in settled] == ["s#m2", ""]


def test_a_sentence_that_git_contradicts_ends_nothing() -> None:
    messages = said("I sent the Q3 deck to Ana, it is done.", role="assistant")
    item = Item(kind="deliverable", text="I sent the Q3 deck to Ana, it is done.", sources=("s#m1",), role="assistant")
    summary = Summary(title="t", items=(item,))
    for state, count in (("contradicted", 0), ("verified", 1)):
        found = with_endings(summary, messages, [DECK], evidence={item: Evidence(state=state)})  # type: ignore[arg-type]
        assert sum(not operation.unsure for operation in found.operations) == count


def test_many_sentences_and_entries_cost_a_limited_number_of_comparisons() -> None:
    entries = [Entry(id=f"OT-{n:04d}", date="2026-11-01", title=f"Send deck {n} to Ana") for n in range(200)]
    messages = said(*(f"Deck {n} was sent to Ana, done." for n in range(300)))
    assert len(find_endings(entries, sayings(messages, {}))) <= 200


GHENT = Entry(id="RC-0002", date="2026-11-01", title="I live in Ghent", fields={"Origin": "user"})
LISBON = Entry(id="RC-0003", date="2026-11-01", title="We're going to Lisbon in May", fields={"Origin": "user"})


def test_a_new_home_replaces_the_old_one_without_a_common_word() -> None:
    assert endings("I moved to Antwerp last month.", entries=(GHENT, LISBON)) == {"RC-0002": "supersede"}


def test_a_request_to_forget_a_thing_takes_it_back_or_asks_which_one() -> None:
    asked = "forget what I told you about the Lisbon trip"
    assert endings(asked, entries=(GHENT, LISBON)) == {"RC-0003": "retract"}
    other = LISBON.changed(id="RC-0004", title="The Lisbon flat costs 900")
    found = find_endings([LISBON, other], sayings(said(asked), {}))
    assert [(operation.kind, operation.unsure) for operation in found] == [("retract", True)]
