"""Text to the numbers by which the index compares words: each word cut and stemmed as FTS5 does it, then hashed.

FTS5's own tokenizer does the work, so that a word counts as the same here exactly when it does there. 32 bits: with a
hundred thousand different words in a home, one question word in forty thousand is taken for another now and then.
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
    """Cuts and stems text with the tokenizer of *conn*."""

    def __init__(self, conn: apsw.Connection) -> None:
        name, *arguments = TOKENIZER.split()
        self._tokens = conn.fts5_tokenizer(name, arguments)

    def stems(self, text: str) -> list[str]:
        """The words of *text* in order, as FTS5 stores them."""
        found = self._tokens(
            text.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_DOCUMENT, None,
            include_offsets=False, include_colocated=False,
        )  # fmt: skip
        return cast("list[str]", found)

    def hashes(self, text: str) -> TermHashes:
        """The words of *text*, prepared as for the index, in order."""
        return np.array([term_hash(stem) for stem in self.stems(index_text(text))], np.uint32)


def term_hash(stem: str) -> int:
    """The number of a stem.

    >>> term_hash("paint") == term_hash("paint"), term_hash("paint") == term_hash("pain")
    (True, False)
    """
    return zlib.crc32(stem.encode("utf-8"))
