"""Run the README's examples as a newcomer would, and follow its links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.close import close
from recall.servers import DATABASE_VARIABLE

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"<!-- example: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)\)")


def test_the_five_minutes_end_with_the_decision_in_the_prompt(tmp_path: Path) -> None:
    examples = EXAMPLE.findall(README)
    (conversation,) = [text for name, text in examples if name == "chat.jsonl"]
    (tmp_path / "chat.jsonl").write_text(conversation, encoding="utf-8")
    commands = "set -e\n" + "".join(text for name, text in examples if name == "commands")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", commands], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    entries = set(re.findall(r"\[([A-Z]{2})-[0-9A-Z]{4}\]", done.stdout.partition("commit ")[2]))
    assert entries >= {"SP", "KD", "OT"}
    assert "ship the importer on Thursday" in done.stdout.rpartition("<agent-home>")[2]


def test_what_the_readme_says_is_remembered_is_remembered(home: Home, now: datetime) -> None:
    table = README.partition("<!-- example: remembered -->\n")[2].partition("\n\n")[0]
    rows = re.findall(r'^\| ["«](.+?)["»] \| .*? \| (\S+) \|$', table, re.MULTILINE)
    assert len(rows) >= 8
    found = []
    for number, (sentence, _) in enumerate(rows):
        said = Message(session=f"s{number}", id="1", ts="2026-11-20T14:00:00", role="user", content=sentence)
        transcript.append(home, said.session, [said], actor="test", now=now)
        entries = close(home, said.session, now=now).entries
        found.append((sentence, " ".join(entry.id[:2] for entry in entries) or "-"))
    assert found == rows


def test_the_python_example_remembers_and_finds(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    (code,) = [text for name, text in EXAMPLE.findall(page) if name == "python"]
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    first, second, *prompt = done.stdout.splitlines()
    assert "put the result first" in first
    assert "put the result first" in second
    assert any("put the result first" in line for line in prompt)
    assert "State: resolved" in (tmp_path / "ada" / "MEMORY.md").read_text("utf-8")


def test_the_example_of_a_namespace_prints_what_the_page_says(new_database_url: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "namespaces.md").read_text(encoding="utf-8")
    (code,) = [text for name, text in EXAMPLE.findall(page) if name == "python"]
    printed = page.partition("It prints the text for a prompt:\n\n```text\n")[2].partition("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, DATABASE_VARIABLE: new_database_url},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    a_day = re.compile(r"\d{4}-\d\d-\d\d")
    assert a_day.sub("DAY", done.stdout).strip() == a_day.sub("DAY", printed).strip()


def test_every_link_leads_to_a_file() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    broken = [
        f"{page.name}: {link}"
        for page in pages
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in link and "[:]//" not in link and not (page.parent / link).exists()
    ]
    assert broken == []
