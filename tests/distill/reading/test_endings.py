"""The model of endings: its shipped weights, and what it judges."""

from __future__ import annotations

import time

import pytest

from bench.training.endings import DATA, read_pairs, train
from distill.reading.endings import (
    FEATURES,
    HEADS,
    judge_ending,
    load_weights,
    pair_features,
    shows_ending,
    weights_from,
)


def test_shipped_weights_belong_to_the_features() -> None:
    weights = load_weights()
    for head in HEADS:
        assert len(weights.weights[head]) == len(FEATURES) - 3
        assert len(weights.weights[f"{head}+vector"]) == len(FEATURES)
        assert 0 < weights.likely[head] <= weights.certain[head] < 1


def test_weights_for_other_features_are_refused() -> None:
    with pytest.raises(ValueError, match=r"bench\.training\.endings"):
        weights_from({"features": ["colour"], "heads": {}})


def test_shipped_weights_judge_the_pairs_that_they_were_trained_on() -> None:
    pairs = read_pairs()
    certain = [(pair.label, judge_ending(pair.older, pair.newer, pair.role).certain) for pair in pairs]
    resolved = [label for label, heads in certain if "resolve" in heads and label in "RD"]
    assert resolved.count("R") / len(resolved) >= 0.9
    retracted = [label for label, heads in certain if "retract" in heads and label in "TPSD"]
    assert retracted.count("T") / len(retracted) >= 0.9
    assert retracted.count("T") >= 0.7 * sum(pair.label == "T" for pair in pairs)


def test_training_again_on_a_sample_gives_useful_weights() -> None:
    stored, reports = train(read_pairs(DATA)[::2], None)
    assert tuple(stored["features"]) == FEATURES
    found = {report.head: report for report in reports}
    assert found["retract"].precision >= 0.9
    assert found["retract"].recall >= 0.2
    weights_from(stored)


@pytest.mark.parametrize(
    ("older", "newer", "head"),
    [
        ("Send the budget to Mina", "The budget was sent to Mina yesterday, so that's off my plate", "resolve"),
        ("把预算发给小美", "预算已经发给小美了", "resolve"),
        ("The demo is on Monday", "I was wrong about the demo, it's not on Monday", "retract"),
        ("我对猫过敏", "过敏那事是我瞎说的,我对猫不过敏", "retract"),
    ],
)
def test_an_ending_is_certain(older: str, newer: str, head: str) -> None:
    assert head in judge_ending(older, newer, "user").certain


@pytest.mark.parametrize(
    ("older", "newer", "head"),
    [
        ("Send the budget to Mina", "I still have to send the budget to Mina", "resolve"),
        ("Send the budget to Mina", "Mina is on holiday", "resolve"),
        ("把预算发给小美", "预算还没发给小美", "resolve"),
        ("The demo is on Monday", "The demo on Monday will be short", "retract"),
    ],
)
def test_open_work_and_other_statements_end_nothing(older: str, newer: str, head: str) -> None:
    assert head not in judge_ending(older, newer, "user").certain


def test_features_with_a_cosine_are_three_more() -> None:
    assert len(pair_features("a plan", "the plan", "user")) == len(FEATURES) - 3
    assert len(pair_features("a plan", "the plan", "user", 0.5)) == len(FEATURES)


def test_a_question_shows_no_ending() -> None:
    assert not shows_ending("Is the deck done?")
    assert shows_ending("The deck is done.")


def test_long_texts_cost_little() -> None:
    text = "done not finished " * 20_000
    started = time.perf_counter()
    judge_ending(text, text, "user", 0.5)
    assert time.perf_counter() - started < 1
