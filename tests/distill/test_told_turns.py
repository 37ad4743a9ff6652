"""The sentences of a turn that an entry tells are found, and its other sentences are not."""

from __future__ import annotations

import pytest

from distill.told_turns import told_passages


@pytest.mark.parametrize(
    ("text", "turn", "told"),
    [
        (
            "User: my sister Clara is moving to Lisbon next Friday (2026-11-27).",
            "Hey! By the way, my sister Clara is moving to Lisbon next Friday. How is the weather?",
            ("By the way, my sister Clara is moving to Lisbon next Friday.",),
        ),
        (
            "User's son has a severe peanut allergy.",
            "I like tea. My son is badly allergic, to peanuts I mean, so no cake please.",
            ("My son is badly allergic, to peanuts I mean, so no cake please.",),
        ),
        (
            "用户：我下周三（2026-11-25）要去上海出差。",
            "我下周三要去上海出差。顺便问一下天气。",
            ("我下周三要去上海出差。",),
        ),
        ('User (asked: "Any allergies?"): Only kiwi.', "Only kiwi.", ("Only kiwi.",)),
    ],
)  # fmt: skip
def test_the_sentence_that_says_it_is_told(text: str, turn: str, told: tuple[str, ...]) -> None:
    found = told_passages([text], {"a#m1": turn})
    assert found.passages == {"a#m1": told}
    assert not found.unclear


def test_the_question_of_another_turn_is_told_too() -> None:
    text = 'User (asked: "When is your dentist appointment?"): On 3 December at 9.'
    turns = {"a#m2": "Sunny. When is your dentist appointment?", "a#m3": "On 3 December at 9."}
    assert told_passages([text], turns).passages == {
        "a#m2": ("When is your dentist appointment?",),
        "a#m3": ("On 3 December at 9.",),
    }


def test_a_sentence_of_common_words_is_told_and_a_name_alone_is_not() -> None:
    text = "Ana: That is just how it was with me. I sold the boat."
    turn = "Yes, Ana! Well, that is just how it was with me. I sold the boat."
    told = told_passages([text], {"a#m1": turn}).passages["a#m1"]
    assert told == ("Well, that is just how it was with me.", "I sold the boat.")


def test_a_turn_in_other_words_is_unclear() -> None:
    assert told_passages(
        ["Clara dislikes travelling by aeroplane."], {"a#m1": "Flights scare her. Trains do not."}
    ).unclear
