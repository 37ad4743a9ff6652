"""Variants fold similar characters and map back to the original text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.text.canonical import text_variants


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("ﬁne", "fine"),
        ("ig\u200bno\u00adre", "ignore"),
        ("précédent", "precedent"),
        ("密码：甲", "密码:甲"),
        ("e\u0301", "e"),
        ("a\x00b", "ab"),
        ("a\U000e0041b", "ab"),
        ("a\u2028b", "a\nb"),
        ("が한", "が한"),
    ],
)
def test_folding(text: str, folded: str) -> None:
    assert folded in [variant.text for variant in text_variants(text)]


def test_lookalikes_become_latin_only_in_the_skeleton() -> None:
    raw, skeleton = text_variants("іgnоrе")
    assert (raw.text, skeleton.text) == ("іgnоrе", "ignore")


def test_plain_ascii_has_one_variant() -> None:
    assert len(text_variants("plain text\n")) == 1


@given(st.text(max_size=40))
def test_every_span_maps_into_the_source(text: str) -> None:
    for variant in text_variants(text):
        assert len(variant.lowered) == len(variant.text)
        for start in range(len(variant.text)):
            first, last = variant.span(start, start + 1)
            assert 0 <= first < last <= len(text)
