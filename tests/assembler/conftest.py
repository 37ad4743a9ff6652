"""Provide homes written straight to disk, and a searcher with given hits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent_home.creation import template_files
from agent_home.documents.entry import Entry
from agent_home.documents.standing import Standing
from agent_home.home import Home
from assembler.recalled.layers import RecallHits


@dataclass(frozen=True, slots=True, kw_only=True)
class FakePassage:
    """A passage in the form of a recall hit."""

    source: str
    text: str
    score: float = 1.0
    ts: str = ""
    session: str = ""
    name: str = ""
    role: str = "user"
    heading: str = ""
    also: tuple[str, ...] = ()
    standing: Standing | None = None


@dataclass(slots=True)
class FakeSearcher:
    """Searcher that returns *hits* of the requested layers, or raises *error* if there is one."""

    hits: Mapping[str, Sequence[FakePassage]] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    error: Exception | None = None
    ended: tuple[Entry, ...] = ()
    calls: list[dict[str, Any]] = field(default_factory=list)
    load_ms: float = 1.5
    relevant: bool = True

    def refresh(self, query: str) -> None:
        """Do nothing."""

    def search(
        self, query: str, *, layers: Collection[str], k: int, audience: str, now: datetime, deadline_ms: float,
        exclude: Collection[str],
    ) -> RecallHits:  # fmt: skip
        self.calls.append(
            {"query": query, "layers": tuple(layers), "audience": audience, "now": now, "exclude": tuple(exclude)}
        )
        if self.error is not None:
            raise self.error
        hits = [hit for layer in layers for hit in self.hits.get(layer, ()) if hit.session not in exclude]
        return RecallHits(hits=hits[:k], degraded=self.degraded, ended=self.ended, relevant=self.relevant)


@pytest.fixture(scope="session")
def found() -> type[FakePassage]:
    return FakePassage


@pytest.fixture(scope="session")
def finder() -> type[FakeSearcher]:
    return FakeSearcher


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Home]:
    """Return a function that writes a home with the template's manifest and only the given files."""
    manifest = dict(template_files())["agent.toml"].replace("{{name}}", "Test")

    def write(files: Mapping[str, str | bytes], extra: str = "") -> Home:
        root = tmp_path / "written"
        for path, content in {"agent.toml": manifest + extra, **files}.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
        (root / ".memory").mkdir(exist_ok=True)
        return Home(root)

    return write


@pytest.fixture(scope="session")
def memory() -> Callable[..., str]:
    return _memory


def _memory(decisions: int, words: int = 40) -> str:
    """Return a MEMORY.md with two preferences, two threads and *decisions* decisions, newest on top."""
    lines = ["# Memory", "", "## Standing Preferences", ""]
    lines += [f"- **[SP-000{n}] 2026-01-0{n} Preference {n}** - always {'kind ' * 5}{n}." for n in (1, 2)]
    lines += ["", "## Open Threads", ""]
    lines += [f"- **[OT-000{n}] 2026-02-0{n} Thread {n}** - waits for {'answers ' * 5}{n}." for n in (1, 2)]
    lines += ["", "## Key Decisions", ""]
    for n in range(decisions, 0, -1):
        day = f"2026-{n // 28 % 9 + 1:02}-{n % 28 + 1:02}"
        lines += [f"- **[KD-{n:04}] {day} Decision {n}** - {f'reason{n} ' * words}end{n}."]
        lines += [f"  Evidence: unchecked {n}"]
    return "\n".join(lines) + "\n"
