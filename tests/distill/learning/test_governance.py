"""Lessons move from corrections to rules, gates and principles, and unused rules retire: proposed, never written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from agent_home import storage
from agent_home.documents.check import problems
from agent_home.documents.document import parse
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.proposals import pending_ids
from agent_home.store.transcript import Message
from distill.close import close
from distill.closing_result import Closed
from distill.learning.evolution import EVOLUTION
from distill.learning.governance import PRINCIPLES, RETIRED, STEERING, propose, suggestions
from distill.review.queue import accept, find, reject, up_to_risk, waiting
from distill.settings import DistillSettings

Correct = Callable[..., Closed]
LESSON = "No, the report should be sorted by risk, not by date."
AGAIN = "Wrong, sort the report by risk, not by name."


@pytest.fixture
def correct(home: Home, now: datetime) -> Correct:
    """Return a function that closes a session of *day* in which the user makes the correction *text*."""

    def said(day: str, text: str = AGAIN, role: str = "user", session: str = "") -> Closed:
        session = session or f"s-{day}"
        message = Message(session=session, id="m1", ts=f"{day}T10:00:00", role=role, content=text)
        transcript.append(home, session, [message], actor="import", now=now)
        return close(home, session, now=now)

    return said


def text(home: Home, path: str) -> str:
    return storage.read_text(home.root / path)


def suggested(home: Home, now: datetime) -> list[tuple[str, str]]:
    return [(one.layer, one.draft.path) for one in suggestions(home, now=now)]


def decide(home: Home, now: datetime, *, yes: bool = True) -> str:
    """Propose the only suggestion, let a person decide, and return its id."""
    (proposed,) = propose(home, now=now).proposed
    item = find(home, proposed, now)
    (accept if yes else reject)(home, item, person="Ada", now=now)
    return proposed


def test_a_correction_is_proposed_as_a_rule_after_two_sessions(home: Home, now: datetime, correct: Correct) -> None:
    correct("2026-11-01", LESSON)
    assert suggestions(home, now=now) == ()
    correct("2026-11-02")
    before = {path: text(home, path) for path in (STEERING, PRINCIPLES, EVOLUTION)}
    done = propose(home, now=now)
    (one,) = done.suggestions
    assert (one.layer, one.reason) == ("rule", "corrected in 2 sessions")
    assert done.proposed == (one.draft.id,)
    assert {path: text(home, path) for path in before} == before
    (item,) = waiting(home, now)
    assert (item.path, item.section, item.actor, item.risk) == (STEERING, "Rules", "evolution", "high")
    assert up_to_risk(waiting(home, now), "medium") == []


def test_the_number_of_sessions_is_a_setting(home: Home, now: datetime, correct: Correct) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        correct(day)
    assert suggestions(home, now=now, settings=DistillSettings(rule_after_sessions=3)) == ()
    correct("2026-11-03")
    assert len(suggestions(home, now=now, settings=DistillSettings(rule_after_sessions=3))) == 1


@pytest.mark.parametrize("wrong", [{"rule_after_sessions": 1}, {"retire_rules_after_days": 0}, {"resume_tokens": 99}])
def test_settings_below_the_minimum_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="or more"):
        DistillSettings(**wrong)  # type: ignore[arg-type]


def test_proposing_twice_adds_nothing(home: Home, now: datetime, correct: Correct) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        correct(day)
    first = propose(home, now=now)
    again = propose(home, now=now + timedelta(days=3))
    assert again.proposed == ()
    assert pending_ids(home) == set(first.proposed)


def test_an_accepted_rule_has_the_right_value_and_names_the_correction(
    home: Home, now: datetime, correct: Correct
) -> None:
    correct("2026-11-01", LESSON)
    correct("2026-11-02")
    rule = decide(home, now)
    (lesson,) = parse(text(home, EVOLUTION)).section_entries("Corrections")
    (entry,) = parse(text(home, STEERING)).section_entries("Rules")
    assert (entry.id, entry.title) == (rule, "the report should be sorted by risk")
    assert entry.fields == {"Sources": lesson.id, "Origin": "user"}
    assert "- Lead with the answer" in text(home, STEERING)
    assert suggestions(home, now=now) == ()
    assert problems(home) == []


def test_a_rejected_rule_is_not_proposed_again_when_the_correction_recurs(
    home: Home, now: datetime, correct: Correct
) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        correct(day)
    decide(home, now, yes=False)
    correct("2026-11-03")
    assert propose(home, now=now).proposed == ()


def test_a_broken_rule_becomes_a_gate_and_then_a_principle(home: Home, now: datetime, correct: Correct) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        correct(day)
    rule = decide(home, now)  # on 2026-11-20
    assert suggestions(home, now=now) == ()
    correct("2026-11-25")
    assert suggested(home, now) == [("gate", STEERING)]
    assert f"broken again although {rule} says so" in suggestions(home, now=now)[0].reason
    gate = decide(home, now + timedelta(days=6))
    (entry,) = parse(text(home, STEERING)).section_entries("Gates")
    assert (entry.id, entry.detail.startswith("Enforce it by a check in code")) == (gate, True)
    assert suggestions(home, now=now + timedelta(days=6)) == ()
    correct("2026-11-28")
    assert suggested(home, now + timedelta(days=9)) == [("principle", PRINCIPLES)]
    before = text(home, PRINCIPLES)
    decide(home, now + timedelta(days=9))
    assert text(home, PRINCIPLES).startswith(before.rstrip())
    assert "- **sort the report by risk.** More than a rule: " in text(home, PRINCIPLES)
    correct("2026-12-05")
    assert suggestions(home, now=now + timedelta(days=20)) == ()
    assert problems(home) == []


def test_the_number_of_principles_is_limited(home: Home, now: datetime, correct: Correct) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        correct(day)
    decide(home, now)
    correct("2026-11-25")
    decide(home, now + timedelta(days=6))
    correct("2026-11-28")
    more = text(home, PRINCIPLES) + "".join(f"{number}. **Another one.**\n" for number in (6, 7))
    (home.root / PRINCIPLES).write_text(more)
    assert suggestions(home, now=now + timedelta(days=9)) == ()


def test_a_correction_breaks_a_handwritten_rule_with_the_same_lesson(
    home: Home, now: datetime, correct: Correct
) -> None:
    (home.root / STEERING).write_text(text(home, STEERING) + "- Sort the report by risk.\n")
    correct("2026-11-01", LESSON)
    assert suggested(home, now) == [("gate", STEERING)]
    assert suggestions(home, now=now)[0].reason == "broken again although a rule says so"


def test_an_unused_rule_is_proposed_for_retirement_and_archived(home: Home, now: datetime, correct: Correct) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        correct(day)
    rule = decide(home, now)
    assert suggestions(home, now=now + timedelta(days=89)) == ()
    late = now + timedelta(days=90)
    (one,) = suggestions(home, now=late)
    assert (one.layer, one.lesson, one.draft.path) == ("retirement", rule, RETIRED[0])
    assert one.reason == "neither named nor broken in 90 days"
    decide(home, late)
    assert rule not in text(home, STEERING)
    assert "- Lead with the answer" in text(home, STEERING)
    assert f"- {rule}: sort the report by risk" in text(home, RETIRED[0])
    assert problems(home) == []


def test_a_rejected_retirement_is_not_proposed_again(home: Home, now: datetime, correct: Correct) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        correct(day)
    rule = decide(home, now)
    decide(home, now + timedelta(days=90), yes=False)
    assert rule in text(home, STEERING)
    assert suggestions(home, now=now + timedelta(days=900)) == ()


def test_a_rule_named_in_a_session_is_not_retired(home: Home, now: datetime, correct: Correct) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        correct(day)
    rule = decide(home, now)
    message = Message(
        session="late", id="m1", ts="2027-01-20T10:00:00", role="assistant", content=f"Sorted, see {rule}."
    )
    later = now + timedelta(days=60)
    transcript.append(home, "late", [message], actor="import", now=later)
    close(home, "late", now=later)
    assert suggestions(home, now=now + timedelta(days=90)) == ()
    assert suggested(home, now + timedelta(days=151)) == [("retirement", RETIRED[0])]


def test_a_rule_without_an_id_or_a_date_never_retires(home: Home, now: datetime) -> None:
    (home.root / STEERING).write_text(text(home, STEERING) + "\n- **[RU-0A0A] Answer in German.**\n")
    assert suggestions(home, now=now + timedelta(days=9999)) == ()


def test_a_retirement_removes_only_rules(home: Home, now: datetime) -> None:
    from agent_home.store.gateway import transaction
    from distill.learning.governance import retire_rule

    with transaction(home, actor="test", message="Test", now=now) as edits:
        retire_rule(edits, {"Retires": "SOUL.md"})
        retire_rule(edits, {})
    assert edits.outcome.commit is None


def test_a_correction_with_origin_tool_is_not_proposed(home: Home, now: datetime, correct: Correct) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        correct(day)
    changed = text(home, EVOLUTION).replace("Origin: user", "Origin: web")
    (home.root / EVOLUTION).write_text(changed)
    assert suggestions(home, now=now) == ()


def test_a_rule_with_a_superseded_correction_is_proposed_for_retirement(
    home: Home, now: datetime, correct: Correct
) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        correct(day, "No, use pnpm, not npm.")
    rule = decide(home, now)
    correct("2026-11-21", "No, use npm, not pnpm.")
    (one,) = suggestions(home, now=now + timedelta(days=1))
    assert (one.layer, one.lesson, one.reason) == ("retirement", rule, "its correction was superseded")
