"""Test that relevance is a share of chance: it grows with the fit, and falls with the number of memories."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.namespaces.relevance import relevance

FITS = st.floats(-1, 1)
SHARES = st.floats(0, 1)


@given(cosine=st.none() | FITS, words=SHARES, memories=st.integers(0, 10**6), cjk=st.booleans())
def test_relevance_is_a_share(cosine: float | None, words: float, memories: int, cjk: bool) -> None:
    assert 0 <= relevance(cosine, words, memories=memories, cjk=cjk) <= 1


@pytest.mark.parametrize("cjk", [True, False])
def test_more_of_either_sign_is_more_relevant(cjk: bool) -> None:
    for cosines in pairwise(number / 20 for number in range(20)):
        low, high = (relevance(cosine, 0.1, memories=100, cjk=cjk) for cosine in cosines)
        assert low <= high
    assert relevance(0.3, 0.1, memories=100, cjk=cjk) < relevance(0.3, 0.5, memories=100, cjk=cjk)


def test_the_same_fit_among_more_memories_is_less_relevant() -> None:
    assert relevance(0.4, 0.1, memories=50, cjk=False) > relevance(0.4, 0.1, memories=5000, cjk=False)


def test_without_a_vector_and_a_common_word_nothing_is_relevant() -> None:
    assert relevance(None, 0.0, memories=1, cjk=False) == 0.0
