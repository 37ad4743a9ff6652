"""Run the README's examples as a newcomer would, and follow its links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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


def test_every_link_leads_to_a_file() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    broken = [
        f"{page.name}: {link}"
        for page in pages
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert broken == []
