"""The shipped weights fit the code, and have the signs that they must have."""

from __future__ import annotations

from distill.evidence.commit_fit import FEATURES
from distill.evidence.commit_model import shipped


def test_every_feature_has_a_weight_of_its_sign() -> None:
    model = shipped()
    assert len(model.weights) == len(FEATURES)
    for name, weight in zip(FEATURES, model.weights, strict=True):
        assert weight <= 0 if name.startswith("lacking") else weight >= 0


def test_nothing_in_common_is_improbable() -> None:
    model = shipped()
    assert model.probability([0.0] * len(FEATURES)) < 0.1 < model.threshold < 1
