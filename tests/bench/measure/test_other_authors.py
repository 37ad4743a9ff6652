"""The figures on texts of authors whose texts were in no training: floors that the guard held when they were new."""

from __future__ import annotations

import json

from bench.measure.other_authors import TEXTS, instruction_rows, secret_rows
from bench.training.instructions import authors_texts


def shares(rows: list[tuple[str, str]]) -> dict[str, float]:
    return {name: float(value) for name, value in rows}


def test_most_instructions_are_stopped_and_hardly_an_ordinary_text() -> None:
    found = shares(instruction_rows(lambda hits, total: str(hits / total)))
    assert found["instructions stopped"] > 0.75
    assert found["ordinary texts held back"] < 0.01


def test_told_secrets_are_found_and_hardly_any_other_text_is_taken_for_one() -> None:
    found = shares(secret_rows(lambda hits, total: str(hits / total)))
    assert found["told in prose"] > 0.6
    assert found["talk about secrets with a false alarm"] < 0.03
    assert found["developer lines with a false alarm"] < 0.02


def test_no_text_is_in_the_training() -> None:
    trained = {row.text for row in authors_texts()}
    measured = [
        json.loads(line)["text"] for line in (TEXTS / "instructions.jsonl").read_text("utf-8").split("\n") if line
    ]
    assert len(measured) > 900
    assert trained.isdisjoint(measured)
