"""Training of the chance that a sentence leans on its conversation."""

from __future__ import annotations

import numpy as np

from bench.training.leaning import feature_matrix, labelled_sentences, train


def test_the_labels_hold_both_languages_and_both_answers() -> None:
    rows = labelled_sentences()
    assert len(rows) >= 500
    assert 0.2 <= sum(row.leans > 0.5 for row in rows) / len(rows) <= 0.5
    assert {row.source for row in rows} >= {"sentences en", "sentences zh", "week of chats mixed"}


def test_training_on_half_of_a_sample_tells_the_other_half() -> None:
    rows = labelled_sentences()[:460:2]
    features, wanted = feature_matrix(rows), np.array([row.leans for row in rows])
    scores = features[1::2] @ train(features[::2], wanted[::2])
    leaning, other = scores[wanted[1::2] > 0.5], scores[wanted[1::2] <= 0.5]
    assert (leaning[:, None] > other[None, :]).mean() >= 0.62
