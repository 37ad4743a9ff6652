"""Places of a text that may hold a told secret."""

from guard.secrets.told.candidates import Kind, shaped_candidates


def _values(text: str) -> list[tuple[str, str]]:
    return [(text[found.start : found.end], found.kind) for found in shaped_candidates(text)]


def test_numbers_mixed_words_and_quotations_are_candidates() -> None:
    text = "Gate 4417#, login sam / Plum!Barn42, phrase “two geese walk”."
    assert _values(text) == [
        ("4417#", Kind.NUMBER), ("Plum!Barn42", Kind.MIXED), ("two geese walk", Kind.QUOTED),
    ]  # fmt: skip


def test_measures_hashes_and_apostrophes_are_no_candidates() -> None:
    assert _values("It's 5:00pm and it isn't late: 250ml at 9f3ac21d, #42fab1.") == []


def test_groups_with_digits_are_candidates_as_wholes() -> None:
    assert ("9kq2 x7mv", Kind.GROUPS) in _values("the codes that are left: 9kq2 x7mv, three dogs")
    assert not any(kind == Kind.GROUPS for _, kind in _values("a well-known place, three dogs and 12 cats"))
