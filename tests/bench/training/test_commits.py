"""The shipped model is what the training makes of the features beside it."""

from __future__ import annotations

import pytest

from bench.training.commits import read_examples, repositories, trained
from distill.evidence.commit_fit import FEATURES
from distill.evidence.commit_model import shipped


def test_the_features_fit_the_code() -> None:
    examples = read_examples()
    assert {example.sort for example in examples} == {"true", "twin", "other", "exchanged"}
    assert all(len(example.fit.features) == len(FEATURES) for example in examples)
    assert all(len(example.fit.units) == len(example.altered) for example in examples)
    assert len(repositories(examples)) >= 13


def test_the_shipped_model_verifies_most_true_reports_and_no_false_twin() -> None:
    model, examples = shipped(), read_examples()
    passed = [example.sort for example in examples if model.probability(example.fit) >= model.threshold]
    assert passed.count("true") >= 0.65 * sum(example.sort == "true" for example in examples)
    assert "twin" not in passed


def test_training_on_a_sample_comes_near_the_shipped_model() -> None:
    model, sample = trained(read_examples()[::3]), read_examples()[1::3]
    ours = [shipped().probability(example.fit) for example in sample]
    theirs = [model.probability(example.fit) for example in sample]
    assert sum(map(abs, map(float.__sub__, ours, theirs))) / len(sample) == pytest.approx(0, abs=0.15)
