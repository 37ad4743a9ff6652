"""The model proposes and the gate decides: quotes are real, and nobody else changes an entry."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agent_home.store.transcript import Message
from distill.reading.labels import ItemKind
from distill.reading.model_gate import GatedReading, pass_gate
from distill.reading.proposed import Citation, ProposedAct, ProposedOperation

TURNS = {
    "m1": Message(session="s", id="m1", ts="2026-11-20T09:00", role="user", name="Maya",
                  content="my son Leo has a severe peanut allergy, and please no voice notes"),
    "m2": Message(session="s", id="m2", ts="2026-11-20T09:01", role="assistant",
                  content="You should avoid coffee. I renamed `app.py` to `main.py`."),
    "t1": Message(session="s", id="t1", ts="2026-11-20T09:02", role="tool",
                  content="Maya wants every deploy approved at once"),
    "m3": Message(session="s", id="m3", ts="2026-11-20T09:03", role="user", name="Maya",
                  content="the tax return is off my plate"),
}  # fmt: skip
ENTRIES = {"OT-1": "2026-11-02 Maya files the tax return.", "KD-2": "2026-11-01 Use Postgres."}


def propose(
    turn: str, quote: str, text: str = "", *, act: ProposedAct = "add", kind: ItemKind = "fact", entry: str = ""
) -> GatedReading:
    operation = ProposedOperation(
        act=act, kind=kind, text=text, entry=entry, citations=(Citation(turn=turn, quote=quote),)
    )  # fmt: skip
    return pass_gate([operation], TURNS, ENTRIES)


def test_a_true_restatement_is_entered_with_the_source_and_role_of_its_turn() -> None:
    done = propose("m1", "severe peanut allergy", "Maya's son Leo has a severe peanut allergy.")
    (entry,) = done.entries
    assert (entry.sources, entry.role, entry.doubt, done.dropped) == (("s#m1",), "user", "", ())


@pytest.mark.parametrize(
    "text",
    [
        "Maya's son Theo has a severe peanut allergy.",
        "Maya has a severe peanut allergy.",
        "Maya's son Leo has no peanut allergy.",
        "Maya's son Leo might have a severe peanut allergy.",
        "Maya's son Leo, 7, has a severe peanut allergy.",
        "Maya's son Leo has a severe peanut allergy and was in hospital.",
    ],
)
def test_an_altered_restatement_waits_for_a_person_with_the_reason(text: str) -> None:
    (entry,) = propose("m1", "severe peanut allergy", text).entries
    assert entry.doubt


@pytest.mark.parametrize(
    ("turn", "quote", "reason"),
    [
        ("m9", "peanut", "there is no turn 'm9'"),
        ("m1", "severe walnut allergy", "does not say"),
        ("m1", "Severe peanut allergy", "does not say"),
    ],
)
def test_a_citation_that_does_not_hold_drops_the_operation(turn: str, quote: str, reason: str) -> None:
    done = propose(turn, quote, "Maya's son Leo has a severe peanut allergy.")
    assert done.entries == ()
    assert reason in done.dropped[0]


def test_a_tool_adds_no_preference_and_changes_no_entry() -> None:
    quote = "wants every deploy approved at once"
    assert "tool" in propose("t1", quote, "Maya wants every deploy approved.", kind="preference").dropped[0]
    for act in ("supersede", "revise", "resolve", "retract"):
        done = propose("t1", quote, "Deploys are approved at once.", act=act, entry="KD-2")
        assert done.operations == ()
        assert "changes no entry" in done.dropped[0]


def test_a_participant_is_treated_like_a_tool() -> None:
    operation = ProposedOperation(
        act="resolve", entry="OT-1", citations=(Citation(turn="m3", quote="off my plate"),)
    )  # fmt: skip
    theirs = {**TURNS, "m3": replace(TURNS["m3"], role="participant")}
    assert pass_gate([operation], theirs, ENTRIES).operations == ()
    assert pass_gate([operation], TURNS, ENTRIES).operations[0].target == "OT-1"


def test_a_thread_is_resolved_in_the_words_of_the_turn() -> None:
    (operation,) = propose("m3", "off my plate", act="resolve", entry="OT-1").operations
    assert (operation.kind, operation.text, operation.sources, operation.unsure) == (
        "resolve",
        "off my plate",
        ("s#m3",),
        False,
    )


def test_an_entry_that_was_not_shown_cannot_be_changed() -> None:
    assert "there is no entry" in propose("m3", "off my plate", act="resolve", entry="OT-9").dropped[0]


def test_advice_of_the_assistant_is_no_fact_of_the_user() -> None:
    (entry,) = propose("m2", "You should avoid coffee", "Maya avoids coffee.").entries
    assert entry.doubt
    (entry,) = propose("m2", "avoid coffee", "Maya wants to avoid coffee.", kind="preference").entries
    assert "no turn of the user is cited" in entry.doubt


def test_the_assistant_may_report_its_work() -> None:
    (entry,) = propose("m2", "I renamed", "The assistant renamed `app.py` to `main.py`.", kind="deliverable").entries
    assert entry.doubt == ""


@pytest.mark.parametrize("text", ["ok", "Maya " * 100, "Has Leo a severe peanut allergy?"])
def test_a_text_that_is_no_statement_is_dropped(text: str) -> None:
    assert propose("m1", "severe peanut allergy", text).entries == ()


def test_a_repeated_operation_counts_once() -> None:
    operation = ProposedOperation(
        act="add", text="Leo has a severe peanut allergy.", citations=(Citation(turn="m1", quote="peanut allergy"),)
    )  # fmt: skip
    assert len(pass_gate([operation, operation], TURNS, ENTRIES).entries) == 1


NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)


def change(
    act: ProposedAct, turn: str, quote: str, text: str = "", *, own: frozenset[str] = frozenset()
) -> GatedReading:
    operation = ProposedOperation(act=act, text=text, entry="KD-2", citations=(Citation(turn=turn, quote=quote),))
    turns = {
        "m1": Message(session="s", id="m1", ts="2026-11-20T09:00", role="user", name="Maya",
                      content="Postgres, still? Forget it, we run MySQL since Monday."),
        "m2": Message(session="s", id="m2", ts="2026-11-20T09:01", role="assistant", content="I moved it to MySQL."),
    }  # fmt: skip
    return pass_gate([operation], turns, ENTRIES, own=own, now=NOW)


def test_a_question_changes_no_entry_but_the_sentence_behind_it_does() -> None:
    assert "a question changes no entry" in change("retract", "m1", "Postgres, still?").dropped[0]
    (operation,) = change("retract", "m1", "still? Forget it, we run MySQL").operations
    assert not operation.unsure


def test_an_entry_that_is_replaced_in_bad_words_is_replaced_in_the_words_of_the_turn() -> None:
    (operation,) = change("supersede", "m1", "we run MySQL", "Maya runs Oracle since Tuesday.").operations
    assert not operation.unsure
    assert "MySQL since Monday" in operation.text
    assert "Oracle" not in operation.text


def test_the_assistant_replaces_its_own_entries_alone() -> None:
    (others,) = change("supersede", "m2", "I moved it to MySQL", "I moved it to MySQL.").operations
    (own,) = change(
        "supersede", "m2", "I moved it to MySQL", "I moved it to MySQL.", own=frozenset({"KD-2"})
    ).operations
    assert others.unsure
    assert not own.unsure


def test_the_assistant_may_report_that_a_thread_is_done() -> None:
    (operation,) = change("resolve", "m2", "I moved it to MySQL").operations
    assert not operation.unsure
