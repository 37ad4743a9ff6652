"""Patterns of secret rules keep Go's meaning, count characters and stay linear."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard import GuardSettings, RuleError, rules_from_gitleaks, screen
from guard.secrets.pattern import compile_pattern
from guard.text.canonical import TextVariant


def matches(pattern: str, text: str) -> list[str]:
    """Return the matches of *pattern* in *text*."""
    return [text[slice(*spans[0])] for spans in compile_pattern("toy", pattern).matches(TextVariant(text, text))]


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (r"a(?i)b|c", "aB", "AB"),
        (r"a(?i)b|c", "C", "A"),
        (r"(a(?i)b)c", "aBc", "aBC"),
        (r"(?i)a(?-i:B)", "AB", "Ab"),
        (r"^a\z", "a", "a\n"),
        (r"^a$", "a", "a\n"),
        (r"^[[:alpha:]_]+$", "ab_", "a1"),
        (r"^[[a]+$", "[a", "b"),
        (r"^[]a]+$", "]a", "b"),
        (r"^\x{41}$", "A", "B"),
        (r"^\Qa.b\E$", "a.b", "axb"),
        (r"^(?<n>a)$", "a", "b"),
        (r"^a{,3}$", "a{,3}", "aa"),
        (r"^\d$", "1", "١"),
        (r"^\w$", "a", "é"),
        (r"^\s$", "\t", "\u3000"),
        (r"^[+--]+$", "-+", "a"),
    ],
)
def test_a_pattern_has_the_meaning_it_has_in_go(pattern: str, matching: str, other: str) -> None:
    assert compile_pattern("toy", pattern).occurs(matching)
    assert not compile_pattern("toy", pattern).occurs(other)


@pytest.mark.parametrize("before", ["", "é", "密码", "\U0001f600", "\ud800", "\udfff\ud800x"])
def test_spans_count_characters(before: str) -> None:
    text = f"{before}key=a{before}b {before}key=c{before}d"
    found = [
        [text[start:end] for start, end in spans]
        for spans in compile_pattern("toy", "key=(a|c)(\\D*?)(b|d)(z)?").matches(TextVariant(text, text))
        if spans[4] == (-1, -1)
    ]
    assert [spans[:4] for spans in found] == [
        [f"key=a{before}b", "a", before, "b"],
        [f"key=c{before}d", "c", before, "d"],
    ]


@given(st.text("ab é密\U0001f600\ud800\n", max_size=40))
def test_every_match_is_found_in_any_text(text: str) -> None:
    assert matches("a+", text) == [part for part in "".join(c if c == "a" else " " for c in text).split(" ") if part]


def test_empty_matches_are_left_out() -> None:
    assert matches("a*", "é密aa\U0001f600a") == ["aa", "a"]


def test_a_pattern_that_does_not_compile_names_its_rule_and_the_reason() -> None:
    with pytest.raises(RuleError, match=r"'toy' does not compile \(missing \): \("):
        compile_pattern("toy", "(")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", ["(a+)+$", "(?:a|a)*b", "(?:a*)*c", "(.*)(.*)(.*)(.*)x", "(?:a?){500}a{500}b"])
def test_a_rule_that_backtracking_could_not_finish_is_quick(pattern: str) -> None:
    rules = rules_from_gitleaks(f"[[rules]]\nid = 'slow'\nkeywords = ['a']\nregex = '{pattern}'")
    begun = time.process_time()
    screen("a" * 60_000 + "!", "user", "memory", settings=GuardSettings(loaded=(rules,)))
    assert time.process_time() - begun < 2


def test_a_rule_that_looks_far_beyond_every_match_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hole: `a(?:.*b)?` takes matches times length, and a prompt waited for it."""
    monkeypatch.setattr("guard.secrets.pattern.MATCH_SECONDS", 0.1)
    rules = rules_from_gitleaks("[[rules]]\nid = 'far'\nregex = 'a(?:.*b)?'\nkeywords = ['a']\n")
    settings = GuardSettings(rules=("far.toml",), loaded=(rules,))
    begun = time.process_time()
    with pytest.raises(RuleError, match=r"'far' took more than 0\.1 s on one text; let it look less far"):
        screen("a" * 200_000, "user", "transcript", settings=settings)
    assert time.process_time() - begun < 1.5
