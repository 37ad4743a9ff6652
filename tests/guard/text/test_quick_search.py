"""Quick searches find the beginning, and occur wherever the exact patterns match."""

import pytest

from guard.pii import find_pii
from guard.secrets.generic import GENERIC
from guard.secrets.spoken_codes import SPOKEN_CODES
from guard.text.canonical import TextVariant, utf8
from guard.text.quick_search import first_place


def test_the_place_is_in_bytes_and_missing_is_negative() -> None:
    assert first_place("[0-9]+", utf8("é 12")) == 3
    assert first_place("[0-9]+", b"none") == -1


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("spoken-code", "The ALARM code is 9035"),
        ("spoken-code-of", "the code for the back door is 4417"),
        ("spoken-code-before", "4417 is the door code"),
        ("spoken-pin", "My new pin is 4417"),
        ("netrc", "machine a login ana\x0bpassword Plum!Barn42"),
        ("environment-password", "export DB_PASSWORD=Plum!Barn42"),
    ],
)
def test_a_rule_finds_what_its_quick_pattern_lets_through(rule: str, text: str) -> None:
    (found,) = [each for each in (*GENERIC.rules, *SPOKEN_CODES.rules) if each.name == rule]
    assert list(found.matches(TextVariant(text, text)))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("iban", "iban: gb82 west 1234 5698 7654 32"),
        ("phone-context", "mein\x0bnummer 0151 2345678"),
        ("phone-context", "call me at (0151) 2345678"),
        ("national-id", "Steuernummer: 93815/08152"),
    ],
)
def test_personal_data_is_found_behind_its_quick_pattern(rule: str, text: str) -> None:
    assert rule in {match.rule for match in find_pii(TextVariant(text, text))}
