"""A model that needs no file, and conversations written straight into a home."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from agent_home.creation import create
from agent_home.home import Home
from recall.errors import ModelError
from recall.index.sync import SyncReport, sync
from recall.search.hybrid import SearchResult, search
from recall.settings import RecallSettings

Vectors = npt.NDArray[np.float32]


class HashingEmbedder:
    """Words hashed to directions and added up: texts that share words are near each other.

    Refuses every text that contains a word of *refused*, and counts the texts that it was given.
    """

    def __init__(self, name: str = "hashing", dimension: int = 64, refused: Sequence[str] = ()) -> None:
        self.name = self.fingerprint = name
        self.dimension = dimension
        self.refused = list(refused)
        self.count = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.count += len(texts)
        for text in texts:
            if any(word in text for word in self.refused):
                raise ModelError(f"refused {len(text)} characters")
        rows = [self.embed_query(text) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> Vectors:
        vector = np.full(self.dimension, 1e-3, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            vector[digest[0] % self.dimension] += 1.0 if digest[1] % 2 else -1.0
            vector[digest[2] % self.dimension] += 1.0 if digest[3] % 2 else -1.0
        unit: Vectors = vector / np.linalg.norm(vector)
        return unit.astype(np.float32)


@pytest.fixture(scope="session")
def _pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create(
        tmp_path_factory.mktemp("pattern") / "home", name="Test", now=datetime(2026, 11, 21, tzinfo=UTC)
    ).home.root


@pytest.fixture
def home(_pattern: Path, tmp_path: Path) -> Home:
    """A new home without its history, which recall does not read: a copy is quicker than a commit."""
    shutil.copytree(_pattern, tmp_path / "home", ignore=shutil.ignore_patterns(".git", ".memory"))
    return Home(tmp_path / "home")


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
