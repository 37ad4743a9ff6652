"""Run the Python examples of docs/outputs.md and docs/events.md in one home each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agent_home.home import Home

DOCS = Path(__file__).resolve().parents[1] / "docs"
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["outputs.md", "events.md"])
def test_the_examples_of_a_page_run_one_after_the_other(home: Home, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    monkeypatch.setenv("AGENT_HOME", str(home.root))
    monkeypatch.setattr("interfaces.indexing.MAX_VECTORS", 0)
    examples = EXAMPLE.findall((DOCS / page).read_text(encoding="utf-8"))
    assert examples
    names: dict[str, Any] = {}
    for example in examples:
        exec(compile(example, page, "exec"), names)  # noqa: S102 - the page of this project
