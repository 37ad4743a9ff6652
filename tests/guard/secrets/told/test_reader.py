"""The second reading of candidates: windows, scores, and texts without tokens."""

from __future__ import annotations

import pytest

from guard.inference.passage_network import PassageNetwork
from guard.secrets.told.reader import ToldReader, _windows, candidate_vectors


@pytest.fixture(scope="module")
def reader() -> ToldReader:
    return ToldReader(PassageNetwork())


def test_a_told_word_scores_above_the_words_beside_it(reader: ToldReader) -> None:
    text = "the tablet of my aunt unlocks with rhubarb"
    spans = [(text.index(word), text.index(word) + len(word)) for word in ("tablet", "aunt", "rhubarb")]
    scores = [score for score in reader.scores(text, spans) if score is not None]
    assert scores[2] > max(scores[:2]) + 2


def test_each_span_has_a_score_of_its_window_or_none(reader: ToldReader) -> None:
    text = "The harbour master writes a letter. " * 200
    spans = [(at, at + 7) for at in range(4, len(text) - 7, 72)]
    scores = reader.scores(text, spans)
    assert len(scores) == len(spans)
    assert scores[0] is not None
    assert scores[-1] is None


@pytest.mark.parametrize("text", ["", " ", "\ud800", "a" * 5000, "密码" * 400])
def test_any_text_is_read(reader: ToldReader, text: str) -> None:
    spans = [(0, len(text))] if text else []
    assert len(reader.scores(text.encode("utf-8", "replace").decode(), spans)) == len(spans)


def test_windows_hold_their_spans_and_are_few() -> None:
    spans = [(at, at + 5) for at in range(0, 9000, 40)]
    windows = list(_windows("x" * 9005, spans))
    assert len(windows) <= 6
    for first, last, start, end in windows:
        assert all(start <= one and other <= end for one, other in spans[first:last])
    assert [first for first, *_ in windows][1:] == [last for _, last, *_ in windows][:-1]


def test_vectors_hold_the_words_and_their_neighbours() -> None:
    (vector,) = candidate_vectors(PassageNetwork(), "one two three", [(4, 7)])
    assert vector is not None
    assert vector.shape == (3 * 384,)
