"""A model that needs no file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from recall.errors import ModelError

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
