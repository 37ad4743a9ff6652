"""Context windows: 32 successive passages of a file in one row, as numbers, for ranking.

FTS5 finds passages by their words. It cannot tell how often a word occurs in neighbouring passages, who speaks or when.
A context window holds these features for 32 passages, so that one row serves all of them. Windows are a function of the
passages. `memory index verify` computes them again and compares. In SQL they are the table ``context_windows``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..text.dates import day_number
from ..text.term_hashes import Fts5Stemmer, TermHashes

__all__ = [
    "WINDOW_PASSAGES",
    "ContextWindows",
    "StoredWindow",
    "StoredWords",
    "WindowPassage",
    "WindowRow",
    "WindowWords",
    "build_windows",
    "unpack_windows",
    "window_sizes",
]

#: Passages in a window.
WINDOW_PASSAGES = 32
_IS_USER, _ASKS = 1, 2
_HUMANS = ("user", "participant")
#: One passage: row number, number of words in text and heading, day, flags.
_PASSAGE = np.dtype([("id", "<i8"), ("words", "<u4"), ("heads", "<u4"), ("day", "<u4"), ("flags", "<u4")])
_CLOSING = "\"'”’)]}»」』 \t\r\n"

#: Number of the window in its file, its passages, the word hashes of their texts and of their headings.
WindowRow = tuple[int, bytes, bytes, bytes]
#: The same with the window's file before its number, and the file's layer behind it.
StoredWindow = tuple[int, int, str, bytes, bytes, bytes]
Floats = npt.NDArray[np.float64]


class WindowPassage(Protocol):
    """Fields read from a passage."""

    @property
    def ordinal(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def heading(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def ts(self) -> str: ...


class WindowWords(Protocol):
    """The words of some passages: of their texts, or of their headings."""

    @property
    def codes(self) -> TermHashes:
        """The hashes of all words in order."""

    @property
    def owners(self) -> npt.NDArray[np.int64]:
        """The place of the passage of each word."""

    def times(self, spelling: Sequence[int]) -> Floats:
        """Return how often each passage has the words *spelling* in succession."""


@dataclass(frozen=True, slots=True)
class StoredWords:
    """Words of *size* passages, read from the index."""

    codes: TermHashes
    owners: npt.NDArray[np.int64]
    size: int

    def times(self, spelling: Sequence[int]) -> Floats:
        """Return how often each passage has the words *spelling* in succession."""
        places = np.flatnonzero(self.codes == spelling[0])
        for step, code in enumerate(spelling[1:], 1):
            places = places[places + step < len(self.codes)]
            places = places[(self.codes[places + step] == code) & (self.owners[places + step] == self.owners[places])]
        return np.bincount(self.owners[places], minlength=self.size).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextWindows:
    """Passages in order of file and place, and the words of their texts and headings.

    Each array has one item for each passage.
    """

    ids: npt.NDArray[np.int64]
    files: npt.NDArray[np.int64]
    ordinals: npt.NDArray[np.int64]
    layers: npt.NDArray[np.str_]
    lengths: Floats
    days: npt.NDArray[np.int64]
    users: npt.NDArray[np.bool_]
    asks: npt.NDArray[np.bool_]
    texts: WindowWords
    headings: WindowWords

    def __len__(self) -> int:
        return len(self.ids)


def build_windows(passages: Iterable[tuple[int, WindowPassage]], stemmer: Fts5Stemmer) -> Iterator[WindowRow]:
    """Yield the windows of one file. *passages* are its passages with their row numbers, in order of their ordinals."""
    for number, group in groupby(passages, key=lambda row: row[1].ordinal // WINDOW_PASSAGES):
        records, words, heads = [], [], []
        for ident, passage in group:
            body, heading = stemmer.hashes(passage.text), stemmer.hashes(passage.heading)
            flags = _IS_USER * (passage.role in _HUMANS) | _ASKS * passage.text.rstrip(_CLOSING).endswith(("?", "？"))
            records.append((ident, len(body), len(heading), day_number(passage.ts), flags))
            words.append(body)
            heads.append(heading)
        yield number, np.array(records, _PASSAGE).tobytes(), _joined(words), _joined(heads)


def unpack_windows(rows: Sequence[StoredWindow]) -> ContextWindows:
    """Return stored windows: file, number, layer, passages, words and headings of each, in order."""
    leaves = np.frombuffer(b"".join(row[3] for row in rows), _PASSAGE)
    sizes = window_sizes(rows)
    starts = np.cumsum(sizes) - sizes
    within = np.arange(len(leaves)) - np.repeat(starts, sizes)
    return ContextWindows(
        ids=leaves["id"].astype(np.int64),
        files=np.repeat(np.array([row[0] for row in rows], np.int64), sizes),
        ordinals=np.repeat(np.array([row[1] * WINDOW_PASSAGES for row in rows], np.int64), sizes) + within,
        layers=np.repeat(np.array([row[2] for row in rows], np.str_), sizes),
        lengths=leaves["words"].astype(np.float64),
        days=leaves["day"].astype(np.int64),
        users=(leaves["flags"] & _IS_USER).astype(np.bool_),
        asks=(leaves["flags"] & _ASKS).astype(np.bool_),
        texts=_stored_words([row[4] for row in rows], leaves["words"]),
        headings=_stored_words([row[5] for row in rows], leaves["heads"]),
    )


def _stored_words(blobs: Sequence[bytes], counts: npt.NDArray[np.uint32]) -> StoredWords:
    codes = np.frombuffer(b"".join(blobs), np.dtype("<u4"))
    return StoredWords(codes, np.repeat(np.arange(len(counts)), counts), len(counts))


def window_sizes(rows: Sequence[StoredWindow]) -> npt.NDArray[np.int64]:
    """Return the number of passages in each of the stored windows *rows*."""
    return np.array([len(row[3]) // _PASSAGE.itemsize for row in rows], np.int64)


def _joined(codes: Sequence[TermHashes]) -> bytes:
    return np.concatenate(codes).astype("<u4").tobytes() if codes else b""
