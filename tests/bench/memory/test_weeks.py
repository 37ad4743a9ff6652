"""Counts of a week's planted facts and traps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_home.store.transcript import Message
from bench.memory.__main__ import DATA
from bench.memory.closed_homes import read_messages
from bench.memory.weeks import measure_week

WEEKS = sorted(folder for folder in DATA.glob("weeks*/*") if folder.is_dir())


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def test_a_fact_is_entered_when_an_entry_cites_its_turn_and_holds_its_keys(tmp_path: Path) -> None:
    said = [("m1", "Decision: the deposit is 20 percent."), ("m2", "Decision: the hut opens on 1 May.")]
    common = {"session": "a", "ts": "2026-03-09T07:41:00+00:00", "role": "user", "name": "Mo"}
    write(tmp_path / "chat.jsonl", [{"id": name, "content": text, **common} for name, text in said])
    fact = {"section": "decision", "status": "stands", "by": ""}
    write(tmp_path / "planted.jsonl", [
        {"fact": "A", "sources": ["a#m1"], "must_contain": ["20", "deposit"], **fact},
        {"fact": "B", "sources": ["a#m1"], "must_contain": ["boats", "six", "hut"], **fact},
    ])  # fmt: skip
    write(tmp_path / "also_true.jsonl", [])
    write(tmp_path / "traps.jsonl", [{"text": "the hut opens on 1 May", "source": "a#m2", "why": "a test"}])
    result, entries = measure_week(tmp_path, None)
    assert (result.planted, result.entered, result.right) == (2, 1, 1)
    assert (result.entries, result.known, result.trapped) == (2, 1, 1)
    assert result.missed == ("B",)
    assert {entry.sources for entry in entries} == {("a#m1",), ("a#m2",)}


@pytest.mark.parametrize("folder", WEEKS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_what_is_planted_stands_in_the_chat(folder: Path) -> None:
    turns: dict[str, Message] = {message.source: message for message in read_messages(folder / "chat.jsonl")}
    for name in ("planted", "also_true", "traps"):
        for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            assert set(row.get("sources", [row.get("source")])) <= turns.keys()
            if name == "traps":
                assert row["text"] in turns[row["source"]].content
