"""Operations on live entries hold only for who may ask for them, and name their turn."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from agent_home.documents.document import Document, parse
from agent_home.documents.entry import Entry
from agent_home.home import MEMORY
from distill.entries.operations import AppliedOperations, Operation, apply_operations
from distill.statements.restatement import OriginOf, nobody

TODAY = "2026-11-22"
SPOKEN = {"s#u": "user", "s#a": "agent", "s#t": "tool", "s#w": "web"}
TEXT = """# Memory

## Standing Preferences

- **[SP-0001] 2026-11-01 Answer in English.**
  Sources: a#m1
  Origin: user

## Open Threads

- **[OT-0001] 2026-11-02 Send the deck to Ana.**
  Sources: a#m2
  Origin: user
- **[OT-0002] 2026-11-02 Renew the certificate.**
  Origin: tool
- **[OT-0003] 2026-11-02 Keep watching the queue.**
  Protected: the board

## Key Decisions

- **[KD-0001] 2026-11-03 We keep backups for 30 days.**
  Evidence: unchecked
  Sources: a#m3
  Origin: agent
"""


def change(kind: str, target: str, *sources: str, text: str = "", unsure: bool = False) -> Operation:
    return Operation(kind=kind, target=target, sources=sources or ("s#u",), text=text, unsure=unsure)  # type: ignore[arg-type]


def applied(*operations: Operation, origin_of: OriginOf = nobody) -> AppliedOperations:
    documents: Mapping[str, Document] = {MEMORY: parse(TEXT)}
    return apply_operations(
        documents, operations, SPOKEN, date=TODAY, new_id=lambda prefix, _: f"{prefix}-9999", origin_of=origin_of
    )


def entry(result: AppliedOperations, entry_id: str) -> Entry:
    found = result.documents[MEMORY].entry(entry_id)
    assert found is not None
    return found


def test_a_resolved_thread_names_the_day_the_turn_and_the_sentence() -> None:
    result = applied(change("resolve", "OT-0001", text="The deck went out to Ana."))
    resolved = entry(result, "OT-0001")
    assert resolved.resolved
    assert resolved.retired
    assert resolved.fields["State"] == "resolved 2026-11-22, s#u: The deck went out to Ana."
    assert resolved.fields["Sources"] == "a#m2"


def test_the_agent_resolves_a_thread_of_the_user() -> None:
    assert entry(applied(change("resolve", "OT-0001", "s#a")), "OT-0001").resolved


@pytest.mark.parametrize("source", ["s#t", "s#w"])
@pytest.mark.parametrize(
    ("kind", "target"),
    [("resolve", "OT-0001"), ("retract", "SP-0001"), ("supersede", "KD-0001"), ("revise", "KD-0001")],
)
def test_a_tool_or_a_stranger_changes_nothing_of_the_user_or_the_agent(source: str, kind: str, target: str) -> None:
    result = applied(change(kind, target, source, "s#u", text="It is over now."))
    assert result.documents[MEMORY].render() == TEXT
    assert [item.operation.target for item in result.refused] == [target]


def test_words_of_a_tool_that_the_agent_repeats_are_the_tools() -> None:
    said = change("resolve", "OT-0001", "s#a", text="All tasks are complete now.")
    assert applied(said, origin_of=lambda _text, _source: "tool").documents[MEMORY].render() == TEXT


def test_a_tool_may_resolve_its_own_thread() -> None:
    assert entry(applied(change("resolve", "OT-0002", "s#t")), "OT-0002").resolved


@pytest.mark.parametrize("kind", ["retract", "supersede", "revise"])
def test_the_agent_takes_back_nothing_of_the_user(kind: str) -> None:
    result = applied(change(kind, "SP-0001", "s#a", text="Answer in German."))
    assert result.documents[MEMORY].render() == TEXT


def test_a_retracted_claim_is_retired_and_keeps_its_text() -> None:
    retracted = entry(applied(change("retract", "KD-0001", text="I was wrong about the backups.")), "KD-0001")
    assert retracted.retired
    assert not retracted.resolved
    assert retracted.text == "We keep backups for 30 days."


def test_a_superseding_statement_is_a_new_entry_linked_both_ways() -> None:
    result = applied(change("supersede", "KD-0001", text="We keep backups for 90 days."))
    newer = entry(result, "KD-9999")
    assert entry(result, "KD-0001").fields["Superseded-By"] == "KD-9999"
    assert (newer.fields["Supersedes"], newer.fields["Sources"], newer.date) == ("KD-0001", "s#u", TODAY)
    assert newer.text == "We keep backups for 90 days."
    assert [item.successor for item in result.applied] == ["KD-9999"]


def test_a_preference_that_is_a_wish_can_be_resolved() -> None:
    done = applied(change("resolve", "SP-0001", text="that is done"))
    assert entry(done, "SP-0001").fields["State"].startswith("resolved")


def test_a_revised_entry_keeps_its_id_and_gains_the_turn() -> None:
    revised = entry(applied(change("revise", "KD-0001", text="We keep daily backups for 30 days.")), "KD-0001")
    assert revised.text == "We keep daily backups for 30 days."
    assert revised.fields["Sources"] == "a#m3, s#u"
    assert "Evidence" not in revised.fields


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (change("resolve", "OT-7777"), "no entry OT-7777"),
        (change("resolve", "OT-0003"), "protected"),
        (change("resolve", "KD-0001"), "no open thread"),
        (change("resolve", "OT-0001", "other#m1"), "a turn that the session does not have"),
        (change("resolve", "OT-0001", unsure=True), "not sure"),
        (change("supersede", "KD-0001"), "no new statement"),
    ],
)  # fmt: skip
def test_an_operation_that_may_not_be_applied_is_refused_with_the_reason(operation: Operation, reason: str) -> None:
    result = applied(operation)
    assert result.documents[MEMORY].render() == TEXT
    assert reason in result.refused[0].reason


def test_resolving_twice_changes_nothing_the_second_time() -> None:
    result = applied(change("resolve", "OT-0001"), change("resolve", "OT-0001", "s#a"))
    assert len(result.applied) == 1
    assert "already" in result.refused[0].reason
