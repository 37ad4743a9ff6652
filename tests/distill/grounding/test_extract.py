"""An entry is an extract of the turns that it cites."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.grounding.extract import objections
from distill.grounding.said_turn import SaidTurn

PAIRS = Path(__file__).parents[3] / "bench" / "memory_data"


def said(content: str, name: str = "Mara", role: str = "user") -> SaidTurn:
    return SaidTurn(role=role, name=name, ts="2026-11-20T09:00:00", content=content)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("im allergic to wasps lol, dont ask", "Mara is allergic to wasps."),
        ("my brother lent me his van", "Mara's brother lent her his van."),
        ("the roofer comes on thursday", "The roofer comes on Thursday (2026-11-26)."),
        ("talking of Bo. she's been limping again", "Bo has been limping again."),
        ("rent goes from 900 to 950 in jan", "Mara's rent goes from 900 to 950 in January."),
        ("我妈下周三来", "Mara的妈妈下周三(2026-11-25)来。"),
        ("we might move if the offer comes", "They might move if the offer comes."),
        ("had the scan yesterday, all clear", "Mara had the scan yesterday (2026-11-19), all clear."),
    ],
)
def test_person_pronouns_dates_and_typos_may_change(content: str, text: str) -> None:
    assert objections(text, [said(content)]) == ()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("im allergic to wasps", "Mara is allergic to bees."),
        ("im not allergic to wasps", "Mara is allergic to wasps."),
        ("my brother lent me his van", "Mara lent her brother his van."),
        ("my brother lent me his van", "Mara's brother lent her a van last year."),
        ("the roofer comes on thursday", "The roofer comes on Thursday (2026-11-27)."),
        ("the roofer comes on thursday", "The roofer came on Thursday."),
        ("rent goes from 900 to 950", "Rent goes from 950 to 900."),
        ("we might move if the offer comes", "They might move."),
        ("we might move if the offer comes", "They move if the offer comes."),
        ("only two of the six pumps leak", "Two of the six pumps leak."),
        ("my wife earns more, so I stay home", "Mara earns more."),
        ("我妈下周三来", "Mara下周三来。"),
        ("周五不发版", "周五发版。"),
        ("is the pool open on sundays?", "The pool is open on Sundays."),
    ],
)
def test_other_changes_are_named(content: str, text: str) -> None:
    assert objections(text, [said(content)])


def test_a_short_answer_takes_the_words_of_its_question() -> None:
    asked = said("Which database should the billing service use?", "Bot", "assistant")
    answered = said("Postgres it is.")
    assert objections("The billing service should use Postgres.", [asked, answered]) == ()
    assert objections("The billing service should use MySQL.", [asked, answered])


def test_the_refused_alternative_of_a_question_is_no_answer() -> None:
    asked = said("Do you want the report on Monday or Friday?", "Bot", "assistant")
    assert objections("The report on Monday.", [asked, said("friday pls")])


def test_an_entry_that_is_replaced_lends_a_noun_and_no_value() -> None:
    older, turn = "Opening online: 1 May.", said("the friday after, 8 may")
    assert objections("Opening online: the Friday after, 8 May.", [turn], about=[older]) == ()
    assert objections("Opening online: 1 May.", [turn], about=[older])


def test_most_extracts_pass_and_most_altered_ones_do_not() -> None:
    rows = [json.loads(line) for line in (PAIRS / "grounding.extract.jsonl").read_text("utf-8").splitlines()]
    judged = Counter(
        (row["good"], not objections(row["text"], [SaidTurn(**turn) for turn in row["turns"]])) for row in rows
    )
    assert judged[True, True] >= 0.93 * (judged[True, True] + judged[True, False])
    assert judged[False, False] >= 0.94 * (judged[False, False] + judged[False, True])


@given(st.text(max_size=60), st.text(max_size=120))
def test_no_text_breaks_the_check(text: str, content: str) -> None:
    objections(text, [said(content)])


@pytest.mark.parametrize("part", ["not ", "12 ", "and he ", "a.b/", "我不", "周", "from 1 to ", '"'])
def test_a_long_turn_takes_time_in_proportion(part: str) -> None:
    start = time.perf_counter()
    objections("Tom moved the launch to 14 May because Mara agreed. " * 5, [said(part * 8_000)])
    assert time.perf_counter() - start < 5
