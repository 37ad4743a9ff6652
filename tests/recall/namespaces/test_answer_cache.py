"""Test when an answer is given again."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from recall.namespaces.answer_cache import AnswerCache
from tests.made_namespaces import NOW

LATER, AT_LAST = NOW + timedelta(minutes=59), NOW + timedelta(hours=1)


def test_an_answer_is_given_again_until_its_time_is_over() -> None:
    cache = AnswerCache[str](most=10)
    assert cache.get("ns", "q", 1, NOW) is None
    cache.keep("ns", "q", 1, "answer", AT_LAST)
    assert cache.get("ns", "q", 1, LATER) == "answer"
    assert cache.get("ns", "q", 1, AT_LAST) is None
    assert (cache.counts().hits, cache.counts().misses, cache.counts().answers) == (1, 2, 0)


def test_another_version_of_the_memories_has_no_answer() -> None:
    cache = AnswerCache[str](most=10)
    cache.keep("ns", "q", (1, 1), "old", AT_LAST)
    assert cache.get("ns", "q", (1, 2), NOW) is None
    assert cache.get("ns", "q", (1, 1), NOW) is None  # it is gone


def test_a_namespace_has_no_answer_of_another_one() -> None:
    cache = AnswerCache[str](most=10)
    cache.keep("one", "q", 1, "answer", AT_LAST)
    assert cache.get("other", "q", 1, NOW) is None
    cache.drop("other")
    assert cache.get("one", "q", 1, NOW) == "answer"
    cache.drop("one")
    assert cache.get("one", "q", 1, NOW) is None


def test_the_answer_that_was_asked_for_least_recently_makes_room() -> None:
    cache = AnswerCache[int](most=2)
    for number in (1, 2):
        cache.keep("ns", number, 0, number, AT_LAST)
    cache.get("ns", 1, 0, NOW)
    cache.keep("ns", 3, 0, 3, AT_LAST)
    assert [cache.get("ns", number, 0, NOW) for number in (1, 2, 3)] == [1, None, 3]
    assert cache.counts().hit_rate == 3 / 4


def test_a_vector_outlives_the_memories_of_its_answer() -> None:
    cache = AnswerCache[str](most=2)
    assert cache.get_vector("model", "q") is None
    cache.keep_vector("model", "q", np.ones(2, np.float32))
    cache.drop("ns")
    found = cache.get_vector("model", "q")
    assert found is not None
    assert found.tolist() == [1, 1]
    assert cache.get_vector("other model", "q") is None
    for number in range(2):
        cache.keep_vector("model", f"q{number}", np.zeros(2, np.float32))
    assert cache.get_vector("model", "q") is None


def test_counts_tell_kept_answers_from_kept_vectors() -> None:
    cache = AnswerCache[str](most=2)
    for versions in (1, 1, 2):
        if cache.get("ns", "q", versions, NOW) is None and cache.get_vector("model", "q") is None:
            cache.keep_vector("model", "q", np.ones(2, np.float32))
        cache.keep("ns", "q", versions, "answer", AT_LAST)
    counts = cache.counts()
    assert (counts.hits, counts.misses, counts.known) == (1, 2, 1)
    assert (counts.hit_rate, counts.known_rate) == (1 / 3, 2 / 3)
