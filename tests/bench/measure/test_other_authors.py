"""The figures on texts of authors whose texts were in no training: floors that the guard held when they were new."""

from __future__ import annotations

import json

from bench.measure.other_authors import TEXTS, instruction_rows, secret_rows
from bench.training.instructions import authors_texts


def shares(rows: list[tuple[str, str]]) -> dict[str, float]:
    return {name: float(value) for name, value in rows}


def columns(rows: list[tuple[str, ...]]) -> list[dict[str, float]]:
    return [shares([(row[0], row[at]) for row in rows if row[at]]) for at in range(1, len(rows[0]))]


def test_most_instructions_are_stopped_and_hardly_an_ordinary_text() -> None:
    found = columns(instruction_rows(lambda hits, total: str(hits / total)))
    assert len(found) == 3
    assert min(authors["instructions stopped"] for authors in found) > 0.7
    assert max(authors["ordinary texts held back"] for authors in found) < 0.01


def test_told_secrets_are_found_and_hardly_any_other_text_is_taken_for_one() -> None:
    found = shares(secret_rows(lambda hits, total: str(hits / total)))
    assert found["told in prose"] > 0.6
    assert found["talk about secrets with a false alarm"] < 0.03
    assert found["developer lines with a false alarm"] < 0.02


def test_no_text_is_in_the_training() -> None:
    trained = {row.text for row in authors_texts()}
    files = sorted(TEXTS.glob("instructions*.jsonl"))
    measured = [json.loads(line)["text"] for file in files for line in file.read_text("utf-8").split("\n") if line]
    assert len(measured) > 2000
    shared = trained & set(measured)
    assert len(shared) <= 1, shared  # two authors quote one rule of Russian spelling
