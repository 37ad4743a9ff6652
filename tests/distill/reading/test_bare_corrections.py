"""A value that is said again changes the statement that it corrects, and nothing else."""

from __future__ import annotations

import time

import pytest

from agent_home.store.transcript import Message
from distill.reading.bare_corrections import SettledTurns, read_bare_correction, settle_turns

DENTIST = "I have a dentist appointment with Dr. Shah on the 12th."


def settled(*said: str, entries: dict[str, str] | None = None) -> SettledTurns:
    """Settle turns of the user and, behind ``A:``, of the assistant."""
    turns = [
        Message(
            session="s", id=f"m{place}", ts="2026-11-20T10:00:00Z", role="assistant" if text[:2] == "A:" else "user",
            name="", content=text.removeprefix("A: "),
        )
        for place, text in enumerate(said)
    ]  # fmt: skip
    return settle_turns(turns, [], entries or {})


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("no, the 14th", "14th"),
        ("sorry, I meant Thursday", "Thursday"),
        ("不对,是五点。", "五点"),
        ("说错了，周四。", "周四"),
        ("Ferreira, not Pereira.", "Ferreira"),
    ],
)
def test_a_turn_that_says_only_a_value_corrects(said: str, value: str) -> None:
    found = read_bare_correction(said)
    assert found is not None
    assert (found.text, found.explicit) == (value, True)


@pytest.mark.parametrize(
    "said", ["no thanks", "Thursday?", "No, she comes on Thursday.", "sorry, I meant the bins", "不对，是五点半关。"]
)
def test_a_turn_that_says_more_or_no_value_does_not(said: str) -> None:
    assert read_bare_correction(said) is None


@pytest.mark.parametrize(
    ("said", "right"),
    [
        (("Parents' evening is on Tuesday at seven.", "A: Noted.", "sorry, I meant Thursday"), "Thursday at seven"),
        (("Standup is at 9:30.", "A: Got it, 9:30.", "Oops, 9:15."), "Standup is at 9:15."),
        (("项目评审会在下午三点。", "A: 好的，下午三点。", "不对，是五点。"), "下午五点"),
    ],
)
def test_the_sentence_of_the_session_has_the_right_value(said: tuple[str, ...], right: str) -> None:
    found = settled(*said)
    assert right in found.messages[0].content
    assert found.messages[-1].content == ""
    assert found.corrected == {"s#m2": "s#m0"}


@pytest.mark.parametrize(
    ("said", "value", "entry", "right"),
    [
        ("A: The dentist appointment with Dr. Shah on the 12th.", "no, the 14th", DENTIST, "14th"),
        ("A: 十二号约了沈医生看牙。", "不对，是十四号。", "用户：我十二号约了沈医生看牙。", "十四号"),
        ("A: With 940 euros of rent you have 1 310 left.", "No, 960.", "Our rent is 940 euros a month.", "960 euros"),
    ],
)
def test_the_entry_that_the_assistant_told_has_the_right_value(said: str, value: str, entry: str, right: str) -> None:
    (found,) = settled("What do I have?", said, value, entries={"OT-1": entry}).entries
    assert (found.target, found.certain, right in found.text) == ("OT-1", True, True)


@pytest.mark.parametrize(
    "asked",
    [
        "A: Is her check-up on the 12th as well?",
        "A: Which day suits the plumber?",
        "A: Is it on the 12th or the 14th?",
        "A: Mira's dentist appointment is on the 12th.",
    ],
)
def test_an_answer_about_another_thing_corrects_no_entry(asked: str) -> None:
    found = settled("My mother is coming too.", asked, "no, the 14th", entries={"OT-1": DENTIST})
    assert found.entries == ()
    assert found.messages[-1].content


def test_a_person_decides_where_two_entries_may_be_meant() -> None:
    entries = {"OT-1": "Dentist for Ben on the 12th.", "OT-2": "Dentist for Ida on the 12th."}
    found = settled("What is on?", "A: The dentist on the 12th.", "no, the 14th", entries=entries)
    assert [entry.certain for entry in found.entries] == [False, False]
    assert found.left == {"s#m2"}


def test_many_turns_cost_little() -> None:
    said, start = ["Standup is at 9:30.", "A: Got it, 9:30.", "Oops, 9:15."] * 300, time.process_time()
    assert "9:15" in settled(*said).messages[-3].content
    assert time.process_time() - start < 5.0
