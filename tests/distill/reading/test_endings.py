"""The model of endings: its shipped weights, and what it judges."""

from __future__ import annotations

import time

import numpy as np
import pytest

from bench.training.endings import CEILING, LeftOutPair, choose_thresholds, read_pairs, train
from distill.reading.endings import (
    FEATURES,
    HEADS,
    judge_ending,
    load_weights,
    pair_features,
    shows_ending,
    weights_from,
)

_VECTOR_FEATURES = 4
VECTORS = (np.full(384, 384**-0.5, np.float32), np.full(384, 384**-0.5, np.float32))


def test_shipped_weights_belong_to_the_features() -> None:
    weights = load_weights()
    for head in ("end", *HEADS):
        assert len(weights.weights[head]) == len(FEATURES) - _VECTOR_FEATURES + 2  # with a score of masked words
        assert len(weights.weights[f"{head}+vector"]) == len(FEATURES) + 3
    for head in HEADS:
        assert 0 < weights.likely[head] <= weights.certain[head] < 1


def test_weights_for_other_features_are_refused() -> None:
    with pytest.raises(ValueError, match=r"bench\.training\.endings"):
        weights_from({"features": ["colour"], "heads": {}}, {})


def test_shipped_weights_judge_the_pairs_that_they_were_trained_on() -> None:
    labels = {"R": "resolve", "T": "retract", "P": "replace"}
    some = read_pairs()[::4]
    pairs = [(labels.get(pair.label, ""), judge_ending(pair.older, pair.newer, pair.role)) for pair in some]
    certain = [(label, ending.kind) for label, ending in pairs if ending.certain]
    assert sum(bool(label) for label, _ in certain) >= 0.9 * len(certain)
    assert sum(label == kind for label, kind in certain) >= 0.75 * len(certain)
    assert len(certain) >= 0.25 * sum(bool(label) for label, _ in pairs)


def test_training_again_on_a_sample_gives_useful_weights() -> None:
    some = {"endings.txt", "pairs.unseen.jsonl"}
    stored, arrays, reports = train([pair for pair in read_pairs() if pair.file in some][::2], None)
    report = reports[-1]
    assert [found.name for found in reports] == [*(f"{name} left out" for name in sorted(some)), "all files left out"]
    assert tuple(stored["features"]) == FEATURES
    assert report.precision >= 0.8
    assert report.recall >= 0.1
    assert {"trees_values", "masked_grams"} <= arrays.keys()


@pytest.mark.parametrize(
    ("older", "newer", "head"),
    [
        ("Send the budget to Mina", "The budget was sent to Mina yesterday, so that's off my plate", "resolve"),
        ("把预算发给小美", "预算已经发给小美了", "resolve"),
        ("Backups are kept for 30 days", "backups are kept for 90 days now, not 30", "replace"),
        ("The demo is on Monday", "I was wrong about the demo, it's not on Monday", "retract"),
        ("我对猫过敏", "过敏那事是我瞎说的,我对猫不过敏", "retract"),
    ],
)
def test_an_ending_is_certain(older: str, newer: str, head: str) -> None:
    found = judge_ending(older, newer, "user", thread=head == "resolve")
    assert (found.kind, found.certain) == (head, True)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Send the budget to Mina", "I still have to send the budget to Mina"),
        ("Send the budget to Mina", "Mina is on holiday"),
        ("把预算发给小美", "预算还没发给小美"),
        ("The demo is on Monday", "The demo on Monday will be short"),
        ("The demo is on Monday", "Is the demo on Tuesday then?"),
    ],
)
def test_open_work_questions_and_other_statements_end_nothing(older: str, newer: str) -> None:
    assert not judge_ending(older, newer, "user").certain


@pytest.mark.parametrize(
    ("thread", "said", "certain"),
    [
        ("book the B&B for our Whitby trip", "Never mind the Whitby trip.", True),
        ("去威海的民宿我还没订", "威海不去了。", True),
        ("book the B&B for our Whitby trip", "Never mind the typo in the Whitby mail.", False),
        ("book the B&B for our Whitby trip", "Don't forget the Whitby trip.", False),
        ("book the B&B for our Whitby trip", "We might cancel the Whitby trip.", False),
        ("去威海的民宿我还没订", "威海那封邮件里的错字不用管了。", False),
    ],
)
def test_what_is_called_off_ends_the_thread_that_has_all_its_words(thread: str, said: str, certain: bool) -> None:
    assert judge_ending(thread, said, "user", thread=True).certain is certain


def test_thresholds_are_those_at_which_the_pairs_left_out_are_precise() -> None:
    told = [("resolve", 0.9), ("resolve", 0.8), ("", 0.7), ("resolve", 0.6)]
    pairs = [
        LeftOutPair(file="some", threshold="end", kind="resolve", wanted=wanted, chance=chance)
        for wanted, chance in told
    ]
    certain, likely = choose_thresholds(pairs)
    assert (certain["end"], likely["end"]) == (0.8, 0.6)
    assert certain["replace"] == CEILING


def test_what_belongs_to_somebody_else_ends_nothing_for_certain() -> None:
    older = "Mireille is head of the user's department."
    found = judge_ending(older, "Mireille's deputy resigned, someone called Stefan is doing it now", "user")
    assert not found.certain


def test_features_with_a_cosine_are_more() -> None:
    assert len(pair_features("a plan", "the plan", "user")) == len(FEATURES) - _VECTOR_FEATURES
    assert len(pair_features("a plan", "the plan", "user", 0.5)) == len(FEATURES)


def test_a_question_shows_no_ending() -> None:
    assert not shows_ending("Is the deck done?")
    assert shows_ending("The deck is done.")


def test_long_texts_cost_little() -> None:
    text = "done not finished " * 20_000
    started = time.perf_counter()
    judge_ending(text, text, "user", VECTORS)
    assert time.perf_counter() - started < 1
