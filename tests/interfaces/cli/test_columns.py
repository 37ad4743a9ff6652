"""Test how texts are fitted into columns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interfaces.cli.columns import cells, fitted, padded, wrapped

TEXTS = st.text(st.sampled_from("ab 茶é\u0301\n.") | st.characters(exclude_categories=["Cc", "Cs"]), max_size=60)


@given(TEXTS, st.integers(min_value=4, max_value=30))
def test_no_line_is_wider_than_it_may_be_and_no_word_is_lost(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert max(map(cells, lines)) <= width
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(TEXTS.filter(lambda text: "\n" not in text), st.integers(min_value=2, max_value=30))
def test_a_cut_text_fits_and_says_that_it_was_cut(text: str, width: int) -> None:
    cut = fitted(text, width)
    assert cells(cut) <= width
    assert cut == text or cut.endswith("…")
    assert cells(padded(text, width)) == width


def test_a_line_keeps_its_indentation_and_empty_lines_stay() -> None:
    assert wrapped("  a list\n\nof words", 10) == ["  a list", "", "of words"]
