"""Two things of one sort are told apart by the word that qualifies them."""

from __future__ import annotations

import pytest

from distill.statements.other_subject import names_other_thing


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The mail server runs on port 2525.", "The test server runs on port 9090 now."),
        ("The backup of the shop runs at 2 am.", "The backup of the wiki runs at 4 am now."),
        ("发票服务器的端口是8080", "测试服务器的端口改成9090了"),
    ],
)
def test_another_thing_of_the_sort_is_another_thing(older: str, newer: str) -> None:
    assert names_other_thing(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The mail server runs on port 2525.", "The mail server runs on port 9090 now."),
        ("My old phone is a Pixel.", "My new phone is a Fairphone."),
        ("The backup of the shop runs at 2 am.", "The backup of the shop runs at 4 am now."),
        ("We use Jenkins for builds.", "We use Buildkite for builds now."),
        ("发票服务器的端口是8080", "发票服务器的端口改成9090了"),
        ("The rehearsal is on Monday.", "The party is on Friday."),
    ],
)
def test_a_new_value_of_the_same_thing_is_not(older: str, newer: str) -> None:
    assert not names_other_thing(older, newer)
