"""Training of the model that tells another value of one object from another object."""

from __future__ import annotations

import math

from bench.training.pairs.same_object import ObjectPair, labelled_pairs, sentence_pairs, train
from distill.statements.pairs.same_object import chance_of_same_object, shape_features


def test_sentences_give_pairs_of_both_kinds_in_each_language() -> None:
    rows = sentence_pairs()
    for lang in ("en", "de", "fr", "es", "zh"):
        assert {row.same for row in rows if row.lang == lang} == {True, False}


def test_pairs_that_say_the_same_are_left_out() -> None:
    assert all(row.older != row.newer for row in labelled_pairs())


def test_sentences_that_the_training_did_not_see_are_told_apart() -> None:
    rows = sentence_pairs()
    held = set(sorted({row.sentence for row in rows})[::4])
    weights = train([row for row in rows if row.sentence not in held])

    def chance(row: ObjectPair) -> float:
        total = weights["constant"] + sum(weights.get(name, 0.0) for name in shape_features(row.older, row.newer))
        return 1 / (1 + math.exp(-total))

    unseen = [row for row in rows if row.sentence in held]
    given = [row for row in unseen if chance(row) >= 0.9]
    assert sum(row.same for row in given) >= 0.85 * len(given)
    assert sum(row.same for row in given) >= 0.4 * sum(row.same for row in unseen)


def test_shipped_weights_find_few_values_among_other_objects() -> None:
    others = [row for row in sentence_pairs() if not row.same]
    assert sum(chance_of_same_object(row.older, row.newer) >= 0.9 for row in others) <= 0.03 * len(others)
