"""The searcher that a prompt uses: the home's own index and, where there is one, the embedding model.

Opening it brings the index up to the files and loads the model; both are counted apart from the layers, because a
process that serves many prompts pays for them once.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from agent_home.errors import SettingsInvalid
from agent_home.home import Home
from recall.embedding.embedder import NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings
from recall.errors import RecallError
from recall.index.sync import ensure_fresh
from recall.search.hybrid import search
from recall.search.turns import SurroundingTurns, turns_around
from recall.settings import RecallSettings

from .layers import Findings

if TYPE_CHECKING:
    from recall.embedding.embedder import Embedder, Vector

__all__ = ["HomeSearcher"]


class HomeSearcher:
    """Searches one home. Keep it for the life of a process; :meth:`refresh` before each prompt.

    *embedder* is used instead of loading the model that the settings name.
    """

    def __init__(self, home: Home, embedder: Embedder | None = None) -> None:
        started = time.perf_counter()
        self._home = home
        self._settings: RecallSettings | None = None
        self._standing: tuple[str, ...] = ()
        self._embedder: Embedder | None = None
        try:
            settings = home.manifest.settings("recall", RecallSettings)
            embedding = home.manifest.settings("embedding", EmbeddingSettings)
        except SettingsInvalid as error:  # other settings would build another index: the prompt comes without recall
            self._standing = (f"nothing is recalled: {' '.join(str(error).split())}",)
        else:
            self._settings = settings
            opened = embedder or open_embedder(embedding, build_missing=False)
            if isinstance(opened, NoEmbedder):
                self._standing = (f"no vectors, words alone: {opened.reason}",)
            else:
                self._embedder = _Remembering(opened)
        self._changing: tuple[str, ...] = ()
        self._warm = False
        self._load_ms = (time.perf_counter() - started) * 1000

    @property
    def load_ms(self) -> float:
        """Milliseconds spent outside the layers: on the model, on the index, on the question's vector."""
        return self._load_ms

    def refresh(self, question: str = "") -> None:
        """Notice changed files, and embed *question* before any layer's time begins to run.

        Never raises for the state of index, disk or model; the layers' findings say what is wrong.
        """
        if self._settings is None:
            return
        started = time.perf_counter()
        try:
            self._changing = ensure_fresh(self._home, self._settings, self._embedder).degraded
        except OSError as error:
            self._changing = (f"changed files are not in the index: {error}",)
        try:
            if question.strip() and self._embedder is not None:
                self._embedder.embed_query(question)
            if question.strip() and not self._warm:
                # The first search of a process loads libraries and the index; no layer's deadline should pay for it.
                self._warm = True
                search(self._home, question, settings=self._settings, embedder=self._embedder, k=1)
        except (RecallError, OSError, RuntimeError, ValueError) as error:
            self._changing += (f"the question has no vector: {' '.join(str(error).split())}",)
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
    ) -> Findings:
        """See :class:`assembler.layers.Searcher`."""
        if self._settings is None:
            return Findings(hits=(), degraded=self._standing)
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
            duplicates="show" if tuple(layers) == ("memory",) else "collapse",  # each entry is shown, or not, by itself
        )
        turns = [hit.source for hit in found.hits if hit.layer == "sessions"]
        around = turns_around(self._home, turns, audience=audience) if turns else SurroundingTurns()
        degraded = (*self._standing, *self._changing, *found.degraded, *filter(None, [around.problem]))
        return Findings(hits=found.hits, degraded=degraded, turns=around.turns)


class _Remembering:
    """An embedder that remembers the last question: one prompt asks it in three layers."""

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
