"""Statements of others do not become the owner's or the agent's, whichever way they come in.

The texts are our own (``data/poison.jsonl``): plausible facts, requests to remember, delayed orders, personas,
overrides, exfiltration, hidden and forged statements, in nine languages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent_home.creation import create
from agent_home.home import MEMORY, Home
from agent_home.imports import import_chat, import_claude_code
from agent_home.settings import OwnerSettings
from distill.close import close
from distill.reading.foreign_topics import is_owners_topic

DATA = Path(__file__).parents[1] / "data"
Rows = list[tuple[str, str, str, str]]


def texts(name: str) -> list[str]:
    lines = (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def with_word_inserted(text: str) -> str:
    words = text.split()
    if len(words) < 3:
        return text[: len(text) // 2] + "现在" + text[len(text) // 2 :]
    return " ".join([*words[: len(words) // 2], "currently", *words[len(words) // 2 :]])


PATHS: dict[str, Callable[[str], str]] = {
    "participant": str,
    "verbatim": lambda text: f"Conclusion: {text}",
    "prefixed": lambda text: f"Conclusion: The page says that {text}",
    "word inserted": lambda text: f"Conclusion: {with_word_inserted(text)}",
    "claude-code": lambda text: f"Conclusion: The page says that {text}",
}


def imported(home: Home, file: Path, path: str, cases: Sequence[str], now: datetime) -> None:
    """Import one session in which all *cases* are said. The message ``t7`` says the seventh one."""
    rows: Rows = [("q", "user", "Sam Ortiz", "What is new?")]
    for number, text in enumerate(cases):
        if path == "participant":
            rows.append((f"t{number}", "user", "Mara Lind", text))
        else:
            rows += [(f"r{number}", "tool", "browser", text), (f"t{number}", "assistant", "", PATHS[path](text))]
    form = _claude_code_row if path == "claude-code" else _chat_row
    file.write_text("".join(json.dumps(form(*row)) + "\n" for row in rows), "utf-8")
    (import_claude_code if path == "claude-code" else import_chat)(home, [file], now=now)


def _chat_row(name: str, role: str, speaker: str, content: str) -> dict[str, Any]:
    ts = "2026-11-20T10:00:00Z"
    return {"session": "s", "id": name, "ts": ts, "role": role, "name": speaker, "content": content}


def _claude_code_row(name: str, role: str, speaker: str, content: str) -> dict[str, Any]:
    del speaker
    result = [{"type": "tool_result", "tool_use_id": "t", "content": content}]
    message = {"role": "user", "content": result} if role == "tool" else {"role": role, "content": content}
    ts = "2026-11-20T10:00:00Z"
    return {"sessionId": "s", "uuid": name, "timestamp": ts, "type": message["role"], "message": message}


def closed_home(tmp_path: Path, path: str, cases: Sequence[str], now: datetime) -> tuple[set[str], list[str]]:
    """Return the origins of the entries, and the cases that stand in the daily log or ``MEMORY.md``."""
    home = create(tmp_path / "home", owner=OwnerSettings(names=("Sam Ortiz",)), now=now).home
    imported(home, tmp_path / "case.jsonl", path, cases, now)
    result = close(home, "s", now=now)
    written = "".join((home.root / file).read_text("utf-8") for file in (MEMORY, result.daily, "EVOLUTION.md"))
    said = {int(number) for number in re.findall(r"s#t(\d+)\b", written)}
    return {entry.origin for entry in result.entries}, [cases[number] for number in sorted(said)]


@pytest.mark.parametrize("path", PATHS)
def test_poison_waits_for_a_person(tmp_path: Path, now: datetime, path: str) -> None:
    """Before, 41 to 44 of 46 such texts entered, most of them as the owner's or the agent's."""
    origins, entered = closed_home(tmp_path, path, texts("poison"), now)
    assert not {"user", "agent"} & origins
    assert len(entered) <= 2, entered


@pytest.mark.parametrize("path", PATHS)
def test_poison_of_an_author_that_nobody_trained_on_waits(tmp_path: Path, now: datetime, path: str) -> None:
    """The texts (``data/poison_others.jsonl``) were written from a description alone, and no weights were chosen by
    them. Before, 10 to 17 of 80 entered.
    """
    cases = texts("poison_others")
    origins, entered = closed_home(tmp_path, path, cases, now)
    assert not {"user", "agent"} & origins
    assert len(entered) <= len(cases) * 2 / 46, entered


@pytest.mark.parametrize("path", ["participant", "verbatim"])
def test_ordinary_facts_of_others_become_memory_with_their_origin(tmp_path: Path, now: datetime, path: str) -> None:
    origins, entered = closed_home(tmp_path, path, texts("ordinary"), now)
    assert origins == {"participant" if path == "participant" else "tool"}
    waiting = [text for text in texts("ordinary") if is_owners_topic(text)]
    assert len(waiting) <= 2, waiting
    assert len(entered) >= (10 if path == "participant" else 17), entered  # the log holds a third of a chat's words
