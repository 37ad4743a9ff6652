"""Short lines for tool calls: which commands change something, and which lines report a commit."""

from __future__ import annotations

import time

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


@pytest.mark.parametrize("text", ["", "x", "git commit " * 30, "提交" * 150, "x" * 200, "x" * 201])
def test_no_note_is_longer_than_200_characters_or_has_two_lines(text: str) -> None:
    note = command_note("Bash", f"git commit -m 'a\nb\r\n\t{text}'")
    assert len(note) <= 200
    assert "\n" not in note
    assert "\r" not in note
    assert note.startswith("Bash git commit -m 'a b")


def test_a_cut_note_says_so_and_one_that_fits_does_not() -> None:
    assert shortened("x" * 201) == "x" * 199 + "…"
    assert shortened("x" * 200) == "x" * 200


@pytest.mark.parametrize(
    "line",
    [
        "[main] 3f9c2e1 x", "[main 3f9c2e] six digits", "[main 3f9c2e1]", " [main 3f9c2e1] indented", "[a b 3f9c2e1] x",
        "[main 3f9c2e1] ", "[main 3F9C2E1] upper case", "x [main 3f9c2e1] in the middle",
    ],
)  # fmt: skip
def test_a_line_that_git_does_not_write_is_no_commit(line: str) -> None:
    assert list(commit_lines(line)) == []


def test_texts_lie_as_deep_as_they_like() -> None:
    value: object = "deep"
    for _ in range(50_000):
        value = [value]
    assert list(strings_in(value)) == ["deep"]


@pytest.mark.parametrize("unit", ["git -c a ", ";", "; ", "( sudo ", "git ", "-c a ", "&git"])
def test_a_hostile_command_takes_time_that_grows_with_it(unit: str) -> None:
    def seconds(size: int) -> float:
        text = f"git {unit * (size // len(unit))}"
        start = time.process_time()
        command_note("Bash", text)
        return time.process_time() - start

    small = min(seconds(20_000) for _ in range(3))
    assert min(seconds(160_000) for _ in range(2)) < 24 * max(small, 0.003)
