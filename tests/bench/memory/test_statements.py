"""Counts of related pairs and checked restatements."""

from __future__ import annotations

import json
from pathlib import Path

from bench.memory.statements import measure_grounding, measure_relations


def test_pairs_are_counted_by_language(tmp_path: Path) -> None:
    older = "Backups run at 2 am."
    rows = [
        {"older": older, "newer": "Backups run at 4 am instead of 2 am.", "relation": "replaced", "lang": "en"},
        {"older": older, "newer": "Mo likes tea.", "relation": "replaced", "lang": "en"},
        {"older": older, "newer": "Mo likes tea.", "relation": "different", "lang": "zh"},
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = measure_relations(path)
    assert (found["en"].gold, found["en"].found, found["en"].right) == (2, 1, 1)
    assert (found["zh"].gold, found["zh"].found) == (0, 0)


def test_lines_are_counted_by_whether_they_should_pass(tmp_path: Path) -> None:
    turns = [{"role": "user", "name": "Maya", "ts": "2026-11-20T10:00:00", "content": "We move the launch to 12 May."}]
    rows = [
        {"turns": turns, "text": "Maya: We move the launch to 12 May.", "good": True, "kind": "", "lang": "en"},
        {"turns": turns, "text": "Maya moves the launch to 14 May.", "good": False, "kind": "number", "lang": "en"},
    ]
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    counts = measure_grounding(path)["en"]
    assert (counts.good, counts.accepted, counts.altered, counts.rejected) == (1, 1, 1, 1)
