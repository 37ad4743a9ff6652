"""Quotations, identifiers and currencies of an entry are those of its turns."""

from __future__ import annotations

import pytest

from distill.grounding.quoted import missing_strings

TURN = "`src/app.py` keeps ¥2.1M, Maya called it “the long way round” in v1.4.0."


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("`src/app.py` keeps it in v1.4.0.", []),
        ("Maya said “The long  way round”.", []),
        ("It keeps $2.1M.", ["currency '$'"]),
        ("It is in app.pyc now.", ["name 'app.pyc'"]),
        ('Maya called it "the short way".', ["quotation 'the short way'"]),
        ("Version v1.5.0 has it.", ["name 'v1.5.0'"]),
    ],
)
def test_strings_that_nobody_said_are_named(text: str, lacking: list[str]) -> None:
    assert list(missing_strings(text, [TURN])) == lacking
