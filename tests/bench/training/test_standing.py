"""Training of the chance that a reader of memory keeps an entry."""

from __future__ import annotations

from itertools import compress

import numpy as np

from bench.training.standing import judged_entries, left_out_chances


def test_the_better_half_of_chats_that_the_training_left_out_is_kept_more_often() -> None:
    # An earlier version of the weights chose the entries of the fourth round, so it holds few bad ones.
    rows = [row for row in judged_entries() if not row.source.startswith("fourth")]
    chances = left_out_chances(rows)
    better = chances >= np.median(chances)
    shares = [np.mean([row.kept for row in compress(rows, half)]) for half in (better, ~better)]
    assert shares[0] >= shares[1] + 0.2


def test_a_wrong_section_is_told_from_a_right_one_in_chats_that_the_training_left_out() -> None:
    rows = judged_entries()
    chances = left_out_chances(rows, "section")
    right = np.array([row.section > 0.5 for row in rows])
    assert np.mean(chances[right, None] > chances[None, ~right]) >= 0.75


def test_the_labels_hold_all_rounds_and_all_kinds() -> None:
    rows = judged_entries()
    assert len(rows) == 583
    assert {row.source.split()[0] for row in rows} == {"first", "second", "third", "fourth", "sentence"}
    assert {row.kind for row in rows} == {"fact", "decision", "open_thread", "lesson", "correction", "preference"}
