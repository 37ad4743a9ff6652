"""All passages of an index in memory, as numbers, for a process that searches it often.

The table holds the context windows of all files and the places of each word. It gives the same answers as FTS5 and the
stored windows, without reading a row. Reading it costs as much as it saves in some searches, so a process makes it when
it has searched an index several times. Later changes of the index are read file by file, by the table ``changes``.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import apsw
import numpy as np
import numpy.typing as npt

from ..text.term_hashes import TermHashes
from . import schema
from .context_window import ContextWindows, StoredWindow, unpack_windows, window_sizes
from .passage import LAYERS

__all__ = ["PassageTable", "Segment", "load_table", "log_change", "resident_table"]

Ints = npt.NDArray[np.int64]
Columns = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
#: Arrays of context windows with one item for each passage.
_FEATURES = ("ids", "files", "ordinals", "layers", "lengths", "days", "users", "asks")
#: Searches of an index by one process that are answered without a table.
_SEARCHES_BEFORE = 8
#: Passages of the largest index with a table: a passage of 20 words takes some 450 bytes.
_MOST_PASSAGES = 300_000
#: Indexes with a table in one process.
_MOST_TABLES = 2
#: Passages of changed files that are kept apart, at least, and as a share of all. With more, all are read again.
_MOST_CHANGED, _CHANGED_SHARE = 2_048, 1 / 8
#: Changes that the index remembers.
_LOGGED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Passages of whole files in order of file and place, with their words.

    *windows* has no words. They are in *tokens*, passage by passage: the words of the heading, then those of the text.
    *columns* has for each of them twice the place of its passage, plus one in the text, and *starts* says where each
    column begins. *hashes* are the tokens in order of size, and *positions* are their places. *window* is the number of
    each passage's window, and *file* the number of its file. *file_first* has each file's first passage, and
    *file_sizes* its words. *alive* marks the passages that the index still has.
    """

    windows: ContextWindows
    layers: npt.NDArray[np.uint8]
    window: Ints
    file: Ints
    file_first: Ints
    sizes: Ints
    file_sizes: Ints
    tokens: TermHashes
    columns: Columns
    starts: Ints
    hashes: TermHashes
    positions: npt.NDArray[np.uint32]
    by_id: Ints
    alive: Flags

    def __len__(self) -> int:
        return len(self.windows)

    @property
    def file_ids(self) -> Ints:
        return self.windows.files[self.file_first]

    def columns_with(self, codes: Sequence[int], *, across: bool = False) -> Columns:
        """Return the column of each occurrence of the words *codes* in succession, in order.

        With *across*, the words may begin in one column of a file and end in another.
        """
        first = np.array(codes[:1], np.uint32)
        start, end = np.searchsorted(self.hashes, first)[0], np.searchsorted(self.hashes, first, "right")[0]
        at = self.positions[start:end].astype(np.int64)
        for step, code in enumerate(codes[1:], 1):
            at = at[at + step < len(self.tokens)]
            at = at[self.tokens[at + step] == code]
            here, there = self.columns[at], self.columns[at + step]
            if across:
                here, there = self.windows.files[here >> 1], self.windows.files[there >> 1]
            at = at[here == there]
        found: Columns = self.columns[at]
        return np.asarray(found[self.alive[found >> 1]])

    def windows_of(self, ids: Ints) -> ContextWindows:
        """Return the context windows that hold those of the passages *ids* that are here."""
        known = self.windows.ids[self.by_id]
        at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        places = self.by_id[at[known[at] == ids]] if len(known) else self.by_id
        wanted = np.unique(self.window[places[self.alive[places]]])
        first, end = np.searchsorted(self.window, wanted), np.searchsorted(self.window, wanted, "right")
        return self._passages([slice(*span) for span in zip(first.tolist(), end.tolist(), strict=True)])

    def _passages(self, spans: Sequence[slice]) -> ContextWindows:
        """Return the passages of *spans*, which are in order, with their words."""
        if not spans:
            return _without_words(unpack_windows([]))
        picked = replace(
            self.windows,
            **{name: np.concatenate([getattr(self.windows, name)[span] for span in spans]) for name in _FEATURES},
        )
        starts = self.starts
        at = [slice(starts[2 * span.start], starts[2 * span.stop]) for span in spans]
        tokens = np.concatenate([self.tokens[place] for place in at])
        in_text = np.concatenate([self.columns[place] for place in at]) & 1
        sizes = np.concatenate([self.sizes[span] for span in spans])
        owners = np.repeat(np.arange(len(picked)), sizes)
        texts, headings = np.flatnonzero(in_text), np.flatnonzero(in_text == 0)
        return replace(
            picked,
            words=tokens[texts],
            owners=owners[texts],
            heads=tokens[headings],
            head_owners=owners[headings],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageTable:
    """The passages of an index in its state after the change *number*, whose random *token* names this index.

    *files* counts the files that have passages, *text_words* the words of all texts, *all_words* those of headings too.
    """

    segments: tuple[Segment, ...]
    number: int
    token: int
    passages: int
    files: int
    text_words: int
    all_words: int

    @classmethod
    def of(cls, segments: tuple[Segment, ...], number: int, token: int) -> PassageTable:
        """Return the table of *segments*, with its sums."""
        return cls(
            segments=segments,
            number=number,
            token=token,
            passages=sum(int(np.count_nonzero(part.alive)) for part in segments),
            files=sum(int(np.count_nonzero(part.alive[part.file_first])) for part in segments),
            text_words=sum(int(part.windows.lengths[part.alive].sum()) for part in segments),
            all_words=sum(int(part.sizes[part.alive].sum()) for part in segments),
        )

    def windows_of(self, ids: Sequence[int]) -> ContextWindows:
        """Return the context windows that hold the passages *ids*, in order of file and number."""
        wanted = np.array(ids, np.int64)
        parts = [part for segment in self.segments if len(part := segment.windows_of(wanted))]
        if len(parts) == 1:
            return parts[0]
        return _merged(parts) if parts else unpack_windows([])


def log_change(conn: apsw.Connection, file: int) -> None:
    """Record that passages of *file* change. Inside the transaction that changes them."""
    conn.execute("INSERT INTO changes(file, token) VALUES(?, random())", (file,))
    conn.execute("DELETE FROM changes WHERE number <= (SELECT max(number) FROM changes) - ?", (_LOGGED,))


def resident_table(conn: apsw.Connection, path: Path) -> PassageTable | None:
    """Return the passages of the index at *path* as *conn* sees them, or ``None`` while the process has no table."""
    with _LOCK:
        known = _CACHE.pop(str(path), None) or _ReadPassages()
        _CACHE[str(path)] = known
        while len(_CACHE) > _MOST_TABLES:
            _CACHE.popitem(last=False)
        known.searches += 1
        if known.table is not None:
            known.table = _refreshed(conn, known.table)
            known.searches = 0
        elif known.searches > _SEARCHES_BEFORE:
            known.searches = 0
            passages = schema.value(conn, "SELECT coalesce(sum(passages), 0) FROM files")
            known.table = load_table(conn) if passages <= _MOST_PASSAGES else None
        return known.table


@dataclass(slots=True)
class _ReadPassages:
    """What a process has of one index. *searches* counts those that were answered without a table."""

    table: PassageTable | None = None
    searches: int = 0


_LOCK = threading.Lock()
_CACHE: OrderedDict[str, _ReadPassages] = OrderedDict()


def load_table(conn: apsw.Connection) -> PassageTable:
    """Read all passages."""
    number, token = schema.rows(conn, "SELECT number, token FROM changes ORDER BY number DESC LIMIT 1")[0]
    return PassageTable.of((_segment(schema.rows(conn, _SELECT_ALL)),), number, token)


_SELECT_ALL = """
SELECT s.file, s.number, f.layer, s.leaves, s.words, s.heads FROM context_windows s JOIN files f ON f.id = s.file
ORDER BY s.file, s.number
"""
_SELECT_FILES = """
SELECT s.file, s.number, f.layer, s.leaves, s.words, s.heads
FROM json_each(?) changed JOIN context_windows s ON s.file = changed.value JOIN files f ON f.id = s.file
ORDER BY s.file, s.number
"""


def _refreshed(conn: apsw.Connection, table: PassageTable) -> PassageTable | None:
    """Return *table* with the changes since. ``None`` means that the index is another one, or in an earlier state."""
    log = schema.rows(
        conn, "SELECT number, token, file FROM changes WHERE number >= ? ORDER BY number", (table.number,)
    )
    if not log or log[0][:2] != (table.number, table.token):
        return None
    if len(log) == 1:
        return table
    base, *changed = table.segments
    files = {file for _, _, file in log[1:]}.union(*(np.unique(part.windows.files).tolist() for part in changed))
    fresh = _segment(schema.rows(conn, _SELECT_FILES, (json.dumps(sorted(files)),)))
    if len(fresh) > max(_MOST_CHANGED, _CHANGED_SHARE * len(base)):
        return load_table(conn)
    alive = base.alive & ~np.isin(base.windows.files, list(files))
    return PassageTable.of((replace(base, alive=alive), fresh), *log[-1][:2])


def _segment(rows: Sequence[StoredWindow]) -> Segment:
    """Return the passages of stored windows."""
    windows, spans = unpack_windows(rows), window_sizes(rows)
    counts = np.empty(2 * len(windows), np.int64)
    counts[0::2] = np.bincount(windows.head_owners, minlength=len(windows))
    counts[1::2] = windows.lengths
    columns = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    in_text = (columns & 1).astype(np.bool_)
    tokens = np.empty(len(columns), np.uint32)
    tokens[in_text], tokens[~in_text] = windows.words, windows.heads
    new_file = np.diff(windows.files, prepend=-1) != 0
    first, sizes = np.flatnonzero(new_file), counts[0::2] + counts[1::2]
    order = np.sort(tokens.astype(np.uint64) << np.uint64(32) | np.arange(len(tokens), dtype=np.uint64))
    return Segment(
        windows=_without_words(windows),
        layers=np.repeat(np.array([LAYERS.index(row[2]) for row in rows], np.uint8), spans),
        window=np.repeat(np.arange(len(rows)), spans),
        file=np.cumsum(new_file) - 1,
        file_first=first,
        sizes=sizes,
        file_sizes=np.add.reduceat(sizes, first) if len(first) else sizes,
        tokens=tokens,
        columns=columns,
        starts=np.concatenate([[0], np.cumsum(counts)]),
        hashes=(order >> np.uint64(32)).astype(np.uint32),
        positions=order.astype(np.uint32),
        by_id=np.argsort(windows.ids, kind="stable"),
        alive=np.ones(len(windows), np.bool_),
    )


def _without_words(windows: ContextWindows) -> ContextWindows:
    none = np.empty(0, np.uint32)
    return replace(windows, words=none, heads=none, owners=none.astype(np.int64), head_owners=none.astype(np.int64))


def _picked(windows: ContextWindows, places: Ints) -> ContextWindows:
    """Return the passages at *places* without their words."""
    return replace(_without_words(windows), **{name: getattr(windows, name)[places] for name in _FEATURES})


def _merged(parts: Sequence[ContextWindows]) -> ContextWindows:
    """Return the passages of all *parts* in order of file and place."""
    names = (*_FEATURES, "words", "heads")
    both = replace(parts[0], **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
    shifts = np.cumsum([0, *(len(part) for part in parts)])
    order = np.lexsort((both.ordinals, both.files))
    words, owners = _reordered(both.words, [p.owners + shift for p, shift in zip(parts, shifts, strict=False)], order)
    heads = _reordered(both.heads, [p.head_owners + shift for p, shift in zip(parts, shifts, strict=False)], order)
    return replace(_picked(both, order), words=words, owners=owners, heads=heads[0], head_owners=heads[1])


def _reordered(words: TermHashes, owners: Sequence[Ints], order: Ints) -> tuple[TermHashes, Ints]:
    """Return *words*, and the new places of their *owners*, as *order* puts these."""
    sizes = np.bincount(np.concatenate(owners), minlength=len(order))
    starts = np.cumsum(sizes) - sizes
    return words[_spans(starts[order], sizes[order])], np.repeat(np.arange(len(order)), sizes[order])


def _spans(starts: Ints, sizes: Ints) -> Ints:
    """Return the numbers of all spans, one after the other: *sizes* numbers from each of *starts* on.

    >>> _spans(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
