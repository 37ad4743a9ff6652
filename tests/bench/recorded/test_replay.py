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


TURNS = "Rules.\n\n<turns>\n[m1] user: the hut opens on 1 May\n</turns>\n\n<entries>\n{entries}\n</entries>\n"


def test_an_answer_counts_for_the_same_turns_beside_other_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    recording = tmp_path / "week.jsonl"
    row = {"prompt": "other", "turns": replay.turns_digest(TURNS.format(entries="KD-1: a")), "answer": "{}"}
    recording.write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert ask(monkeypatch, TURNS.format(entries="KD-2: b"), str(recording)) == 0
    assert ask(monkeypatch, TURNS.format(entries="x").replace("1 May", "2 May"), str(recording)) == 1
    again = TURNS.format(entries="x").replace("</turns>\n\n", "</turns>\n\nThese were refused.\n")
    assert ask(monkeypatch, again, str(recording)) == 1
    capfdbinary.readouterr()


def test_a_command_that_waits_takes_the_answer_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    folder, prompt = tmp_path / "open", TURNS.format(entries="(none)")
    folder.mkdir()
    (folder / f"{replay.digest(prompt)}.answer").write_text("yes", encoding="utf-8")
    assert ask(monkeypatch, prompt, str(tmp_path / "none.jsonl"), "--ask", str(folder), "--wait", "5") == 0
    sys.stdout.flush()
    assert b"yes" in capfdbinary.readouterr().out
