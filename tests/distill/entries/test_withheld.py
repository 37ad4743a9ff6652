"""Placeholders of withheld texts are recognised, and statements that say nothing besides them."""

from __future__ import annotations

import pytest

from distill.entries.withheld import has_placeholder, is_empty_without, withheld_words


@pytest.mark.parametrize(
    ("text", "found", "empty"),
    [
        ("my key is [REDACTED:openai_key]", True, True),
        ("The password of the billing server: [REDACTED:password]", True, True),
        ("我的密码是[REDACTED:password]。", True, True),
        ("[forgotten f-0a1b2c3d]", True, True),
        ("The supplier is [f-0a1b2c3d]", True, True),
        ("Ask [REDACTED:email] to sign the lease", True, False),
        ("The supplier is [forgotten f-0a1b2c3d] because Novatex was late", True, False),
        ("my key", False, False),
        ("See [forgotten] and [REDACTED]", False, False),
    ],
)
def test_placeholders_and_empty_statements_are_recognised(text: str, *, found: bool, empty: bool) -> None:
    assert has_placeholder(text) is found
    assert is_empty_without(text) is empty


def test_forgotten_words_are_named_once() -> None:
    screened = "From [forgotten f-0a1b2c3d] to [forgotten f-0a1b2c3d]"
    assert withheld_words("From Tex to Tex", screened) == "Tex"
    assert withheld_words("Another text", screened) == ""
    assert withheld_words("my key is 1", "my key is [REDACTED:key]") == ""
