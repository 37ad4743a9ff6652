"""Fixtures of the tests with real frameworks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agent_home.home import Home
from interfaces.api import AgentHome
from tests.conftest import FolderCopy
from tests.source_tree import ROOT

#: Address of a service in the examples.
EXAMPLE_ADDRESS = "http://127.0.0.1:8080"


@pytest.fixture(scope="session", autouse=True)
def _no_traces() -> Iterator[None]:
    """Keep the OpenAI Agents SDK from sending what it does to its maker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
        yield


@pytest.fixture(scope="session")
def new_home(_pattern_home: FolderCopy, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], AgentHome]:
    """Return what makes a new home, for tests that need one for each example."""

    def make() -> AgentHome:
        root = tmp_path_factory.mktemp("example") / "home"
        _pattern_home.write(root)
        return AgentHome(Home(root))

    return make


@pytest.fixture
def example(home: Home, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Return what runs the example of a section of docs/frameworks.md beside a home, and gives its names."""
    monkeypatch.chdir(home.root.parent)

    def run(section: str, *, address: str = EXAMPLE_ADDRESS, **given: Any) -> dict[str, Any]:
        code = documented(section).replace(EXAMPLE_ADDRESS, address)
        names = dict(given)
        exec(compile(code, "docs/frameworks.md", "exec"), names)  # noqa: S102 - it is ours
        return names

    return run


def documented(section: str) -> str:
    """Return the code of the example in *section*."""
    text = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
    part = text.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return part.split("```python\n")[1].split("```")[0]


@pytest.fixture(scope="module")
def quiet_mem0(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep mem0's client from the user's folder and from the net."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEM0_DIR", str(tmp_path_factory.mktemp("mem0")))
        patch.setenv("MEM0_TELEMETRY", "False")
        yield
