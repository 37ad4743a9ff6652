"""Own the searcher of a prompt, which uses the home's index and, if there is one, the embedding model.

Opening the searcher brings the index up to date and loads the model. This time is counted apart from the layers,
because a process that serves many prompts spends it once.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING

from agent_home.errors import SettingsInvalid
from agent_home.home import Home
from recall.embedding.embedder import NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings, words_only
from recall.embedding.query_cache import QueryCachingEmbedder
from recall.errors import RecallError
from recall.index.damage import is_marked
from recall.index.file_scan import scan
from recall.index.sync import ensure_fresh
from recall.search.hybrid import SearchResult, search
from recall.search.standing import ended_entries
from recall.search.turns import SurroundingTurns, turns_around
from recall.settings import RecallSettings

from .layers import RecallHits

if TYPE_CHECKING:
    from recall.embedding.embedder import Embedder

__all__ = ["HomeSearcher"]

#: Bytes of memory and transcripts whose words are indexed again within a prompt, in about a second. A larger home's
#: damaged index waits for the next command that writes, or for `memory sync`.
_MOST_REBUILT_BYTES = 4 << 20


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
                self._embedder = QueryCachingEmbedder(opened)
        self._current: tuple[str, ...] = ()
        self._place = home.index
        self._locked = False
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
        self._index()
        try:
            if query.strip() and self._embedder is not None:
                self._embedder.embed_query(query)
            if query.strip() and not self._warm and not self._locked:
                # The first search of a process loads libraries and the index, outside the deadline of any layer.
                self._warm = True
                search(self._home, query, settings=self._settings, embedder=self._embedder, k=1)
                self._rebuilt()
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
        settings = self._settings
        if settings is None:
            return RecallHits(hits=(), degraded=self._lasting)
        if self._locked:  # each look at it would wait again
            return RecallHits(hits=(), degraded=(*self._lasting, *self._current))

        def found_now() -> SearchResult:
            return search(
                self._home,
                query,
                settings=settings,
                embedder=self._embedder,
                mode="hybrid" if self._embedder is not None else "lexical",
                k=k,
                layers=tuple(layers),
                audience=audience,
                deadline_ms=deadline_ms,
                exclude=exclude,
                now=now,
                with_parts=False,
                # every entry of memory needs a score of its own
                duplicates="show" if tuple(layers) == ("memory",) else "collapse",
            )

        found = found_now()
        if self._rebuilt():
            found = found_now()
        turns = [hit.source for hit in found.hits if hit.layer == "sessions"]
        around = turns_around(self._home, turns, audience=audience) if turns else SurroundingTurns()
        degraded = (
            *self._lasting,
            *self._current,
            *found.degraded,
            *filter(None, [around.problem]),
        )
        archive = "archive" in layers
        ended = ended_entries(self._home) if archive else ()
        return RecallHits(hits=found.hits, degraded=degraded, turns=around.turns, ended=ended, relevant=found.relevant)

    def _index(self) -> None:
        """Index changed files. A damaged index is rebuilt here when it was marked before."""
        if self._settings is None:
            return
        try:
            self._place = self._home.index
            done = ensure_fresh(self._home, self._settings, self._embedder)
            self._current, self._locked = done.degraded, done.locked
        except OSError as error:
            self._current = (f"changed files are not in the index: {error}",)

    def _rebuilt(self) -> bool:
        """Rebuild an index in which a search met damage, if that takes no time worth waiting for."""
        if not is_marked(self._place) or sum(size for _, size in scan(self._home).values()) > _MOST_REBUILT_BYTES:
            return False
        self._index()
        return not is_marked(self._place)
