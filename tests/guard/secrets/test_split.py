"""Secrets in parts, and further copies of a secret."""

import pytest

from guard import find_in_conversation, screen

KEY = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
SPLIT = {
    "lines": f"the token is {KEY[:20]}\n{KEY[20:]}",
    "items": f"- {KEY[:15]}\n- {KEY[15:30]}\n- {KEY[30:]}",
    "labels": f"first half: {KEY[:20]}\nsecond half: {KEY[20:]}",
    "quotation": f"> {KEY[:22]}\n> {KEY[22:]}",
    "sentences": f"The first part is {KEY[:20]}.\nThe rest is {KEY[20:]}.",
}


@pytest.mark.parametrize("name", SPLIT)
def test_every_part_of_a_split_secret_is_redacted(name: str) -> None:
    screened = screen(SPLIT[name], "user", "memory").text
    assert not any(KEY[start : start + 8] in screened for start in range(len(KEY) - 8))
    assert screened.count("\n") == SPLIT[name].count("\n")


def test_a_further_copy_of_a_secret_is_redacted() -> None:
    assert "Fjord#" not in screen("password: Fjord#Kran93\nI typed Fjord#Kran93 twice", "user", "memory").text


@pytest.mark.parametrize(
    "text",
    [
        "SSLContextRef = c_uint32\nSecTrustRef = c_uint32", "version 1.2.3\nrelease a1b2c3d\nbuild e4f5a6b",
        "key: Uint8Array\nbuffer: Uint8Array", "- 2024-05-01\n- 2024-05-02\n- 2024-05-03",
    ],
)  # fmt: skip
def test_neighbouring_lines_of_other_values_pass(text: str) -> None:
    assert screen(text, "user", "memory").text == text


def test_an_answer_that_is_a_password_is_found_by_its_question() -> None:
    assert find_in_conversation(["what is the wifi password?", "Kiesel-Bach!74"]) == [[], [(0, 14, "password")]]


def test_an_answer_to_another_question_stays() -> None:
    for messages in (
        ["how many people came?", "4471"],
        ["The dentist appointment with Dr. Shah on the 12th.", "no, the 14th"],
        ["order number?", "INV-20417"],
        ["which one?", "v2.14.3-rc1"],
    ):
        assert find_in_conversation(messages) == [[], []]
