"""Redaction replaces matches once and maps the new text back to the original."""

from hypothesis import given
from hypothesis import strategies as st

from guard.match import Match, Strength
from guard.redaction import apply_replacements, replaced_match


def test_overlapping_matches_leave_one_note_of_the_more_important_layer() -> None:
    matches = [replaced_match("pii", "phone", "phone", (3, 9)), replaced_match("secret", "key", "key", (5, 12))]
    assert apply_replacements("my 123456789 key", matches, ("secret", "pii")).text == "my [REDACTED:key] key"


@given(st.text(max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=5))
def test_replaced_spans_map_to_their_original_positions(text: str, cuts: list[tuple[int, int]]) -> None:
    matches = [
        Match(
            layer="secret",
            rule="cut",
            kind="cut",
            start=min(pair),
            end=min(max(pair), len(text)),
            strength=Strength.CLEAN,
            replacement="#",
        )
        for pair in cuts
        if min(pair) < min(max(pair), len(text))
    ]
    edited = apply_replacements(text, matches, ("secret",))
    for position, character in enumerate(edited.text):
        start, end = edited.origin(position, position + 1)
        assert 0 <= start < end <= len(text)
        assert character == "#" or text[start:end] == character
