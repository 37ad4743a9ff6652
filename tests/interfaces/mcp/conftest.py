"""Fixtures of the MCP tests: no model, and a home in which each private place has a word of its own."""

from __future__ import annotations

import pytest

from agent_home.home import Home
from agent_home.store.gateway import transaction
from interfaces.api import AgentHome
from tests.conftest import NOW
from tests.interfaces.mcp.canaries import CANARIES


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Search by words: the model of this machine's user, if there is one, would take a second to load."""
    monkeypatch.setenv("AGENT_HOME_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setattr("interfaces.indexing.MAX_VECTORS", 0)


@pytest.fixture
def private_home(home: Home) -> Home:
    """A home in which every file of CANARIES has its word, and a folder that is the owner's alone."""
    manifest = home.root / "agent.toml"
    manifest.write_text(manifest.read_text() + '\n[audiences]\n"Knowledge/private/" = []\n')
    with transaction(home, actor="test", message="Fill", source="user", now=NOW) as edits:
        for path, word in CANARIES.items():
            if path.endswith(".md"):
                edits.write(path, edits.text(path) + _text(path, word))
    message = {"role": "user", "content": f"Yesterday the {CANARIES['sessions']} stood in the hall."}
    AgentHome(home).append("talk", [message], now=NOW)
    return Home(home.root)


def _text(path: str, word: str) -> str:
    if path == "MEMORY.md":
        return f"\n- **[RC-7F3A]** 2026-11-20 The {word} is deep.\n  Origin: user\n"
    if path.startswith("Archive/"):
        return f"# Archive\n\n## Recent Context\n\n- **[RC-8G4B]** 2026-10-20 The {word} is old.\n"
    return f"\nThe {word} is here.\n"
