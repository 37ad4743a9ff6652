"""The chance that a sentence leans on its conversation."""

from __future__ import annotations

import time

import numpy as np
import pytest

from distill.summary.leaning import BUCKETS, SHAPES, leaning_row, leans


@pytest.mark.parametrize(
    ("leaning", "previous", "alone"),
    [
        (
            "he came, looked, left, says he'll be back with the part",
            "Did the plumber come?",
            "My dog is nine years old.",
        ),
        ("arrived, spread, back hurts", "The order is still open.", "I run the framing shop next to the chapel."),
        ("那是邻居家的,咱家的在东边", "烟道在北墙。", "我老婆怀孕 22 周了,预产期十二月初"),
        ("交了,平台说 7 个工作日", "申诉材料交上去了吗", "我们用的是 Vue2,你给的全是 Vue3 的写法"),
    ],
)
def test_an_answer_leans_more_than_a_fact_of_ones_life(leaning: str, previous: str, alone: str) -> None:
    assert leans(leaning, previous) > 0.3 > leans(alone)


def test_a_row_names_the_shape_first_and_then_the_buckets() -> None:
    columns, values = leaning_row("I use tabs.", "")
    assert len(columns) == len(values)
    assert list(columns[: len(SHAPES)]) == list(range(len(SHAPES)))
    assert int(columns.max()) < len(SHAPES) + BUCKETS
    assert np.isfinite(values).all()


@pytest.mark.parametrize(("piece", "count"), [("", 1), (" ", 1), ("?", 1), ("他", 1), ("a", 50_000), ("it, ", 20_000)])
def test_any_text_has_a_chance_in_linear_time(piece: str, count: int) -> None:
    text, start = piece * count, time.process_time()
    assert 0 <= leans(text, text) <= 1
    assert time.process_time() - start < 1.0
