"""Controls and line ends in names become escapes, and JSON keeps its data."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.visible import revealed, visible, visible_json, visible_line

HOSTILE = "a\x1b]0;x\x07\x9b2J\u202eb\u2028c\r\udcff\nmemory: all is well"


def obeyed(text: str) -> list[str]:
    """Return the characters of *text* that a terminal obeys, besides tabs and line ends."""
    controls = {*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
    return [char for char in text if ord(char) in controls - {9, 10} or 0xD800 <= ord(char) <= 0xDFFF]


def test_a_terminal_obeys_nothing_of_a_hostile_name() -> None:
    assert obeyed(visible(HOSTILE)) == []
    assert visible_line(HOSTILE) == ("a\\x1b]0;x\\x07\\x9b2J\\u202eb\\u2028c\\r\\udcff\\nmemory: all is well")


def test_text_of_many_scripts_stays() -> None:
    text = "Zoë naïve 文件 שלום\u200f עולם مرحبا क्षि \U0001f468\u200d\U0001f469\tx\r\nnext\n"
    assert visible(text) == text


@given(st.text())
def test_json_holds_the_same_data_without_controls(text: str) -> None:
    shown = visible_json({"a": text + HOSTILE}, indent=1)
    assert json.loads(shown) == {"a": text + HOSTILE}
    assert obeyed(shown) == []


@pytest.mark.parametrize(
    "char",
    ["\u034f", "\u115f", "\u17b5", "\u180b", "\u2800", "\u3164", "\ufe00", "\ufe0f", "\uffa0", "\U000e0100",
     "\u200b", "\u202e", "\u2066", "\ufeff", "\u00ad", "\U000e0041", "\ue000", "\x1b", "\x00", "\r", "\ud800"],
)  # fmt: skip
def test_a_character_that_nobody_sees_is_shown(char: str) -> None:
    assert revealed(f"a{char}b") == f"a{ascii(char)[1:-1]}b"
    assert revealed(char) == ascii(char)[1:-1]


def test_pictures_and_letters_of_all_scripts_stay() -> None:
    text = "\u3000Zoë ❤\ufe0f 1\ufe0f\u20e3 ‼\ufe0f ©\ufe0e 文件，「好」 שלום مرحبا क्षि 🎉\tx\nnext"
    assert revealed(text) == text
    assert revealed("❤\ufe0f\ufe0f") == "❤\ufe0f\\ufe0f"
