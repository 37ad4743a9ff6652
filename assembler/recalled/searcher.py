"""Own the searcher of a prompt, which uses the home's index and, if there is one, the embedding model.

Opening the searcher starts to load the model, on another thread, while the context files are read. Before the layers,
:meth:`HomeSearcher.refresh` brings the index up to date. This time is counted apart from the layers, because a process
that serves many prompts spends it once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agent_home.errors import SettingsInvalid
from agent_home.home import Home
from recall.embedding.embedder import NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings, words_only
from recall.embedding.query_cache import QueryCachingEmbedder
from recall.errors import RecallError
from recall.index.file_scan import scan
from recall.index.sqlite.damage import is_marked
from recall.index.sync import ensure_fresh
from recall.problems import told_once
from recall.search.hybrid import SearchResult, search
from recall.search.standing import ended_entries
from recall.search.turns import SurroundingTurns, turns_around
from recall.settings import RecallSettings

from .layers import RecallHits

if TYPE_CHECKING:
    from recall.embedding.embedder import Embedder

__all__ = ["HomeSearcher"]

#: Files of indexes that this process has searched: path and inode.
_SEARCHED: set[tuple[Path, int]] = set()

#: Bytes of memory and transcripts whose words are indexed again within a prompt, in about a second. A larger home's
#: damaged index waits for the next command that writes, or for `memory sync`.
_MOST_REBUILT_BYTES = 4 << 20


class HomeSearcher:
    """Searcher of one home.

    With *embedder*, the model that the settings name is not loaded.
    """

    def __init__(self, home: Home, embedder: Embedder | None = None) -> None:
        started = time.perf_counter()
        self._home = home
        self._settings: RecallSettings | None = None
        # Degraded parts that last as long as the searcher, and those of the last refresh.
        self._lasting: tuple[str, ...] = ()
        self._embedder: Embedder | None = None
        self._opened: Callable[[], Embedder | NoEmbedder] | None = None
        try:
            settings = home.manifest.settings("recall", RecallSettings)
            embedding = home.manifest.settings("embedding", EmbeddingSettings)
        except SettingsInvalid as error:  # default settings would build another index
            self._lasting = (f"nothing is recalled: {' '.join(str(error).split())}",)
        else:
            self._settings = settings
            self._opened = (lambda: embedder) if embedder is not None else _opening(embedding)
        self._current: tuple[str, ...] = ()
        self._place = home.index
        self._locked = False
        self._load_ms = (time.perf_counter() - started) * 1000

    @property
    def load_ms(self) -> float:
        """Milliseconds spent outside the layers, on the model, the index and the vector of the query."""
        return self._load_ms

    def refresh(self, query: str = "") -> None:
        """Load the model, index changed files and embed *query*, before the deadline of any layer starts.

        A problem of index, disk or model raises nothing. The layers' hits report it.
        """
        if self._settings is None:
            return
        started = time.perf_counter()
        self._take_embedder()
        self._index()
        try:
            if query.strip() and self._embedder is not None:
                self._embedder.embed_query(query)
            if query.strip() and not self._locked:
                self._load_index(query)
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
        """Search the index as :class:`assembler.recalled.layers.Searcher` defines it."""
        self._take_embedder()
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
        degraded = told_once((*self._lasting, *self._current, *found.degraded, *filter(None, [around.problem])))
        archive = "archive" in layers
        ended = ended_entries(self._home) if archive else ()
        return RecallHits(hits=found.hits, degraded=degraded, turns=around.turns, ended=ended, relevant=found.relevant)

    def _take_embedder(self) -> None:
        """Wait for the model, the first time."""
        if self._opened is None:
            return
        opened, self._opened = self._opened(), None
        if isinstance(opened, NoEmbedder):
            self._lasting = (words_only(opened.reason),)
        else:
            self._embedder = QueryCachingEmbedder(opened)

    def _load_index(self, query: str) -> None:
        """Search once for *query*, because the first search of a process loads libraries and the index."""
        if self._settings is None or not self._place.exists():
            return
        file = self._place, self._place.stat().st_ino
        if file not in _SEARCHED:
            _SEARCHED.add(file)
            search(self._home, query, settings=self._settings, embedder=self._embedder, k=1)
            self._rebuilt()

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


def _opening(settings: EmbeddingSettings) -> Callable[[], Embedder | NoEmbedder]:
    """Load the model on another thread, and return what waits for it."""
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
    opened = pool.submit(open_embedder, settings, build_missing=False)
    pool.shutdown(wait=False)
    return opened.result
