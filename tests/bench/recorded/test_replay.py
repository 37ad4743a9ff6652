"""Recorded answers are replayed by the digest of the prompt, and new ones are recorded with who gave them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from bench.recorded import replay


def ask(monkeypatch: pytest.MonkeyPatch, prompt: str, *arguments: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(prompt.encode())))
    return replay.main(list(arguments))


def test_a_prompt_is_asked_answered_taken_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    recording, folder = tmp_path / "week.jsonl", tmp_path / "open"
    assert ask(monkeypatch, "What  is 你好?\n", str(recording), "--ask", str(folder)) == 1
    (asked,) = folder.iterdir()
    assert asked.read_text(encoding="utf-8") == "What  is 你好?\n"
    assert replay.main([str(recording), "--take", str(folder), "--by", "a person"]) == 1
    asked.with_suffix(".answer").write_text('{"operations": []} 好', encoding="utf-8")
    assert replay.main([str(recording), "--take", str(folder), "--by", "a person"]) == 0
    assert replay.main([str(recording), "--take", str(folder), "--by", "a person"]) == 0
    (row,) = [json.loads(line) for line in recording.read_text(encoding="utf-8").splitlines()]
    assert (row["prompt"], row["by"]) == (replay.digest("What is 你好?"), "a person")
    capfdbinary.readouterr()
    assert ask(monkeypatch, "What is 你好?", str(recording)) == 0
    sys.stdout.flush()
    assert '{"operations": []} 好'.encode() in capfdbinary.readouterr().out
