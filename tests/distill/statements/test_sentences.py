"""Text as plain sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.statements.sentences import is_question, narrowed, prose_lines, sentence_chunks, shorten, split_sentences
from tests.growth import is_linear


def test_code_quotations_and_tables_are_not_prose() -> None:
    text = "Before\n```python\nDecision = 1\n```\n> somebody else said\n| a | b |\n|---|---|\n~~~\ncode\n~~~\nAfter"
    assert [line.text for line in prose_lines(text)] == ["Before", "After"]


def test_a_fence_that_never_closes_hides_the_rest() -> None:
    assert [line.text for line in prose_lines("one\n```\ntwo")] == ["one"]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("- [ ] call legal", "call legal"),
        ("  * **Decision:** ship", "Decision: ship"),
        ("3. third", "third"),
        ("2、第二", "第二"),
        ("\uff08一\uff09先看 MEAGS", "先看 MEAGS"),
        ("-12 % is the gap", "-12 % is the gap"),
        ("*kwargs and `**kwargs`", "*kwargs and `**kwargs`"),
        ("__init__ stays", "__init__ stays"),
    ],
)
def test_marks_of_lists_and_emphasis_are_removed(raw: str, text: str) -> None:
    assert next(prose_lines(raw)).text == text


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Gap is -12.5 %. Deal is ¥2.1M. Done", ["Gap is -12.5 %.", "Deal is ¥2.1M.", "Done"]),
        ("See e.g. page 3. Next.", ["See e.g. page 3.", "Next."]),
        ("第一句。第二句\uff01第三句\uff1f第四句", ["第一句。", "第二句\uff01", "第三句\uff1f", "第四句"]),
        ("Read `a. b` first. Then go.", ["Read `a. b` first.", "Then go."]),
        ("v1.4.0 is out", ["v1.4.0 is out"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_questions_are_known_by_mark_and_particle() -> None:
    assert all(is_question(text) for text in ("Is it?", "是吗", "怎么办呢。", "多大\uff1f", '"really?"'))
    assert not any(is_question(text) for text in ("It is.", "是的。", "What a day."))


def test_a_long_text_is_cut_at_a_sentence_and_a_long_sentence_at_a_word_with_an_ellipsis() -> None:
    found = sentence_chunks("One two three. Four five six. " + "seven " * 20, 40)
    assert found[0] == "One two three. Four five six."
    assert found[1].endswith("…")
    assert all(len(piece) <= 40 for piece in found)


@given(st.text(max_size=300))
def test_sentences_are_parts_of_the_line_in_order(text: str) -> None:
    at = 0
    for sentence in split_sentences(text):
        found = text.find(sentence, at)
        assert found >= 0
        at = found + len(sentence)


@given(st.text(max_size=300), st.integers(2, 80))
def test_shortening_keeps_within_the_limit_and_says_so(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit
    assert short == text or short.endswith("…")


@given(st.text(max_size=200))
def test_narrowing_keeps_every_position(text: str) -> None:
    assert len(narrowed(text)) == len(text)


@pytest.mark.parametrize("unit", ["e.g. ", "a. ", "`a`. ", "Dr. ", "? "])
def test_time_to_split_grows_with_the_length(unit: str) -> None:
    assert is_linear(split_sentences, unit, 20_000)


def test_an_abbreviation_far_into_a_sentence_does_not_end_it() -> None:
    assert len(split_sentences("This is a long sentence with a pager no. 5 in it. Next.")) == 2
