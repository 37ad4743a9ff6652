"""Counts of questions whose gold turns are cited."""

from __future__ import annotations

import json
from pathlib import Path

from bench.memory.citations import measure_citations


def test_a_question_counts_where_its_gold_turn_is_cited(tmp_path: Path) -> None:
    turns = ["Decision: the deposit is 20 percent.", "Hello there, how are you?"]
    rows = (
        {"session": "a", "id": f"m{n}", "ts": f"2026-03-09T07:4{n}:00+00:00", "role": "user", "content": text}
        for n, text in enumerate(turns, 1)
    )
    (tmp_path / "x.transcript.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    questions = (
        {"query": "How much is the deposit?", "expect": ["a#m1"], "answer": "20 percent deposit"},
        {"query": "How much is the deposit?", "expect": ["a#m1"], "answer": "forty boats and seven kayaks"},
        {"query": "Who says hello?", "expect": ["a#m2"], "answer": "Mo"},
        {"query": "Nobody knows", "expect": [], "answer": ""},
    )
    (tmp_path / "x.queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions))
    counts = measure_citations(tmp_path, None)
    assert (counts.questions, counts.memory, counts.says) == (3, 2, 1)
    assert (counts.entries, counts.prose) == (1, 0)
