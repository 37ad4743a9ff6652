"""Tests of the paths of memory files: one spelling, inside the home, and no link on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_home.errors import DocumentInvalid
from agent_home.home import Home
from agent_home.store.memory_path import memory_path, refuse_links


@pytest.mark.parametrize(
    "path", ["", ".", "./MEMORY.md", "a//b.md", "../x.md", "/x.md", ".git/config", "a/.GIT/x", ".memory/x", "a\0b"]
)
def test_a_path_that_is_no_memory_is_refused(home: Home, path: str) -> None:
    with pytest.raises(ValueError, match=r"memory|relative path"):
        memory_path(home, path)


def test_a_memory_file_is_below_the_home(home: Home) -> None:
    assert memory_path(home, "Knowledge/x.md") == home.root / "Knowledge/x.md"


@pytest.mark.parametrize("target", [".git/config", ".memory", "../outside.md"])
def test_a_link_that_leads_to_no_memory_is_refused(home: Home, tmp_path: Path, target: str) -> None:
    (home.root / "Knowledge").mkdir(exist_ok=True)
    (home.root / "Knowledge" / "x.md").symlink_to(home.root / target)
    with pytest.raises(DocumentInvalid, match="outside-home"):
        memory_path(home, "Knowledge/x.md")
    assert tmp_path.is_dir()


def test_nothing_is_written_below_a_link(home: Home) -> None:
    (home.root / "Notes").symlink_to("Knowledge")
    with pytest.raises(DocumentInvalid, match="Notes is a link to Knowledge"):
        refuse_links(home, ["Notes/x.md"])
