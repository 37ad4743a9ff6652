"""Conversations and files written straight into a home, and a model that needs no file."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_home.creation import create
from agent_home.home import Home
from recall.index.store_choice import choose_namespace
from recall.index.sync import SyncReport, sync
from recall.search.hybrid import SearchResult, search
from recall.servers import DATABASE_VARIABLE
from recall.settings import RecallSettings
from tests.recall.hashing_embedder import HashingEmbedder


@pytest.fixture(scope="session")
def _pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create(
        tmp_path_factory.mktemp("pattern") / "home", name="Test", now=datetime(2026, 11, 21, tzinfo=UTC)
    ).home.root


@pytest.fixture
def index_kind() -> str:
    """Where the index of ``home`` is: ``sqlite`` or ``postgresql``. A module may override it."""
    return os.environ.get("TEST_INDEX_KIND", "sqlite")


@pytest.fixture
def home(_pattern: Path, tmp_path: Path, index_kind: str, request: pytest.FixtureRequest) -> Home:
    """A new home without its history, which recall does not read: a copy is quicker than a commit."""
    shutil.copytree(_pattern, tmp_path / "home", ignore=shutil.ignore_patterns(".git", ".memory"))
    home = Home(tmp_path / "home")
    if index_kind == "postgresql":
        request.getfixturevalue("monkeypatch").setenv(DATABASE_VARIABLE, request.getfixturevalue("database_url"))
        home.machine.mkdir(parents=True, exist_ok=True)
        choose_namespace(home, uuid.uuid4().hex)
    return home


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


@pytest.fixture
def settings() -> RecallSettings:
    return RecallSettings()


@pytest.fixture
def say(home: Home) -> Callable[..., Path]:
    """Append turns to a session's transcript: ``say("s1", "first", "second")``. User and agent take turns."""

    def append(session: str, *texts: str, names: Sequence[str] = ("Ada", "agent")) -> Path:
        path = home.root / "sessions/2026/11" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        start = len(path.read_text("utf-8").splitlines()) if path.exists() else 0
        with path.open("a", encoding="utf-8") as file:
            for number, text in enumerate(texts, start + 1):
                row = {
                    "session": session, "id": f"m{number}", "ts": f"2026-11-20T10:{number % 60:02}:00",
                    "role": ("user", "assistant")[(number - 1) % 2], "name": names[(number - 1) % 2], "content": text,
                }  # fmt: skip
                file.write(json.dumps(row) + "\n")
        return path

    return append


@pytest.fixture
def write(home: Home) -> Callable[[str, str], Path]:
    """``write("Knowledge/a.md", text)`` puts a file into the home."""

    def put(relative: str, text: str) -> Path:
        path = home.root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    return put


@pytest.fixture
def update(home: Home, settings: RecallSettings, embedder: HashingEmbedder) -> Callable[[], SyncReport]:
    """Bring the index up to the files."""
    return lambda: sync(home, settings, embedder)


@pytest.fixture
def ask(home: Home, settings: RecallSettings, embedder: HashingEmbedder) -> Callable[..., SearchResult]:
    """Search with ``ask("question", k=3)``, by words and by vectors unless told otherwise."""

    def find(query: str, **options: object) -> SearchResult:
        return search(home, query, settings=settings, **{"embedder": embedder, **options})  # type: ignore[arg-type]

    return find


@pytest.fixture
def sources(ask: Callable[..., SearchResult]) -> Callable[..., list[str]]:
    """The addresses of the hits, best first."""
    return lambda query, **options: [hit.source for hit in ask(query, **options).hits]


@pytest.fixture
def many_turns() -> Callable[[int], Iterator[str]]:
    """Turns with words of their own, the same every time."""
    return lambda count: (f"turn {n} speaks of subject{n % 17} and matter{n % 5} in words{n}" for n in range(count))
