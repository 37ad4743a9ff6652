"""Vectors that outlive a run: the slow part of a measurement is done once for each text and model.

They lie in one file of the user's cache for each model's fingerprint. Questions are never kept: their embedding is
part of the time that is measured.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from recall.embedding.embedder import Embedder, Vector
from recall.embedding.model import cache_folder

__all__ = ["CachedEmbedder"]


class CachedEmbedder:
    """An embedder that keeps its vectors by the hash of their text. *made* counts those that were not known."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name, self.fingerprint, self.dimension = inner.name, inner.fingerprint, inner.dimension
        label = hashlib.sha256(inner.fingerprint.encode()).hexdigest()[:12]
        self._path = cache_folder() / f"bench-vectors-{label}.npz"
        self._known: dict[bytes, Vector] = {}
        self.made = 0
        if self._path.exists():
            with np.load(self._path) as stored:
                self._known = dict(zip((bytes(k) for k in stored["keys"]), stored["vectors"], strict=True))

    def embed(self, texts: Sequence[str]) -> Vector:
        keys = [self._key(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        self.made += len(new)
        if new:
            self._known |= zip(new, self._inner.embed(list(new.values())), strict=True)
        return np.stack([self._known[key] for key in keys]) if keys else self._inner.embed([])

    def embed_query(self, text: str) -> Vector:
        return self._inner.embed_query(text)

    def save(self) -> None:
        """Write what is known now to the user's cache."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        keys = np.array([list(key) for key in self._known], np.uint8)
        np.savez(self._path, keys=keys, vectors=np.stack(list(self._known.values())))

    @staticmethod
    def _key(text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
