"""Test which names a namespace may have."""

from __future__ import annotations

import pytest

from recall.namespaces.errors import NamespaceRefused
from recall.namespaces.names import appearance, checked_name


@pytest.mark.parametrize("name", ["multi-agent-prod", "user:42", "ann@example.org", "用户-42", "नमस्ते", "a", "x" * 128])
def test_letters_and_digits_of_any_script_make_a_name(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "", "x" * 129, "a b", "a/b", "a\nb", "-a", ".", "a'; DROP TABLE namespaces;--", 'a"b', "a%b", "a*", "a\\b",
        "a$b", "a\u200bb", "a\u202eb", "a\u3164b", "a\ufe0fb", "a\x00b", "a\ud800b", "\uff46\uff55", "e\u0301",
    ],
)  # fmt: skip
def test_signs_blanks_and_hidden_characters_make_none(name: str) -> None:
    with pytest.raises(NamespaceRefused):
        checked_name(name)


@pytest.mark.parametrize(
    ("plain", "other"),
    [("TEST", "\u13a2\u13ac\u13da\u13a2"), ("Acme", "\ua4eecme"), ("Ox", "\u2c9ex"), ("na\u00efve", "na\u0457ve"),
     ("a1", "a\u0661")],
)  # fmt: skip
def test_other_scripts_accents_and_digits_look_the_same(plain: str, other: str) -> None:
    assert appearance(checked_name(other)) == appearance(plain)


def test_letters_that_look_alike_look_the_same() -> None:
    assert appearance("pr\u043ed") == appearance("prod")
    assert appearance("Prod") != appearance("prod")
