"""Training of the chances of a short reply."""

from __future__ import annotations

import numpy as np
import pytest

from bench.training.leaning import train
from bench.training.replies import RIDGE, feature_matrix, labelled_replies
from distill.reading.classifier import is_chinese
from distill.summary.replies import HEADS, Head


@pytest.mark.parametrize("head", list(HEADS))
def test_the_labels_hold_both_languages_and_both_answers(head: Head) -> None:
    rows = labelled_replies(head)
    assert len(rows) >= 400
    assert 0.1 <= sum(row.holds for row in rows) / len(rows) <= 0.6
    assert 0.4 <= sum(is_chinese(row.previous + row.reply) for row in rows) / len(rows) <= 0.6


def test_training_on_half_of_a_sample_tells_the_other_half() -> None:
    rows = labelled_replies("answers")[:634:2]
    features, wanted = feature_matrix(rows), np.array([float(row.holds) for row in rows])
    scores = features[1::2] @ train(features[::2], wanted[::2], ridge=RIDGE)
    worth, other = scores[wanted[1::2] > 0.5], scores[wanted[1::2] < 0.5]
    assert (worth[:, None] > other[None, :]).mean() >= 0.75
