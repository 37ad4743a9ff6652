"""Options that a reply names by their place."""

from __future__ import annotations

import time

import pytest

from distill.summary.options import chosen_option, listed_options

INLINE = "There are two ways: 1. hire a cleaner, 2. share the chores. Which one?"
BULLETS = "Which layout?\n- Two columns\n- One wide column\n- A grid of cards"


@pytest.mark.parametrize(
    ("content", "reply", "option"),
    [
        (INLINE, "the second one", "share the chores"),
        (INLINE, "number one please", "hire a cleaner"),
        (INLINE, "the latter", "share the chores"),
        (BULLETS, "the last one", "A grid of cards"),
        (BULLETS, "2", "One wide column"),
        ("方案:1. 租服务器 2. 买服务器 3. 用机房。选哪个?", "那就第二个吧", "买服务器"),
        ("A. 红色 B. 蓝色", "选 B", "蓝色"),
    ],
)
def test_the_place_names_the_option(content: str, reply: str, option: str) -> None:
    assert chosen_option(content, reply) == option


@pytest.mark.parametrize(
    ("content", "reply"), [(INLINE, "the fifth one"), (INLINE, "yes"), ("Shall we go?", "the first"), ("", "")]
)
def test_a_place_that_is_not_listed_names_nothing(content: str, reply: str) -> None:
    assert chosen_option(content, reply) == ""


@pytest.mark.parametrize("piece", ["1. a ", "- a\n", "A. ", "第"])
def test_options_are_found_in_linear_time(piece: str) -> None:
    text, start = piece * 20_000, time.process_time()
    listed_options(text)
    chosen_option(text, text)
    assert time.process_time() - start < 1.0
