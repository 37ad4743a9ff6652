"""The shipped weights fit the code, and have the signs that they must have."""

from __future__ import annotations

from distill.evidence.commit_fit import FEATURES, Fit
from distill.evidence.commit_model import REPORT_FEATURES, shipped
from distill.evidence.unit_support import UNIT_FEATURES

NOTHING = (0.0,) * len(FEATURES)


def row(*names: str) -> tuple[tuple[int, float], ...]:
    return tuple((UNIT_FEATURES.index(name), 1.0) for name in names)


def test_every_feature_has_a_weight_of_its_sign() -> None:
    model = shipped()
    for name, weight in zip(REPORT_FEATURES, model.weights, strict=True):
        against = name.startswith("lacking") or name.endswith(("doubt", "risk"))
        assert weight <= 0 if against else weight >= 0, name


def test_nothing_in_common_is_improbable() -> None:
    model = shipped()
    assert model.probability(Fit(features=NOTHING)) < model.threshold < 1
    missing = Fit(features=NOTHING, units=(row("word:", "known"),), rarities=(0.5,))
    assert model.probability(missing) < 0.1


def test_a_missing_word_is_doubted_more_than_one_of_the_subject() -> None:
    missing, there = shipped().doubts([row("word:", "known", "rival_missing"), row("word:message")])
    assert missing > 0 > there


def test_a_comparison_with_a_veto_has_no_probability() -> None:
    assert shipped().probability(Fit(features=(1.0,) * len(FEATURES), veto="has no 3.12")) == 0.0
