"""The model of masked pairs learns words of endings, whatever they are about."""

from __future__ import annotations

import numpy as np

from bench.training.masked_pairs import fit_masked
from distill.reading.masked_pairs import hashed_grams


def test_words_of_one_thing_hold_for_another() -> None:
    things = ["deck", "piano", "visa", "ladder", "garden"]
    pairs = [(f"the {thing}", text) for thing in things for text in (f"the {thing} is done", f"a {thing} costs much")]
    buckets = [hashed_grams(older, newer, "user") for older, newer in pairs]
    wanted = np.array([1.0, 0.0] * len(things))
    model = fit_masked(buckets, None, wanted, np.ones(len(pairs)))
    done, costs = (hashed_grams("the boat", text, "user") for text in ("the boat is done", "a boat costs much"))
    assert model.score(done) > 0 > model.score(costs)
