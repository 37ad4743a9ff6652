"""A bare weekday lies ahead, back, or names no day."""

from __future__ import annotations

import time

import numpy as np
import pytest

from bench.training.weekdays import labelled_weekdays, train
from distill.statements.weekday_direction import direction_of, direction_scores, signs_of


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [
        ("Ship the crate on ", ".", "forward"),
        ("Remind me ", " about the visa.", "forward"),
        ("The parcel came ", ".", "back"),
        ("I had my last day at the garage on ", ".", "back"),
        ("I'm off on ", "", "none"),
        ("We never deploy on ", ".", "none"),
        ("", "'s review got moved.", "none"),
        ("", "的评审改到周一。", "none"),
        ("面试推迟到", "。", "forward"),
        ("", "签了合同。", "back"),
        ("逢", "吃素。", "none"),
        ("", "再抽一次血看有没有翻倍。", "forward"),
        ("My niece is having it for £900, she shook hands with Idwal on ", ".", "back"),
        ("He shook hands with Gwilym on ", ", the fence is settled.", "back"),
        ("We lost the match on ", ".", "back"),
        ("I promised her a trip to the zoo on ", ".", "forward"),
        ("I have the dentist on ", " at 9.", "forward"),
        ("Optician on ", " at 10.", "forward"),
        ("ship on ", ".", "forward"),
        ("We decided to ship on ", ".", "forward"),
        ("Her ballet class is now on ", ".", "none"),
        ("Tennis has been moved to ", ".", "none"),
        ("The rent is due on the ", ", 940 euros.", "none"),
        ("舞蹈课改到", "。", "none"),
        ("拳击课改到", "。", "none"),
        ("复诊改到", "。", "forward"),
    ],
)
def test_the_sentence_says_where_the_day_lies(before: str, after: str, direction: str) -> None:
    assert direction_of(before, after) == direction


def test_the_signs_of_the_languages_are_apart() -> None:
    assert "opens" in signs_of("", " we leave")
    assert all(sign.startswith("zh ") for sign in signs_of("", "出发"))


def test_half_of_the_sentences_teach_the_other_half() -> None:
    rows = labelled_weekdays()
    weights = train(rows[::2], steps=60)
    right = []
    for row in rows[1::2]:
        found = signs_of(row.before, row.after) & weights.keys()
        scores = np.sum([weights[sign] for sign in found], axis=0)
        right.append(("forward", "back", "none")[int(np.argmax(scores))] == row.direction)
    assert np.mean(right) > 0.7


@pytest.mark.parametrize("piece", ["a", "the week, ", "周", "it's ", "moved off "])
def test_any_text_has_chances_in_linear_time(piece: str) -> None:
    start = time.process_time()
    assert sum(direction_scores(piece * 20_000, piece * 20_000)) == pytest.approx(1)
    assert time.process_time() - start < 1.0
