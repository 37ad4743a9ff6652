"""All passages of an index in memory, as numbers, for a process that searches it often.

The table holds the context windows of all files and the places of each word. It gives the same answers as FTS5 and the
stored windows, without reading a row. Reading the table costs as much as it saves in some searches. So a process begins
to read it, beside its searches, when it has searched an index several times. Later changes are read file by file, by
the table ``changes`` of the index.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import apsw
import numpy as np
import numpy.typing as npt

from ...text.term_hashes import TermHashes
from ..context_window import ContextWindows, StoredWindow, StoredWords, WindowWords, unpack_windows, window_sizes
from ..passage import LAYERS
from . import schema
from .binary_quantization import load_binary_vectors
from .readers import reading

__all__ = ["PassageTable", "Segment", "load_table", "log_change", "resident_table"]

Ints = npt.NDArray[np.int64]
Columns = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
_Answer = TypeVar("_Answer")
_FEATURES = ("ids", "files", "ordinals", "layers", "lengths", "days", "users", "asks")
#: Searches of an index by one process that are answered without a table.
_SEARCHES_BEFORE = 8
#: Passages of the largest index with a table: a passage of 20 words takes some 450 bytes.
_MOST_PASSAGES = 300_000
#: Indexes with a table in one process.
_MOST_TABLES = 2
#: Passages of changed files that are kept apart, at least, and as a share of all. With more, the table is given up.
_MOST_CHANGED, _CHANGED_SHARE = 2_048, 1 / 8
#: Words and phrases of which a segment keeps the columns.
_MOST_ANSWERS = 64
#: Rows of one kind that are remembered of the index in one state: a passage with its text takes about a kilobyte.
_MOST_READ = 16_384
#: Changes that the index remembers.
_LOGGED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Passages of whole files in order of file and place, with their words.

    *tokens* has the words passage by passage: those of the heading, then those of the text. *columns* has for each of
    them twice the place of its passage, plus one in the text. *hashes* are the tokens in order of size, and *positions*
    are their places. *text_starts* and *heading_starts* say where the words of each passage begin in *windows*.
    *window* is the number of each passage's window, and *file* the number of its file. *file_first* has the first
    passage of each file, and *file_sizes* its words. *alive* marks the passages that the index still has.
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
    text_starts: Ints
    heading_starts: Ints
    hashes: TermHashes
    positions: npt.NDArray[np.uint32]
    by_id: Ints
    known_ids: Ints
    alive: Flags
    _found: dict[tuple[tuple[int, ...], bool], Columns] = field(init=False, repr=False, default_factory=dict)

    def __len__(self) -> int:
        return len(self.windows)

    @property
    def file_ids(self) -> Ints:
        return self.windows.files[self.file_first]

    def columns_with(self, codes: Sequence[int], *, across: bool = False) -> Columns:
        """Return the column of each occurrence of the words *codes* in succession, in order.

        With *across*, the words may begin in one column of a file and end in another. The last answers are kept: a
        search asks three times for each word.
        """
        key = (tuple(codes), across and len(codes) > 1)
        found = self._found.get(key)
        if found is None:
            found = self._look_up(codes, across=across)
            if len(self._found) >= _MOST_ANSWERS:
                self._found.clear()
            self._found[key] = found
        return found

    def _look_up(self, codes: Sequence[int], *, across: bool) -> Columns:
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
        if not len(self):
            return unpack_windows([])
        at = np.minimum(np.searchsorted(self.known_ids, ids), len(self) - 1)
        places = self.by_id[at[self.known_ids[at] == ids]]
        wanted = np.unique(self.window[places[self.alive[places]]])
        first, end = np.searchsorted(self.window, wanted), np.searchsorted(self.window, wanted, "right")
        places = _spans(first, end - first)
        picked = {name: getattr(self.windows, name)[places] for name in _FEATURES}
        found = _Picked(self, places)
        texts, headings = _PickedWords(found, in_text=True), _PickedWords(found, in_text=False)
        return ContextWindows(**picked, texts=texts, headings=headings)


class _Picked:
    """The passages at *places* of *segment*, in which words are looked up."""

    def __init__(self, segment: Segment, places: Ints) -> None:
        self.segment, self.places = segment, places
        self._number = np.full(len(segment), -1, np.int32)
        self._number[places] = np.arange(len(places), dtype=np.int32)
        self._found: dict[Sequence[int], Columns] = {}

    def columns_with(self, spelling: Sequence[int]) -> Columns:
        """Return what :meth:`Segment.columns_with` does, for these passages by their numbers among them."""
        if spelling not in self._found:
            columns = self.segment.columns_with(spelling)
            numbers = self._number[columns >> 1]
            here = np.flatnonzero(numbers >= 0)
            self._found[spelling] = numbers[here] << 1 | columns[here] & 1
        return self._found[spelling]


class _PickedWords:
    """The words of the texts or of the headings of passages in memory."""

    def __init__(self, picked: _Picked, *, in_text: bool) -> None:
        self._picked, self._in_text = picked, in_text

    @cached_property
    def codes(self) -> TermHashes:
        """The hashes of all words in order."""
        windows = self._picked.segment.windows
        stored = windows.texts if self._in_text else windows.headings
        return stored.codes[_spans(self._starts[self._picked.places], self._sizes)]

    @cached_property
    def owners(self) -> Ints:
        """The place of the passage of each word."""
        return np.repeat(np.arange(len(self._sizes)), self._sizes)

    def times(self, spelling: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return how often each passage has the words *spelling* in succession."""
        columns = self._picked.columns_with(spelling)
        here = columns[(columns & 1) == self._in_text] >> 1
        return np.bincount(here, minlength=len(self._picked.places)).astype(np.float64)

    @property
    def _starts(self) -> Ints:
        return self._picked.segment.text_starts if self._in_text else self._picked.segment.heading_starts

    @property
    def _sizes(self) -> Ints:
        return self._starts[self._picked.places + 1] - self._starts[self._picked.places]


class _JoinedWords:
    """The words of several lists of passages, in a new *order* of all of them."""

    def __init__(self, parts: Sequence[WindowWords], sizes: Sequence[int], order: Ints) -> None:
        self._parts, self._order = parts, order
        self._passages = sizes

    @cached_property
    def codes(self) -> TermHashes:
        """The hashes of all words in order."""
        counts = self._counts
        starts = np.cumsum(counts) - counts
        return np.concatenate([part.codes for part in self._parts])[_spans(starts[self._order], counts[self._order])]

    @cached_property
    def owners(self) -> Ints:
        """The place of the passage of each word."""
        return np.repeat(np.arange(len(self._order)), self._counts[self._order])

    def times(self, spelling: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return how often each passage has the words *spelling* in succession."""
        return np.concatenate([part.times(spelling) for part in self._parts])[self._order]

    @cached_property
    def _counts(self) -> Ints:
        pairs = zip(self._parts, self._passages, strict=True)
        return np.concatenate([np.bincount(part.owners, minlength=size) for part, size in pairs])


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
    #: The last answers of :meth:`answered`.
    _answers: dict[str, tuple[Hashable, Any]] = field(init=False, repr=False, compare=False, default_factory=dict)
    #: What searches of this state have read of its rows, by kind and key. See :meth:`remember`.
    _read: dict[str, dict[Any, Any]] = field(init=False, repr=False, compare=False, default_factory=dict)

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

    def remembered(self, kind: str, keys: Iterable[Hashable]) -> dict[Any, Any]:
        """Return what is remembered of *keys*, by key."""
        known = self._read.get(kind, {})
        return {key: value for key in keys if (value := known.get(key)) is not None}  # another thread may clear it

    def remember(self, kind: str, found: Mapping[Any, Any]) -> None:
        """Keep what a search read of the index in this state, by key, for the next searches."""
        known = self._read.setdefault(kind, {})
        if len(known) + len(found) > _MOST_READ:
            known.clear()
        known.update(islice(found.items(), _MOST_READ))

    def answered(self, kind: str, key: Hashable, answer: Callable[[], _Answer]) -> _Answer:
        """Return *answer* to the question *key*. The last one of each *kind* is kept: the layers of a prompt ask alike.

        The answer must not be changed.
        """
        known = self._answers.get(kind)
        if known is None or known[0] != key:
            known = self._answers[kind] = key, answer()
        found: _Answer = known[1]
        return found

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


def resident_table(conn: apsw.Connection, path: Path, *, searching: bool = True) -> PassageTable | None:
    """Return the passages of the index at *path* as *conn* sees them, or ``None`` while the process has no table.

    A process that searched the index several times begins to read it, beside the searches. Without *searching*, this
    call is none of them.
    """
    with _LOCK:
        known = _CACHE.pop(str(path), None) or _ReadPassages()
        _CACHE[str(path)] = known
        while len(_CACHE) > _MOST_TABLES:
            _CACHE.popitem(last=False)
        if known.table is not None:
            known.table = _refreshed(conn, known.table)
        if known.table is not None or known.reading or not searching:
            return known.table
        known.searches += 1
        known.reading = known.searches > _SEARCHES_BEFORE
    if known.reading:
        _start(partial(_read, path, known))
    return known.table


@dataclass(slots=True)
class _ReadPassages:
    """The passages that a process has read of one index. *searches* counts those answered without a table."""

    table: PassageTable | None = None
    searches: int = 0
    reading: bool = False


def _start(read: Callable[[], None]) -> None:
    threading.Thread(target=read, daemon=True, name="recall-passages").start()


def _read(path: Path, known: _ReadPassages) -> None:
    """Read the index into memory, unless it is too large. Searches tell what is wrong with an index."""
    table = None
    try:
        with reading(path) as conn:
            if conn is not None and schema.value(conn, _COUNT) <= _MOST_PASSAGES:
                recorded = schema.read_meta(conn)
                if "dimension" in recorded:
                    load_binary_vectors(conn, path, int(recorded["dimension"]), keep_stored=True)
                table = load_table(conn)
    except (schema.IndexCorrupt, apsw.Error):
        table = None
    finally:
        with _LOCK:
            known.table, known.searches, known.reading = table, 0, False


_COUNT = "SELECT coalesce(sum(passages), 0) FROM files"
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
    """Return *table* with the changes since.

    ``None`` means that there are too many, or that the index is another one or in an earlier state.
    """
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
        return None
    alive = base.alive & ~np.isin(base.windows.files, list(files))
    return PassageTable.of((replace(base, alive=alive), fresh), *log[-1][:2])


def _segment(rows: Sequence[StoredWindow]) -> Segment:
    """Return the passages of stored windows."""
    windows, spans = unpack_windows(rows), window_sizes(rows)
    counts = np.empty(2 * len(windows), np.int64)
    counts[0::2] = np.bincount(windows.headings.owners, minlength=len(windows))
    counts[1::2] = windows.lengths
    columns = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    in_text = (columns & 1).astype(np.bool_)
    tokens = np.empty(len(columns), np.uint32)
    tokens[in_text], tokens[~in_text] = windows.texts.codes, windows.headings.codes
    by_id = np.argsort(windows.ids, kind="stable")
    new_file = np.diff(windows.files, prepend=-1) != 0
    first, sizes = np.flatnonzero(new_file), counts[0::2] + counts[1::2]
    order = np.sort(tokens.astype(np.uint64) << np.uint64(32) | np.arange(len(tokens), dtype=np.uint64))
    return Segment(
        windows=replace(windows, texts=_ownerless(windows.texts), headings=_ownerless(windows.headings)),
        layers=np.repeat(np.array([LAYERS.index(row[2]) for row in rows], np.uint8), spans),
        window=np.repeat(np.arange(len(rows)), spans),
        file=np.cumsum(new_file) - 1,
        file_first=first,
        sizes=sizes,
        file_sizes=np.add.reduceat(sizes, first) if len(first) else sizes,
        tokens=tokens,
        columns=columns,
        text_starts=np.concatenate([[0], np.cumsum(counts[1::2])]),
        heading_starts=np.concatenate([[0], np.cumsum(counts[0::2])]),
        hashes=(order >> np.uint64(32)).astype(np.uint32),
        positions=order.astype(np.uint32),
        by_id=by_id,
        known_ids=windows.ids[by_id],
        alive=np.ones(len(windows), np.bool_),
    )


def _ownerless(words: WindowWords) -> StoredWords:
    """Return *words* without their owners, which take more memory than they do."""
    return StoredWords(words.codes, np.empty(0, np.int64), 0)


def _merged(parts: Sequence[ContextWindows]) -> ContextWindows:
    """Return the passages of all *parts* in order of file and place."""
    both = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _FEATURES}
    order, sizes = np.lexsort((both["ordinals"], both["files"])), [len(part) for part in parts]
    return ContextWindows(
        **{name: values[order] for name, values in both.items()},
        texts=_JoinedWords([part.texts for part in parts], sizes, order),
        headings=_JoinedWords([part.headings for part in parts], sizes, order),
    )


def _spans(starts: Ints, sizes: Ints) -> Ints:
    """Return the numbers of all spans, one after the other: *sizes* numbers from each of *starts* on.

    >>> _spans(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
