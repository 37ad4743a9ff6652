"""A line states no number, date, name, path or quotation that its turns do not have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.statements.grounding import keeps_denial, ungrounded
from distill.statements.sentences import prose_lines, split_sentences

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
        "`src/app.py` holds it in v1.4.0.",
        "Maya said “The long  way round”.",
        "Robin moved the launch.",
    ],
)
def test_words_of_the_turn_and_names_of_its_speaker_pass(text: str) -> None:
    assert ungrounded(text, [TURN], ["Robin"]) == ()


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("The launch is on 15 May.", "15"),
        ("The launch is in June.", "June"),
        ("The launch is tomorrow.", "tomorrow"),
        ("The gap is 12 %.", "12%"),
        ("The gap is +12 %.", "+12%"),
        ("It keeps $2.1M.", "$2.1m"),
        ("It keeps ¥21M.", "¥21m"),
        ("The Birch launch moved.", "Birch"),
        ("Bob moved the launch.", "Bob"),
        ("Two launches moved.", "Two"),
        ("It is in `src/other.py`.", "src/other.py"),
        ("It is in app.pyc now.", "app.pyc"),
        ('Maya called it "the short way".', "the short way"),
        ("Version v1.4 has it.", "v1.4"),
        ("张伟推迟了发布。", "张伟推迟"),
    ],
)
def test_words_that_nobody_said_are_named(text: str, lacking: str) -> None:
    assert lacking in ungrounded(text, [TURN])


def test_chinese_names_and_counts_must_stand_in_the_turn() -> None:
    turn = "我们决定把北京的发布推迟两周。"
    assert ungrounded("用户决定将北京的发布推迟两周", [turn]) == ()
    assert ungrounded("决定把上海的发布推迟三周", [turn]) == ("海", "三")


def test_a_lost_or_invented_denial_is_noticed_in_both_languages() -> None:
    assert keeps_denial("The team did not choose apsw.", "we didn't go with apsw")
    assert not keeps_denial("The team chose apsw.", "we didn't go with apsw")
    assert not keeps_denial("不采用 apsw", "我们采用 apsw")


@given(st.text(max_size=200) | st.sampled_from([TURN, "**12** % of `a b`, see [x](y.md)", "«A» 12,5 −3 x_y/z.W"]))
def test_a_sentence_of_a_turn_is_always_grounded_in_it(content: str) -> None:
    for line in prose_lines(content):
        for sentence in split_sentences(line.text):
            assert ungrounded(sentence, [content]) == ()
