"""Own the searcher of a prompt, which uses the home's index and, if there is one, the embedding model.

Opening the searcher brings the index up to date and loads the model. This time is counted apart from the layers,
because a process that serves many prompts spends it once.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from agent_home.errors import SettingsInvalid
from agent_home.home import Home
from recall.embedding.embedder import NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings, words_only
from recall.errors import RecallError
from recall.index.sync import ensure_fresh
from recall.search.hybrid import search
from recall.search.turns import SurroundingTurns, turns_around
from recall.settings import RecallSettings

from .layers import RecallHits

if TYPE_CHECKING:
    from recall.embedding.embedder import Embedder, Vector

__all__ = ["HomeSearcher"]


class HomeSearcher:
    """Searcher of one home. Keep it for the life of a process, and call :meth:`refresh` before each prompt.

    With *embedder*, the model that the settings name is not loaded.
    """

    def __init__(self, home: Home, embedder: Embedder | None = None) -> None:
        started = time.perf_counter()
        self._home = home
        self._settings: RecallSettings | None = None
        # Degraded parts that last as long as the searcher, and those of the last refresh.
        self._lasting: tuple[str, ...] = ()
        self._embedder: Embedder | None = None
        try:
            settings = home.manifest.settings("recall", RecallSettings)
            embedding = home.manifest.settings("embedding", EmbeddingSettings)
        except SettingsInvalid as error:  # default settings would build another index
            self._lasting = (f"nothing is recalled: {' '.join(str(error).split())}",)
        else:
            self._settings = settings
            opened = embedder or open_embedder(embedding, build_missing=False)
            if isinstance(opened, NoEmbedder):
                self._lasting = (words_only(opened.reason),)
            else:
                self._embedder = _CachingEmbedder(opened)
        self._current: tuple[str, ...] = ()
        self._warm = False
        self._load_ms = (time.perf_counter() - started) * 1000

    @property
    def load_ms(self) -> float:
        """Milliseconds spent outside the layers, on the model, the index and the vector of the query."""
        return self._load_ms

    def refresh(self, query: str = "") -> None:
        """Index changed files and embed *query*, before the deadline of any layer starts.

        A problem of index, disk or model raises nothing. The layers' hits report it.
        """
        if self._settings is None:
            return
        started = time.perf_counter()
        try:
            self._current = ensure_fresh(self._home, self._settings, self._embedder).degraded
        except OSError as error:
            self._current = (f"changed files are not in the index: {error}",)
        try:
            if query.strip() and self._embedder is not None:
                self._embedder.embed_query(query)
            if query.strip() and not self._warm:
                # The first search of a process loads libraries and the index, outside the deadline of any layer.
                self._warm = True
                search(self._home, query, settings=self._settings, embedder=self._embedder, k=1)
        except (RecallError, OSError, RuntimeError, ValueError) as error:
            self._current += (f"the question has no vector: {' '.join(str(error).split())}",)
        self._load_ms += (time.perf_counter() - started) * 1000

    def search(
        self,
        query: str,
        *,
        layers: Collection[str],
        k: int,
        audience: str,
        now: datetime,
        deadline_ms: float,
        exclude: Collection[str],
    ) -> RecallHits:
        """Search the index as :class:`assembler.layers.Searcher` defines it."""
        if self._settings is None:
            return RecallHits(hits=(), degraded=self._lasting)
        found = search(
            self._home,
            query,
            settings=self._settings,
            embedder=self._embedder,
            mode="hybrid" if self._embedder is not None else "lexical",
            k=k,
            layers=tuple(layers),
            audience=audience,
            deadline_ms=deadline_ms,
            exclude=exclude,
            now=now,
            duplicates="show" if tuple(layers) == ("memory",) else "collapse",  # every entry needs a score of its own
        )
        turns = [hit.source for hit in found.hits if hit.layer == "sessions"]
        around = turns_around(self._home, turns, audience=audience) if turns else SurroundingTurns()
        degraded = (
            *self._lasting,
            *self._current,
            *found.degraded,
            *filter(None, [around.problem]),
        )
        return RecallHits(hits=found.hits, degraded=degraded, turns=around.turns)


class _CachingEmbedder:
    """An embedder that caches the vector of the last query, because three layers of a prompt search for it."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._last: tuple[str, Vector] | None = None

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    def embed(self, texts: Sequence[str]) -> Vector:
        return self._inner.embed(texts)

    def embed_query(self, text: str) -> Vector:
        last = self._last
        if last is None or last[0] != text:
            last = (text, self._inner.embed_query(text.encode("utf-8", "replace").decode("utf-8")))
            self._last = last
        return last[1]
