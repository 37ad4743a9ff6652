"""A line states only what its turns state, in the same sense."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.statements.grounding import SaidTurn, keeps_denial, objections, ungrounded
from distill.statements.sentences import prose_lines, split_sentences

PAIRS = Path(__file__).parents[3] / "bench" / "memory_data" / "grounding.development.jsonl"
TURN = (
    "We moved the Alder launch from 12 May to 14 May, the gap is −12 %. `src/app.py` keeps ¥2.1M of 1,200 deals; "
    "Maya called it “the long way round” in v1.4.0, see https://models.example/a?b=1."
)


@pytest.mark.parametrize(
    "text",
    [
        "The Alder launch is on 14 May.",
        "Alder's launch moved.",
        "The gap is -12 %.",
        "The gap is −12%.",
        "1200 deals are worth ¥2.1M.",
        "`src/app.py` keeps it in v1.4.0.",
        "Maya said “The long  way round”.",
        "Robin moved the launch.",
    ],
)
def test_words_of_the_turn_and_names_of_its_speaker_pass(text: str) -> None:
    assert ungrounded(text, [TURN], ["Robin"]) == ()


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("The launch is on 15 May.", "value '15 May'"),
        ("The launch is in June.", "value 'June'"),
        ("The gap is 12 %.", "value '12'"),
        ("The gap is +12 %.", "value '12'"),
        ("It keeps $2.1M.", "currency '$'"),
        ("It keeps ¥21M.", "value '21M'"),
        ("The Birch launch moved.", "word 'Birch'"),
        ("Bob moved the launch.", "word 'Bob'"),
        ("Two launches moved.", "value 'Two'"),
        ("It is in `src/other.py`.", "name 'src/other.py'"),
        ("It is in app.pyc now.", "name 'app.pyc'"),
        ('Maya called it "the short way".', "quotation 'the short way'"),
        ("Version v1.5.0 has it.", "name 'v1.5.0'"),
        ("张伟推迟了发布。", "word '张伟推迟'"),
    ],
)
def test_words_that_nobody_said_are_named(text: str, lacking: str) -> None:
    assert lacking in ungrounded(text, [TURN])


def test_chinese_names_and_counts_must_stand_in_the_turn() -> None:
    turn = "我们决定把北京的发布推迟两周。"
    assert ungrounded("用户决定将北京的发布推迟两周", [turn]) == ()
    assert ungrounded("决定把上海的发布推迟三周", [turn]) == ("value '三'", "word '海'")


def test_a_lost_or_invented_denial_is_noticed_in_both_languages() -> None:
    assert keeps_denial("The team did not choose apsw.", "we didn't go with apsw")
    assert not keeps_denial("The team chose apsw.", "we didn't go with apsw")
    assert not keeps_denial("不采用 apsw", "我们采用 apsw")


@given(st.text(max_size=200) | st.sampled_from([TURN, "**12** % of `a b`, see [x](y.md)", "«A» 12,5 −3 x_y/z.W"]))
def test_a_sentence_of_a_turn_is_always_grounded_in_it(content: str) -> None:
    for line in prose_lines(content):
        for sentence in split_sentences(line.text):
            assert ungrounded(sentence, [content]) == ()


@pytest.mark.parametrize(
    ("said", "text", "sense"),
    [
        ("we never deploy on Fridays", "The team deploys on Fridays.", "denial lost"),
        ("I might move to Lisbon", "Maya moves to Lisbon.", "possibility lost"),
        ("if it rains we meet inside", "Maya and the others meet inside.", "condition lost"),
        ("rent went from 900 to 950", "Maya's rent went from 950 to 900.", "direction of '950'"),
        ("I lent Tom the van", "Tom lent Maya the van.", "agent"),
        ("the oven is broken in flat 3", "The oven is broken in all flats, also in flat 3.", "quantity 'all'"),
        ("我妹妹对青霉素过敏", "Maya 对青霉素过敏", "agent"),
        ("周五不发版", "周五发版", "denial lost"),
    ],
)
def test_the_sense_of_words_may_not_change(said: str, text: str, sense: str) -> None:
    found = objections(text, [SaidTurn(role="user", name="Maya", ts="2026-11-20", content=said)])
    assert any(reason.startswith(sense) for reason in found)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("dentist moved to next Wednesday", "Maya's dentist moved to next Wednesday (2026-11-25)."),
        ("I finished the tax return yesterday", "Maya finished the tax return on 2026-11-19."),
        ("meet at half nine", "Maya wants to meet at 9:30."),
        ("下周三去上海", "Maya 2026-11-25 去上海"),
        ("房租涨到四千五", "Maya 的房租涨到 4500"),
    ],
)
def test_a_date_or_number_may_be_computed(said: str, text: str) -> None:
    assert objections(text, [SaidTurn(role="user", name="Maya", ts="2026-11-20", content=said)]) == ()


def test_most_development_pairs_are_judged_right() -> None:
    rows: list[dict[str, Any]] = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    judged = Counter(
        (row["good"], not objections(row["text"], [SaidTurn(**turn) for turn in row["turns"]])) for row in rows
    )
    accepted = judged[True, True] / (judged[True, True] + judged[True, False])
    rejected = judged[False, False] / (judged[False, False] + judged[False, True])
    assert (len(rows) > 300, accepted > 0.9, rejected > 0.95) == (True, True, True), (accepted, rejected)


@given(st.text(max_size=60), st.text(max_size=120))
def test_no_text_breaks_the_check(text: str, content: str) -> None:
    objections(text, [SaidTurn(role="user", name="Maya", ts="2026-11-20", content=content)])


@pytest.mark.parametrize("part", ["not ", "12 ", "and he ", "a.b/", "我不", "周", "from 1 to ", "if ", '"', "Bob "])
def test_a_long_turn_is_read_in_linear_time(part: str) -> None:
    start = time.perf_counter()
    objections("Maya went from 1 to 2.", [SaidTurn(role="user", name="Maya", content=part * 20_000)])
    assert time.perf_counter() - start < 5
