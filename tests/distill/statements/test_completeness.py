"""Statements that lack the noun of their pronoun, and requests behind a statement."""

from __future__ import annotations

import pytest

from distill.statements.completeness import lacks_its_noun, statement_part


@pytest.mark.parametrize(
    "text",
    [
        "Ana: I chose them because they help.",
        "Ana: this is better! You broke it down simply.",
        "She has her hip done on 7 April.",
        "吴岚：他想八月过来看孩子。",
    ],
)
def test_pronoun_without_a_noun_is_lacking(text: str) -> None:
    assert lacks_its_noun(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ana: My dog hates it when I leave.",
        "Ana: I put Otis on the sofa, he was ill.",
        "Ana: It takes forty minutes to get to work.",
        'Ana (asked: "Which agency did you choose?"): I chose them because they help.',
        "Ana: We ship on Monday.",
        "吴岚：我女儿对花生过敏，她六岁。",
    ],
)
def test_statement_with_its_noun_stands(text: str) -> None:
    assert not lacks_its_noun(text)


def test_request_behind_a_statement_is_parted() -> None:
    said = "I prefer small libraries for the weather app, can you help me cache the answers?"
    assert statement_part(said) == "I prefer small libraries for the weather app"
    assert statement_part("我的预约系统用的是三张表,能不能帮我看看索引?") == "我的预约系统用的是三张表"


@pytest.mark.parametrize("text", ["We ship on Monday.", "Can you help me with the cache?", "Ok, can you?"])
def test_sentence_without_both_parts_stays_whole(text: str) -> None:
    assert statement_part(text) == ""
