"""Training of the reader: it is deterministic, learns from a small sample, and has the format of the shipped file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.training.idle_turns import IDLE_TURNS
from bench.training.reader import WEAK, Spoken, load_sentences, train, with_idle_turns
from distill.reading.classifier import load_weights


def _sample(step: int) -> list[Spoken]:
    return [row for row in load_sentences() if row.role == "user"][::step]


def test_sample_trains_a_reader_that_tells_acts_from_ordinary_sentences() -> None:
    rows = _sample(12)
    weights = train(rows)
    shipped = load_weights()
    assert (weights.table.shape, weights.table.dtype) == (shipped.table.shape, shipped.table.dtype)
    others = _sample(11)[:200]
    keep = np.asarray([weights.read(row.text, row.previous, row.role).keep for row in others])
    ordinary = np.asarray([row.act == "none" for row in others])
    assert keep[~ordinary].mean() > keep[ordinary].mean() + 0.2


def test_sentences_with_weak_labels_join_at_a_small_weight() -> None:
    rows = _sample(24)
    weak = [replace(row, writer=WEAK, act="fact" if row.act != "none" else "none") for row in _sample(35)]
    assert not np.array_equal(train(rows).table, train([*rows, *weak]).table)


def test_training_twice_gives_the_same_weights() -> None:
    one, other = train(_sample(60)), train(_sample(60))
    assert np.array_equal(one.table, other.table)
    assert np.array_equal(one.thresholds, other.thresholds)


def test_shipped_weights_know_their_training_sentences() -> None:
    rows = [row for row in load_sentences() if row.act != "none"][::35]
    weights = load_weights()
    right = [weights.read(row.text, row.previous, row.role).likeliest == row.act for row in rows]
    assert np.mean(right) > 0.9


def test_idle_turns_stand_before_sentences_of_their_language_and_keep_the_label() -> None:
    rows = _sample(40)
    copies = with_idle_turns(rows)
    assert 0 < len(copies) < len(rows)
    turns = {lang: {turn for kind in IDLE_TURNS.values() for turn in kind[lang]} for lang in ("en", "zh")}
    assert all(copy.idle and copy.previous in turns[copy.lang] for copy in copies)
    assert {replace(copy, previous="", idle=False) for copy in copies} <= {replace(row, previous="") for row in rows}
