"""Commands write to a terminal in one place, and nothing of a home is obeyed there."""

from __future__ import annotations

import ast
import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from interfaces.cli import cli
from interfaces.cli.exit_codes import DEFECT
from tests.agent_home.test_visible import obeyed
from tests.source_tree import ROOT

#: Names that a file, a session or a person may have. The first part is what a terminal would obey.
HOSTILE = "x\x1b]0;owned\x07\x9b2J\u202ey\nmemory: all is well"
FORGED = "memory: all is well"
#: Commands that read a home, and commands that fail and repeat their arguments.
COMMANDS = (
    "check", "doctor", "sync", "search y --explain --mode lexical", "prompt --explain --message y", "diff",
    "close --all", "review list", "history KD-7F3A", "verify", "archive", "distill --dry-run", "forget --text owned",
    "guard scan Knowledge", "resume HOSTILE", "watch --once --words-only",
)  # fmt: skip
FAILING = (
    "close HOSTILE", "history HOSTILE", "cite HOSTILE", "diff HOSTILE", "prompt --at HOSTILE", "import chat HOSTILE",
    "search --in HOSTILE y", "review show HOSTILE", "HOSTILE", "guard scan HOSTILE", "prompt --HOSTILE",
    "remember y --until HOSTILE",
)  # fmt: skip


@pytest.fixture
def hostile_home(home: Home, tmp_path: Path) -> Home:
    """Return a home with hostile names of files and speakers, hostile texts and an unreadable file."""
    (home.root / "Knowledge").mkdir(exist_ok=True)
    (home.root / "Knowledge" / f"{HOSTILE}.md").write_text(f"# y {HOSTILE}\n\nAll is well with y.\n", "utf-8")
    (home.root / "Knowledge" / os.fsdecode(b"\xff\x1b[2J.md")).write_text("y\n", "utf-8")
    (home.root / "Knowledge" / "secret\x07.md").write_text("password: Zx9-kkQ2-vvT7-bbN4\n", "utf-8")
    (home.root / "MEMORY.md").write_text(f"# Memory\n\n## Key Decisions\n\n- **[KD-7F3A]** {HOSTILE}\n", "utf-8")
    row = {"session": HOSTILE, "id": HOSTILE, "ts": "2026-11-20T10:00:00Z", "role": "user", "name": HOSTILE}
    rows = [row | {"content": f"We decided that {HOSTILE}"}, row | {"id": "m2", "content": "Decision: y is well."}]
    (tmp_path / "talk.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), "utf-8")
    run(home, "import", "chat", str(tmp_path / "talk.jsonl"))
    subprocess.run(["git", "config", "user.name", "Eve\x1b[2J"], cwd=home.root, check=True)
    subprocess.run(["git", "config", "user.email", "eve@a.example"], cwd=home.root, check=True)
    return home


def run(home: Home, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--home", str(home.root)], prog_name="memory")


def test_no_command_shows_what_a_terminal_obeys(hostile_home: Home) -> None:
    for command in COMMANDS + FAILING:
        arguments = [word.replace("HOSTILE", HOSTILE) for word in command.split()]
        done = run(hostile_home, *arguments)
        shown = done.stdout + done.stderr
        assert obeyed(shown) == [], f"memory {command}: {shown!r}"
        assert done.exit_code != DEFECT, f"memory {command}: {shown}"
        if "prompt" not in command:  # a prompt has the lines of the files
            assert FORGED not in shown.splitlines(), f"memory {command}: {shown}"
    log = subprocess.run(["git", "log", "--format=%B"], cwd=hostile_home.root, check=True, capture_output=True).stdout
    for text in (hostile_home.audit.read_text("utf-8"), log.decode()):
        assert obeyed(text) == []
        assert FORGED not in text.splitlines()


@pytest.mark.parametrize("command", ["check", "search y --mode lexical", "diff", "prompt --message y"])
def test_json_is_valid_and_holds_nothing_that_a_terminal_obeys(hostile_home: Home, command: str) -> None:
    done = run(hostile_home, *command.split(), "--json")
    assert obeyed(done.stdout + done.stderr) == []
    assert json.loads(done.stdout)


def test_only_one_module_writes_to_a_terminal() -> None:
    offenders = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "interfaces").rglob("*.py")
        if path.name != "render.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in {"echo", "secho", "confirm", "prompt"}
        and isinstance(node.value, ast.Name) and node.value.id == "click"
    ]  # fmt: skip
    assert offenders == []
