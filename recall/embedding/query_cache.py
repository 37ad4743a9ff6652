"""An embedder that keeps the vector of the last query, because the layers of a prompt all search for the same one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .embedder import Embedder, Vector

__all__ = ["QueryCachingEmbedder"]


class QueryCachingEmbedder:
    """The embedder *inner*, which embeds a query once as long as no other one comes between."""

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

    def knows(self, text: str) -> bool:
        """Return whether the vector of the query *text* is at hand."""
        last = self._last
        return last is not None and last[0] == text
