"""Short lines for tool calls: which commands change something, and which lines report a commit."""

from __future__ import annotations

import pytest

from agent_home.imports.tool_notes import command_note, commit_lines, shortened, strings_in


@pytest.mark.parametrize(
    "command", ["git commit -m x", "cd a && git push", "rm -r build", "sudo git merge topic", "(mv a b)"]
)
def test_a_command_that_changes_something_is_kept(command: str) -> None:
    assert command_note("Bash", command) == f"Bash {command}"


@pytest.mark.parametrize("command", ["", "git status", "ls -la", "grep 'git commit' log", "git log", "echo rm"])
def test_any_other_is_not(command: str) -> None:
    assert command_note("Bash", command) == ""


def test_a_commit_is_found_among_other_lines() -> None:
    output = "x\r\n[main (root-commit) 3f9c2e1] Round half to even\r\n[not a commit]\n[topic 3f9c2e1a] Second\n"
    assert list(commit_lines(output)) == ["[main (root-commit) 3f9c2e1] Round half to even", "[topic 3f9c2e1a] Second"]


def test_a_long_note_is_cut() -> None:
    assert len(shortened("x" * 500)) == 200
    assert shortened("short") == "short"


def test_the_texts_in_a_value_come_in_order() -> None:
    assert list(strings_in({"a": ["x", {"b": "y"}, 3, None], "c": " ", "d": "z"})) == ["x", "y", "z"]
