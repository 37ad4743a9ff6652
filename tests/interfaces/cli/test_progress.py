"""Test the line of progress: counts and a rate on a terminal, nothing elsewhere, and nothing left at the end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent_home.home import Home
from interfaces.cli import progress as progress_module
from interfaces.cli.progress import ProgressMeter
from tests.pseudo_terminal import MEMORY, PseudoTerminal

DECIDED = "Decision: crane number {} is painted on Monday."


class Screen:
    """What a meter would write to a terminal."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, terminal: bool = True) -> None:
        self.lines: list[str] = []
        self.now = 100.0
        monkeypatch.setattr(progress_module, "shows_progress", lambda: terminal)
        monkeypatch.setattr(progress_module, "write_progress", self.lines.append)
        monkeypatch.setattr(progress_module, "clear_progress", lambda: self.lines.append(""))
        self.meter = ProgressMeter(lambda: self.now)

    def step(self, seconds: float, *step: object, note: str = "") -> None:
        self.now += seconds
        self.meter(*step, note=note)  # type: ignore[arg-type]


def test_a_line_has_counts_then_a_rate_and_the_time_left_and_goes_when_all_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Screen(monkeypatch)
    screen.step(0, "vectors", 0, 1000)
    screen.step(0.01, "vectors", 5, 1000)
    screen.step(0.5, "vectors", 100, 1000)
    screen.step(1.49, "vectors", 200, 1000, note="busy")
    screen.step(1, "vectors", 1000, 1000)
    assert screen.lines == [
        "vectors: 0 of 1000",
        "vectors: 100 of 1000",
        "vectors: 200 of 1000, 100/s, 8 s left, busy",
        "",
    ]


def test_a_line_without_a_total_has_no_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    screen.step(0, "messages", 0)
    screen.step(10, "messages", 25, note="1 of 2 files")
    assert screen.lines[-1] == "messages: 25, 2.5/s, 1 of 2 files"


def test_a_long_line_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    screen.step(0, "messages", 0, note="x" * 200)
    assert screen.lines[0].endswith("…")
    assert len(screen.lines[0]) == 79


def test_nothing_is_written_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch, terminal=False)
    screen.step(0, "vectors", 0, 1000)
    screen.step(10, "vectors", 1000, 1000)
    assert screen.lines == []


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """Return a chat file with twelve sessions."""
    path = tmp_path / "chat.jsonl"
    row = {"id": "m1", "ts": "2026-11-20T10:00:00", "role": "user", "name": ""}
    rows = [{**row, "session": f"s-{number}", "content": DECIDED.format(number)} for number in range(12)]
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), "utf-8")
    return path


def test_import_and_close_show_progress_on_a_terminal_and_remove_it(home: Home, chat: Path) -> None:
    for arguments, told in ((["import", "chat", str(chat)], "messages: "), (["close", "--all"], "sessions closed: ")):
        with PseudoTerminal([*arguments, "--home", str(home.root)]) as terminal:
            terminal.end()
        assert terminal.exit_code == 0
        assert f"\r{told}" in terminal.raw
        assert terminal.raw.count("\r") - terminal.raw.count("\r\n") >= 2
        shown = [line.rpartition("\r")[2] for line in terminal.raw.replace("\r\n", "\n").split("\n")]
        assert [line for line in shown if told in line] == []
        assert any("messages added: 12" in line or "commit" in line for line in shown)


def test_a_pipe_gets_no_progress(home: Home, chat: Path) -> None:
    for arguments in (["import", "chat", str(chat)], ["close", "--all"], ["reindex"]):
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, *arguments, "--home", str(home.root)], capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        assert "\r" not in done.stdout + done.stderr
        assert "sessions closed:" not in done.stderr
