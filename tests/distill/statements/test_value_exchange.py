"""One value of an older statement is exchanged for a newer one."""

from __future__ import annotations

import pytest

from distill.statements.value_exchange import exchange_value, exchanges_value, says_more


@pytest.mark.parametrize(
    ("older", "newer", "wanted"),
    [
        ("My vet is Dr. Lind and the visit is on 20 November at 9:15.", "The visit is at 9:45, not 9:15.",
         "My vet is Dr. Lind and the visit is on 20 November at 9:45."),
        ("The server has 16 GB and runs Debian.", "The server has 32 GB, not 16.",
         "The server has 32 GB and runs Debian."),
        ("The desk is 160 cm wide and oak.", "The desk is 140 cm wide, not 160.", "The desk is 140 cm wide and oak."),
        ("See Ana on Monday (2026-11-23) and Bo is ill.", "See Ana on Tuesday (2026-11-24), not Monday (2026-11-23).",
         "See Ana on Tuesday (2026-11-24) and Bo is ill."),
        ("房租每月2600,在三楼。", "房租是2800,不是2600。", "房租每月2800,在三楼。"),
        ("快递放在北门,取件码是小鹿17。", "快递放在南门,不是北门。", "快递放在南门,取件码是小鹿17。"),
    ],
)  # fmt: skip
def test_the_old_value_is_exchanged_and_every_other_word_stays(older: str, newer: str, wanted: str) -> None:
    assert exchange_value(older, newer) == wanted
    assert exchanges_value(older, newer)
    assert says_more(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Ana comes at 9:15 and Bo at 9:15.", "The visit is at 9:45, not 9:15."),
        ("The kitchen is on floor 2.", "The bright meeting room is on floor 3, not floor 2."),
        ("Use metric units.", "No, the office opens at 8, not 9."),
        ("a " * 5000, "not 9, but 10"),
    ],
)
def test_a_value_that_stands_twice_or_belongs_to_another_thing_is_not_exchanged(older: str, newer: str) -> None:
    assert not exchanges_value(older, newer)


def test_a_statement_of_one_clause_says_no_more_than_its_correction() -> None:
    assert not says_more("We choose Novatex as supplier for the fabrics.", "The supplier is Tex instead of Novatex.")
