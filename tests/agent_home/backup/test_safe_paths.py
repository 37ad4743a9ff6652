"""Names that stay in the home pass, and names that lead anywhere else do not."""

from __future__ import annotations

import pytest

from agent_home.backup.safe_paths import link_problem, path_problem


@pytest.mark.parametrize(
    "path",
    [
        "MEMORY.md", "sessions/2026/11/a b.jsonl", "Knowledge/文.md", "Knowledge/.hidden", ".gitignore",
        "Projects/.github/x.yml", "a\\b", "Knowledge/memory", "Knowledge/.memory", ".git/agent-home/salt",
        ".git/agent-home/quarantine/q-1.json", "name\udcff", "a..b/c", "...",
    ],
)  # fmt: skip
def test_a_name_in_the_home_passes(path: str) -> None:
    assert path_problem(path) == ""


@pytest.mark.parametrize(
    "path",
    [
        "", "\ud800", "/", "/a", "..", "a/..", "a/../b", "a//b", "a/", "a\0", ".git/config", "a/.git/x", ".GIT/x",
        ".git", ".git./x", ".git /x", ".gi\u200dt/x", "．git/x", "git~1/x", ".git:x/y", ".memory", ".MEMORY/x",
        ".git/agent-home/", ".git/agent-home/../x", ".git/agent-home/.git/x", "x" * 5000,
    ],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_does_not_pass(path: str) -> None:
    assert path_problem(path) != ""


@pytest.mark.parametrize(
    ("path", "to"),
    [("AGENTS.md", "AGENT.md"), ("Projects/a.md", "../USER.md"), ("a/b/c", "../../x/y"), ("here", "Knowledge/")],
)
def test_a_link_inside_the_home_passes(path: str, to: str) -> None:
    assert link_problem(path, to) == ""


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("a", ""), ("a", "\ud800"), ("a", "/etc/passwd"), ("a", ".."), ("a", "../x"), ("a/b", ".."), ("a/b", "../../x"),
        ("a", "b/../../c"), ("a", "b/../c"), ("a", "./b"), ("a", "b//c"), ("a", ".git/config"), ("a", ".memory"),
        ("a/b", "../.git"), ("a", "x\0"),
    ],
)  # fmt: skip
def test_a_link_that_leads_elsewhere_does_not_pass(path: str, to: str) -> None:
    assert link_problem(path, to) != ""
