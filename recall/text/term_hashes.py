"""Stored words as numbers: each word cut and stemmed by FTS5's own tokenizer, then hashed.

A word counts as the same here exactly when it does in the index. Hashes have 32 bits: with a hundred thousand different
words in a home, one query word in forty thousand is taken for another now and then.
"""

from __future__ import annotations

import zlib
from typing import cast

import apsw
import numpy as np
import numpy.typing as npt

from .terms import TOKENIZER, index_text

__all__ = ["Fts5Stemmer", "TermHashes", "term_hash"]

TermHashes = npt.NDArray[np.uint32]


class Fts5Stemmer:
    """Cut and stem text with the tokenizer of a connection. Elsewhere words are stemmed by ``recall.text.stems``."""

    def __init__(self, conn: apsw.Connection) -> None:
        name, *arguments = TOKENIZER.split()
        self._tokens = conn.fts5_tokenizer(name, arguments)

    def stems(self, text: str) -> list[str]:
        """Return the words of *text* in order, as FTS5 stores them."""
        found = self._tokens(
            text.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_DOCUMENT, None,
            include_offsets=False, include_colocated=False,
        )  # fmt: skip
        return cast("list[str]", found)

    def hashes(self, text: str) -> TermHashes:
        """Return the hashes of the words of *text* in order, prepared as for the index."""
        return np.array([term_hash(word) for word in self.stems(index_text(text))], np.uint32)


def term_hash(term: str) -> int:
    """Return the number of a stem.

    >>> term_hash("paint") == term_hash("paint"), term_hash("paint") == term_hash("pain")
    (True, False)
    """
    return zlib.crc32(term.encode("utf-8"))
