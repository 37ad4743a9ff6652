"""Weak labels of sentences from the memories that cite their turns."""

from __future__ import annotations

import json
from pathlib import Path

from bench.training.weak_sentences import load_weak_sentences

TURNS = [
    ("user", "My greyhound Basil has three legs and hates rain."),
    ("assistant", "How lovely! Where did you find him?"),
    ("user", "Sounds like a plan to me. Where do I sign?"),
]


def test_sentence_of_a_cited_turn_is_kept_and_an_unrelated_one_is_ordinary(tmp_path: Path) -> None:
    folder = tmp_path / "locomo"
    folder.mkdir()
    rows = [
        {"session": "s", "id": f"m{number}", "ts": "", "role": role, "name": "", "content": content}
        for number, (role, content) in enumerate(TURNS, 1)
    ]
    (folder / "c.transcript.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    note = {"session": "s", "source": "s#m1", "text": "The greyhound Basil has three legs and hates the rain."}
    (folder / "c.observations.jsonl").write_text(json.dumps(note) + "\n", "utf-8")
    found = {row.text: row.keep for row in load_weak_sentences(tmp_path)}
    assert found == {TURNS[0][1]: True, "Sounds like a plan to me.": False}


def test_folder_without_conversations_has_no_sentences(tmp_path: Path) -> None:
    assert load_weak_sentences(tmp_path) == []
