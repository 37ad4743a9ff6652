"""Training of the learned relation of two statements."""

from __future__ import annotations

from bench.training.relations import RelatedPair, development_pairs, train
from distill.statements.contradiction import relation
from distill.statements.pairs.pair_features import FEATURES, compare


def test_half_of_the_pairs_and_more_are_hard_negatives() -> None:
    own = [pair for pair in development_pairs() if pair.half]
    assert len(own) >= 160
    assert sum(pair.relation not in {"replaced", "same"} for pair in own) >= 0.45 * len(own)
    assert {pair.lang for pair in own} == {"en", "zh"}


def test_training_on_a_sample_tells_replaced_pairs_from_others() -> None:
    rows = development_pairs()[::3]
    weights = train(rows)["replaced"]

    def score(pair: RelatedPair) -> float:
        values = compare(pair.older, pair.newer).values
        return weights["constant"] + sum(weights[name] * value for name, value in zip(FEATURES, values, strict=True))

    replaced = [score(pair) for pair in rows if pair.relation == "replaced"]
    others = [score(pair) for pair in rows if pair.relation == "different"]
    better = sum(one > other for one in replaced for other in others)
    assert better >= 0.9 * len(replaced) * len(others)


def test_shipped_weights_are_precise_on_the_development_pairs() -> None:
    rows = [pair for pair in development_pairs() if pair.half]
    given = [pair for pair in rows if relation(pair.older, pair.newer).kind == "replaced"]
    right = [pair for pair in given if pair.relation == "replaced"]
    assert len(right) >= 0.97 * len(given)
    assert len(right) >= 0.7 * sum(pair.relation == "replaced" for pair in rows)
