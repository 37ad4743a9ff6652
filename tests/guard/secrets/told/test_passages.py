"""Passages that may tell a secret in plain words: found by a model, in linear time, wherever they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.secrets.told.passages import passage_buckets, passage_model

TOLD = (
    "The till wants marmalade before it opens.",
    "Der Laptop geht mit dem Wort Sanddorn auf.",
    "Pour entrer sur le portail des parents, tape libellule.",
    "那台平板的锁屏是 qingting，别告诉别人。",
)
ORDINARY = (
    "The herons came back to the lake in spring.",
    "We moved the build to the second runner and it takes six minutes now.",
    "Die Suppe schmeckt nach Sellerie und Lauch.",
    "Le marché du samedi commence à huit heures.",
)


@pytest.mark.parametrize("text", TOLD)
def test_a_passage_without_the_name_of_a_credential_is_found(text: str) -> None:
    assert passage_model().passages(text)


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_passage_is_not_looked_at(text: str) -> None:
    assert passage_model().passages(text) == []


def test_a_passage_is_found_in_the_middle_of_a_long_text() -> None:
    text = " ".join([*ORDINARY * 20, TOLD[0], *ORDINARY * 20])
    spans = passage_model().passages(text)
    start = text.index("marmalade")
    assert any(first <= start < last for first, last in spans)
    assert sum(last - first for first, last in spans) < 1000


@given(st.text(max_size=600))
def test_spans_are_in_order_without_overlap(text: str) -> None:
    spans = passage_model().passages(text)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= first < last <= len(text) for first, last in spans)


@pytest.mark.parametrize("shape", ["a", "a.", "a\n", ". ", "密", "...", "password is "])
def test_the_work_grows_with_the_text(shape: str) -> None:
    """Sums of sentences are taken once, and a passage has six of them at most."""
    model = passage_model()
    small, large = (list(model._scored(shape * count)) for count in (200, 2000))
    assert len(large) <= 12 * max(len(small), 1)


def test_buckets_count_every_word_and_pair() -> None:
    assert len(passage_buckets("the safe opens")) > len(passage_buckets("the safe"))
    assert passage_buckets("") == []
