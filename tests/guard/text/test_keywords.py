"""Keywords are found in any text, and a search that fails matches every rule."""

import pytest

from guard.text.canonical import TextVariant
from guard.text.keywords import KeywordIndex

INDEX = KeywordIndex([["aws", "a3t"], [], ["a.b", "("], ["密码"], ["-p"]])


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", [1]),
        ("AWS and aws", [0, 1]),
        ("x A3T x", [0, 1]),
        ("a.b", [1, 2]),
        ("axb", [1]),
        ("f(x)", [1, 2]),
        ("\ud800密码 -p", [1, 3, 4]),
    ],
)
def test_rules_match_by_the_keywords_in_a_text(text: str, numbers: list[int]) -> None:
    assert INDEX.matching_rules(TextVariant(text, text)) == numbers


def test_a_search_that_runs_out_of_memory_matches_every_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    class Exhausted:
        def Match(self, _text: bytes) -> None:  # noqa: N802
            return None

    index = KeywordIndex([["aws"], [], ["key"]])
    monkeypatch.setattr(index, "_set", Exhausted())
    assert index.matching_rules(TextVariant("nothing", "nothing")) == [0, 1, 2]


def test_too_many_keywords_for_the_memory_of_the_set_match_every_rule() -> None:
    index = KeywordIndex([["k" * 300_000], [], ["key"]])
    assert index.matching_rules(TextVariant("nothing", "nothing")) == [0, 1, 2]
