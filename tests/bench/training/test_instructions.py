"""Training of the classifier of injected instructions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench.training import instructions
from bench.training.instructions import as_bags, authors_texts, left_out_scores, main, train, write_weights
from guard.injection import classifier
from guard.injection.features import BUCKETS

TEXTS = list(authors_texts())


def test_two_authors_tell_the_texts_of_a_third(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {
        letter: [row for row in TEXTS if row.source == f"author {letter}" and row.lang == "en"][:200]
        for letter in "abf"
    }
    model = train(as_bags([*rows["a"], *rows["f"]]), rounds=1, epochs=2)
    bags = as_bags(rows["b"])
    scores = np.array([model.scores(bag).max() for bag in bags])
    labels = np.array([bag.row.label for bag in bags], bool)
    assert np.mean(scores[labels][:, None] > scores[~labels][None]) > 0.75

    write_weights(model, tmp_path / "weights.bin")
    monkeypatch.setattr(classifier, "_WEIGHTS", tmp_path / "weights.bin")
    classifier.linear_model.cache_clear()
    judged = [classifier.best_score(bag.row.text.lower()) for bag in bags]
    classifier.linear_model.cache_clear()
    assert judged == pytest.approx(scores, abs=0.1)


def test_our_authors_wrote_both_labels_in_every_language() -> None:
    languages = {row.lang for row in TEXTS}
    assert languages >= {"en", "zh", "de", "es", "fr", "it", "pt", "ru", "ja", "ko", "ar", "hi", "tr"}
    for lang in languages:
        assert {row.label for row in TEXTS if row.lang == lang} == {0, 1}


def test_a_source_is_measured_by_a_model_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[set[str]] = []

    def fake(bags: list[instructions.Bag]) -> instructions.LinearModel:
        trained.append({bag.row.source for bag in bags})
        return instructions.LinearModel(np.zeros(BUCKETS), 0.0)

    monkeypatch.setattr(instructions, "train", fake)
    rows = [
        instructions.InstructionText(text=f"text of {source}", label=1, source=source)
        for source in ("garak", "cse", "qualifire", "author a")
    ]
    measured = [row["source"] for row in left_out_scores(as_bags(rows))]
    assert measured == ["garak", "author a", "cse", "qualifire"]
    assert trained == [{"cse"}, {"garak", "author a"}, {"garak", "cse", "author a"}]


def test_scores_are_written_as_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "authors_texts", lambda: TEXTS[:2])
    monkeypatch.setattr(instructions, "phrases", list)
    monkeypatch.setattr(instructions, "train", lambda bags: instructions.LinearModel(np.ones(BUCKETS), 0.0))
    out = tmp_path / "scores.jsonl"
    assert main(["--data", str(tmp_path), "--leave-out", str(out)]) == 0
    assert {json.loads(line)["lang"] for line in out.read_text("utf-8").splitlines()} <= {TEXTS[0].lang}
