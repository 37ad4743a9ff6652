"""Health and forms of address are kept whatever their words, and what only looks like them is not."""

from __future__ import annotations

import pytest

from distill.reading.classifier import read_sentence
from distill.reading.vital_facts import leaves_health_out, vital_act


@pytest.mark.parametrize(
    "text",
    [
        "Mia is allergic to nuts.",
        "I'm allergic to shellfish, the caterer must know.",
        "My son Ben is badly allergic to bee stings and his EpiPen is in the blue backpack.",
        "Ema has a gluten allergy.",
        "our neighbour's got a severe latex allergy",
        "She's coeliac so she can't touch the wheat side",
        "My dad is diabetic.",
        "My son can't eat nuts.",
        "fyi, my brother can't have lactose, so no cream",
        "我不能喝咖啡。",
        "小宝不能吃花生",
        "妈妈对青霉素过敏",
        "我爸有糖尿病",
        "My boss is Honza Dvořák.",
        "my daughter's name is Ema",
    ],
)
def test_health_and_people_are_facts_that_enter(text: str) -> None:
    assert vital_act(text) == "fact"
    assert read_sentence(text, "OK.").enters


@pytest.mark.parametrize("text", ["Please call me Dan.", "oh, call me Bex please", "叫我老周就行", "请叫我林晓雯。"])
def test_a_form_of_address_is_a_preference_that_enters(text: str) -> None:
    assert vital_act(text) == "preference"
    reading = read_sentence(text)
    assert (reading.likeliest, reading.enters) == ("preference", True)


@pytest.mark.parametrize(
    "text",
    [
        "Is Mia allergic to nuts?",
        "If I'm allergic to nuts, can I eat tahini?",
        "The character is allergic to sunlight in my novel",
        "He said he is allergic to work",
        "This cream is good against allergies.",
        "Call me back at three.",
        "My boss is Czech at heart and hates Mondays.",
        "call me when you are done",
        "please call me a taxi",
        "My sister can't have it.",
        "My colleagues can't eat out on Fridays.",
        "Mum used to be allergic to cats, no longer",
        "今天不能喝酒",
        "青霉素过敏性休克怎么办?",
        "明天七点叫我起床",
        "他对花生过敏吗",
        "如果我对花生过敏",
    ],
)
def test_what_only_looks_like_it_is_left_to_the_reader(text: str) -> None:
    assert vital_act(text) is None


def test_a_long_text_costs_no_more_than_its_beginning() -> None:
    assert vital_act("My son is " * 5000 + "allergic to nuts.") is None
    assert vital_act("a " * 140) is None
    assert vital_act("我" * 299) is None


@pytest.mark.parametrize(
    ("older", "newer", "expected"),
    [
        ("My mum is vegetarian, by the way.", "My mum is on the night shift now.", True),
        ("我女儿对花生过敏。", "我女儿现在改学小提琴了。", True),
        ("我女儿对花生过敏。", "医生说花生没事了。", False),
        ("我对猫过敏", "过敏那事是我瞎说的", False),
        ("Mia is allergic to nuts.", "Mia can eat nuts again.", False),
        ("The gate is green.", "The gate is red now.", False),
    ],
)
def test_health_that_a_sentence_does_not_name_is_left_out(older: str, newer: str, expected: bool) -> None:
    assert leaves_health_out(older, newer) is expected
