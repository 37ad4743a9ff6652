"""Training of the classifier of injected instructions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench.training import instructions
from bench.training.instructions import as_bags, left_out_scores, main, own_texts, train, write_weights
from guard.injection import classifier
from guard.injection.features import BUCKETS

SENTENCES = [row for row in own_texts() if row.source == "own"]


def test_half_of_the_english_sentences_tell_the_other_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bags = as_bags(row for row in SENTENCES if row.lang == "en")
    model = train(bags[::2], rounds=1, epochs=4)
    scores = np.array([model.scores(bag).max() for bag in bags[1::2]])
    labels = np.array([bag.row.label for bag in bags[1::2]], bool)
    assert np.mean(scores[labels][:, None] > scores[~labels][None]) > 0.65

    write_weights(model, tmp_path / "weights.bin")
    monkeypatch.setattr(classifier, "_WEIGHTS", tmp_path / "weights.bin")
    classifier._model.cache_clear()
    judged = [classifier.best_score(bag.row.text.lower()) for bag in bags[1::2]]
    classifier._model.cache_clear()
    assert judged == pytest.approx(scores, abs=0.1)


def test_sentences_of_our_own_have_both_labels_in_every_language() -> None:
    languages = {row.lang for row in SENTENCES}
    assert languages >= {"en", "zh", "de", "es", "fr", "it", "pt", "ru", "ja", "ko", "ar", "hi", "tr"}
    for lang in languages:
        assert {row.label for row in SENTENCES if row.lang == lang} == {0, 1}


def test_a_source_is_measured_by_a_model_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[set[str]] = []

    def fake(bags: list[instructions.Bag]) -> instructions.LinearModel:
        trained.append({bag.row.source for bag in bags})
        return instructions.LinearModel(np.zeros(BUCKETS), 0.0)

    monkeypatch.setattr(instructions, "train", fake)
    rows = [
        instructions.InstructionText(text=f"text of {source}", label=1, source=source)
        for source in ("garak", "cse", "qualifire", "own")
    ]
    measured = [row["source"] for row in left_out_scores(as_bags(rows))]
    assert measured == ["garak", "cse", "qualifire", "own", "half"]
    assert trained[:4] == [{"cse", "own"}, {"garak", "own"}, {"garak", "cse", "own"}, {"garak", "cse"}]


def test_scores_are_written_as_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "own_texts", lambda: SENTENCES[:2])
    monkeypatch.setattr(instructions, "train", lambda bags: instructions.LinearModel(np.ones(BUCKETS), 0.0))
    out = tmp_path / "scores.jsonl"
    assert main(["--data", str(tmp_path), "--leave-out", str(out)]) == 0
    assert {json.loads(line)["lang"] for line in out.read_text("utf-8").splitlines()} <= {SENTENCES[0].lang}
