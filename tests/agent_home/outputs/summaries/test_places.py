"""Places that are the project's own."""

from __future__ import annotations

import pytest

from agent_home.outputs.summaries.places import is_foreign


@pytest.mark.parametrize(
    "path", ["node:internal/fs", "/x/node_modules/a/b.js", "<frozen runpy>", "/rustc/59/library/a.rs"]
)
def test_libraries_are_foreign(path: str) -> None:
    assert is_foreign(path)


@pytest.mark.parametrize("path", ["src/lib/a.py", "tests/test_a.py", "/code/app/main.rs"])
def test_files_of_a_project_are_not(path: str) -> None:
    assert not is_foreign(path)
