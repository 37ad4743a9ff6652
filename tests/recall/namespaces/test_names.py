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


def test_letters_that_look_alike_look_the_same() -> None:
    assert appearance("pr\u043ed") == appearance("prod")
    assert appearance("Prod") != appearance("prod")
