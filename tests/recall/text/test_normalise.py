"""Texts that look alike are spelled alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.text.normalise import normalise


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("plain", "plain"),
        ("ＡＢＣ１２", "ABC12"),
        ("don’t", "don't"),
        ("−5 °C", "-5 °C"),
        ("pass\u200bword", "password"),
        ("half \ud800 pair", "half  pair"),
        ("nul\x00byte", "nul byte"),
    ],
)
def test_one_spelling(text: str, normal: str) -> None:
    assert normalise(text) == normal


@given(st.text(alphabet=st.characters(codec="utf-8", max_codepoint=127)))
def test_ascii_stays_but_for_the_nul(text: str) -> None:
    assert normalise(text) == text.replace("\x00", " ")
