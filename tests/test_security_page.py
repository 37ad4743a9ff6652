"""The threat model names tests that exist."""

from __future__ import annotations

import re

from tests.source_tree import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")


def test_every_named_test_exists() -> None:
    names = re.findall(r"`(test_\w+)`", PAGE)
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(names) > 20
    assert [name for name in names if f"def {name}(" not in sources] == []


def test_every_named_file_of_tests_exists() -> None:
    files = re.findall(r"`(tests/[\w/]+\.py)`", PAGE)
    assert files
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_every_promise_names_what_keeps_it() -> None:
    promises = PAGE.partition("## Promises")[2].partition("## Not promised")[0]
    rows = [line.strip("|").split("|") for line in promises.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0].strip() != "promise"]
    assert len(rows) > 20
    assert [row[0] for row in rows if len(row) != 3 or "`" not in row[2]] == []
