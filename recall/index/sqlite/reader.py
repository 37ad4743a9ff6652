"""One state of an index in SQLite, as a search reads it. See :class:`recall.index.reader.IndexReader`.

A process that searches often has the passages in memory (``.passage_table``). Then the reader answers from there, with
the same results to the last digit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import apsw
import numpy as np
import numpy.typing as npt

from agent_home.home import ARCHIVED_DAILY, Home

from ...text.term_hashes import Fts5Stemmer
from ..context_window import WINDOW_PASSAGES, ContextWindows, unpack_windows
from ..passage_rows import LAYER_CODES
from ..reader import EntryRow, IndexUnreadable, Nearest, PassageRow, Scope, SearchLate, TurnRow, VocabularyEntry
from ..vector_math import candidate_count, nearest_of
from . import damage, schema
from .binary_quantization import Kind, binarize, load_binary_vectors, recorded_centroid
from .indexed_words import IndexedWords
from .own_index import reading_own
from .passage_store import count_pending
from .passage_table import PassageTable, resident_table
from .readers import reading
from .vectors import nearest_by_cosine
from .word_scores import ResidentWords

__all__ = ["SqliteReader", "reading_again", "reading_index"]

_Answer = TypeVar("_Answer")
#: Steps of SQLite's machine between two looks at the clock: some tenths of a millisecond.
_STEPS = 10_000
_ENTRY_FILES = f"f.layer IN ('memory', 'archive') AND f.path NOT LIKE '{ARCHIVED_DAILY}%'"
_SELECT_WINDOWS = """
SELECT s.file, s.number, f.layer, s.leaves, s.words, s.heads
FROM (SELECT DISTINCT p.file AS file, p.ordinal / ? AS number
      FROM json_each(?) requested JOIN passages p ON p.id = requested.value) o
JOIN context_windows s ON s.file = o.file AND s.number = o.number
JOIN files f ON f.id = s.file
ORDER BY s.file, s.number
"""
_SELECT_TEXTS = """
SELECT p.id, p.source, f.path, p.text, p.ts, p.session, p.name, p.role, p.heading, f.layer
FROM json_each(?) ranked JOIN passages p ON p.id = ranked.value JOIN files f ON f.id = p.file
"""
_SELECT_AT = """
SELECT p.text, p.ts, p.session, p.name, p.role, p.heading, f.layer, f.path FROM passages p JOIN files f ON f.id = p.file
WHERE p.source = ? ORDER BY f.path, p.ordinal, p.part
"""
# The plus sign keeps SQLite from looking through a whole file for a turn that it can find by its address.
_SELECT_TURNS = """
WITH found AS (
    SELECT file, source, min(ordinal) AS first, max(ordinal) AS last FROM passages
    WHERE source IN (SELECT value FROM json_each(?)) AND +layer = ? GROUP BY file, source
), surrounding AS (
    SELECT file, source FROM found UNION
    SELECT p.file, p.source FROM found JOIN passages p ON p.file = found.file AND p.ordinal = found.first - 1 UNION
    SELECT p.file, p.source FROM found JOIN passages p ON p.file = found.file AND p.ordinal = found.last + 1
)
SELECT p.file, f.path, p.source, p.ordinal, p.text, p.session, p.name, p.role, p.ts
FROM surrounding w JOIN passages p ON p.source = w.source AND +p.file = w.file JOIN files f ON f.id = p.file
ORDER BY p.file, p.ordinal
"""
_SELECT_LINKS = """
SELECT p.text FROM json_each(?) found JOIN passages p ON p.id = found.value WHERE instr(p.text, 'Supersede')
"""
_SELECT_ANY_LINK = """
SELECT 1 FROM files f JOIN passages p ON p.file = f.id
WHERE f.layer IN ('memory', 'archive') AND instr(p.text, 'Supersede') LIMIT 1
"""
_SELECT_NAMED = """
SELECT p.id, substr(p.source, instr(p.source, '#') + 1) AS entry FROM json_each(?) found
JOIN passages p ON p.id = found.value WHERE entry IN (SELECT value FROM json_each(?))
"""
_SELECT_LINKED = f"""
SELECT p.text FROM files f JOIN passages p ON p.file = f.id
WHERE {_ENTRY_FILES} AND instr(p.text, 'Supersede')
"""  # noqa: S608 - constants
_SELECT_STATES = f"""
SELECT p.text FROM files f JOIN passages p ON p.file = f.id
WHERE {_ENTRY_FILES} AND (instr(p.text, 'State:') OR instr(p.text, 'Supersede'))
"""  # noqa: S608 - constants
_SELECT_ENTRY = f"""
SELECT p.source, p.text, p.ts, p.heading, f.layer, f.path FROM files f JOIN passages p ON p.source = f.path || '#' || ?
WHERE {_ENTRY_FILES} ORDER BY f.layer = 'archive' LIMIT 1
"""  # noqa: S608 - constants


@contextmanager
def reading_index(home: Home, *, searching: bool = True) -> Iterator[SqliteReader | None]:
    """Hold one state of the home's index, if this machine made it, or ``None`` when there is no index yet.

    A damaged index is marked for the next sync. Without *searching*, the block counts as no search of this process.

    Raises:
        IndexUnreadable: the index is damaged, foreign or cannot be read now.
    """
    index = home.index
    with _readable(index), reading_own(home, index) as conn:
        yield None if conn is None else SqliteReader(conn, index, resident_table(conn, index, searching=searching))


@contextmanager
def reading_again(home: Home) -> Iterator[SqliteReader | None]:
    """Hold what :func:`reading_index` does, in another thread of a search that has checked the index.

    Raises:
        IndexUnreadable: see there.
    """
    with _readable(home.index), reading(home.index) as conn:
        yield None if conn is None else SqliteReader(conn, home.index)


@contextmanager
def _readable(index: Path) -> Iterator[None]:
    try:
        yield
    except schema.IndexCorrupt as error:
        raise IndexUnreadable(f"the index cannot be used: {error}. Run `memory sync`") from error
    except schema.CORRUPTION_ERRORS as error:
        raise IndexUnreadable(damage.mark(index, error)) from error
    except schema.UNAVAILABLE_ERRORS as error:
        raise IndexUnreadable(f"the index cannot be read now ({error}). Nothing was searched") from error


class SqliteReader:
    """The index at *path* in the state that *conn* reads, or in memory if the process has a *table* of it."""

    def __init__(self, conn: apsw.Connection, path: Path, table: PassageTable | None = None) -> None:
        self._conn, self._path, self._table = conn, path, table

    @property
    def resident(self) -> bool:
        """Return whether the process has the passages in memory."""
        return self._table is not None

    def description(self) -> dict[str, str]:
        """Return what the index records of itself."""
        return schema.read_meta(self._conn)

    @contextmanager
    def within(self, deadline_ms: float) -> Iterator[None]:
        """Let the questions of the block take *deadline_ms* milliseconds together."""
        end = time.perf_counter() + deadline_ms / 1000
        self._conn.set_progress_handler(lambda: time.perf_counter() > end, _STEPS)
        try:
            yield
        except apsw.InterruptError as error:
            raise SearchLate from error
        finally:
            self._conn.set_progress_handler(None)

    @cached_property
    def _stemmer(self) -> Fts5Stemmer:
        return Fts5Stemmer(self._conn)

    def _words(self, expressions: Iterable[str]) -> ResidentWords | IndexedWords:
        resident = ResidentWords.of(self._table, expressions, self._stemmer)
        return resident or IndexedWords(self._conn, self._stemmer)

    def totals(self) -> tuple[int, int]:
        """Return the number of passages, and of words in their texts."""
        return self._words(()).totals()

    def pending(self) -> int:
        """Return the number of passages that have no vector yet."""
        return count_pending(self._conn)

    def vocabulary(self, expressions: Iterable[str]) -> dict[str, list[VocabularyEntry]]:
        """Return the entries for each of *expressions*."""
        asked = list(expressions)
        words = self._words(asked)
        return {expression: words.entries(expression) for expression in asked}

    def best_passages(self, expressions: Sequence[str], limit: int, scope: Scope) -> dict[int, float]:
        """Return the *limit* passages in *scope* with the best BM25, best first."""
        return self._words(expressions).best_passages(expressions, limit, scope)

    def best_files(self, expressions: Sequence[str], limit: int) -> dict[int, float]:
        """Return the *limit* files with the best BM25, best first."""
        return self._words(expressions).best_files(expressions, limit)

    def nearest(self, vector: npt.NDArray[np.float32], scope: Scope, limit: int, *, keep: bool = False) -> Nearest:
        """Return the nearest passages and turns with neighbours.

        A first look at the binary codes says which are worth comparing. Those are compared exactly.
        """
        codes = load_binary_vectors(self._conn, self._path, len(vector), keep_stored=keep)
        (code,) = binarize(vector[None, :], recorded_centroid(self.description()))
        eligible = codes.eligible(scope.layers, json.loads(scope.files) if scope.files is not None else None)
        compared = candidate_count(len(codes.ids), limit)
        kinds: tuple[Kind, ...] = ("vector", "window")
        looked = {kind: codes.nearest(kind, code, compared, eligible) for kind in kinds}
        chosen = np.zeros(len(codes.ids), np.bool_)
        chosen[looked["vector"]] = chosen[looked["window"]] = True
        places = np.flatnonzero(chosen)
        if codes.stored is None:
            passages, windows = nearest_by_cosine(self._conn, vector, codes.ids[places].tolist(), limit)
        else:
            having = codes.vectors_at(places)
            passages, windows = (nearest_of(*having[kind], vector, limit) for kind in kinds)
        files = codes.files_of(np.fromiter(passages, np.int64, len(passages))).tolist()
        best = dict(zip(reversed(files), reversed(passages.values()), strict=True))  # the best of each file is last
        return Nearest(passages=passages, windows=windows, files=best)

    def windows(self, passages: Sequence[int]) -> ContextWindows:
        """Return the context windows that hold *passages*."""
        if self._table is not None:
            return self._table.windows_of(passages)
        return unpack_windows(self._rows(_SELECT_WINDOWS, (WINDOW_PASSAGES, json.dumps(passages))))

    def texts(self, passages: Sequence[int]) -> dict[int, PassageRow]:
        """Return the rows of *passages*. A process that keeps a table reads each of them once."""
        known: dict[int, PassageRow] = self.remembered("row", passages)
        missing = [ident for ident in passages if ident not in known]
        if missing:
            found = {row[0]: row[1:] for row in self._rows(_SELECT_TEXTS, (json.dumps(missing),))}
            known |= found
            self.remember("row", found)
        return known

    def passages_at(self, source: str) -> list[Any]:
        """Return the passages at an address, in order."""
        return self._rows(_SELECT_AT, (source,))

    def turns(self, sources: Collection[str]) -> list[TurnRow]:
        """Return the passages of turns and of those beside them."""
        return self._rows(_SELECT_TURNS, (json.dumps(sorted(sources)), LAYER_CODES["sessions"]))

    def files(self) -> list[tuple[int, str]]:
        """Return number and path of every file."""
        return self._rows("SELECT id, path FROM files")

    def file_numbers(self, paths: Collection[str]) -> dict[str, int]:
        """Return the numbers of those of *paths* that the index has."""
        select = "SELECT path, id FROM files WHERE path IN (SELECT value FROM json_each(?))"
        return dict(self._rows(select, (json.dumps(list(paths)),)))

    def has_links(self) -> bool:
        """Return whether an entry may supersede another one. Only a table knows it without reading the links."""
        if self._table is None:
            return True
        return bool(self._table.answered("links", None, partial(self._rows, _SELECT_ANY_LINK)))

    def linking_texts(self, passages: Sequence[int]) -> list[str]:
        """Return the texts of those of *passages* that link entries."""
        return [text for (text,) in self._rows(_SELECT_LINKS, (json.dumps(passages),))]

    def named(self, passages: Sequence[int], names: Collection[str]) -> list[tuple[int, str]]:
        """Return those of *passages* whose address ends with one of *names*."""
        return self._rows(_SELECT_NAMED, (json.dumps(passages), json.dumps(list(names))))

    def entry_texts(self, *, ended: bool) -> tuple[str, ...]:
        """Return the texts of entries with links, and of *ended* ones."""
        known: dict[bool, tuple[str, ...]] = self.remembered("texts", [ended])
        if ended not in known:
            known[ended] = tuple(text for (text,) in self._rows(_SELECT_STATES if ended else _SELECT_LINKED))
            self.remember("texts", known)
        return known[ended]

    def entry(self, entry_id: str) -> EntryRow | None:
        """Return the entry with this id."""
        found = self._rows(_SELECT_ENTRY, (entry_id,))
        return found[0] if found else None

    def remembered(self, kind: str, keys: Iterable[Hashable]) -> dict[Any, Any]:
        """Return what earlier searches of this state remembered, by key."""
        return {} if self._table is None else self._table.remembered(kind, keys)

    def remember(self, kind: str, found: Mapping[Any, Any]) -> None:
        """Keep what a search read for the next searches of this state."""
        if self._table is not None:
            self._table.remember(kind, found)

    def answered(self, kind: str, key: Hashable, answer: Callable[[], _Answer]) -> _Answer:
        """Return *answer* to the question *key*, or the same one as last time."""
        return answer() if self._table is None else self._table.answered(kind, key, answer)

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        return schema.rows(self._conn, statement, values)
