"""Verification that the index is a function of the files: read every file again and compare all stored values.

Postings are compared, occurrence by occurrence, with those of a scratch index that holds the same texts under the same
row numbers. So a stale or a missing posting is found wherever it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any

import apsw
import numpy as np

from agent_home.home import Home

from ...settings import RecallSettings
from ...text.term_hashes import Fts5Stemmer
from ...text.terms import TOKENIZER, index_text
from ..context_window import build_windows
from ..passage import WINDOW_NEIGHBOURS, layer_of
from ..passage_rows import COLUMNS, LAYER_CODES
from ..vector_math import Vectors, dequantize, quantize, window_vector
from ..verification import MOST, FilesAsRead, IndexVerification, files_differ, signature_differs
from . import damage, passage_store, schema
from .binary_quantization import CHUNK, binarize, parse_chunk, recorded_centroid
from .own_index import open_own

__all__ = ["verify_file"]

#: Largest difference of a window's coordinates, of 127. Another machine may add and round in another way.
_TOLERANCE = 1


def verify_file(home: Home, settings: RecallSettings) -> IndexVerification:
    """Compare the index with the files. The function reads one consistent state and waits for no other process."""
    try:
        conn = open_own(home)
    except schema.IndexCorrupt as error:
        return IndexVerification(ok=False, differences=(f"the index cannot be used: {error}. Run `memory reindex`",))
    if conn is None:
        return IndexVerification(ok=False, differences=("there is no index. Run `memory sync`",))
    try:
        conn.pragma("query_only", False)  # allows temporary tables, and nothing else is written
        conn.execute("BEGIN")
        found = list(itertools.islice(_differences(conn, home, settings), MOST))
        pending = passage_store.count_pending(conn)
        passages = schema.value(conn, "SELECT count(*) FROM passages")
    except schema.CORRUPTION_ERRORS as error:
        return IndexVerification(ok=False, differences=(damage.mark(home.index, error),))
    finally:
        conn.close()
    return IndexVerification(ok=not found, differences=tuple(found), passages=passages, pending=pending)


def _differences(conn: apsw.Connection, home: Home, settings: RecallSettings) -> Iterator[str]:
    for (line,) in schema.rows(conn, "PRAGMA integrity_check"):
        if line != "ok":
            yield damage.mark(home.index, line)
    recorded = schema.read_meta(conn)
    yield from signature_differs(recorded, home, settings)
    cuts = yield from files_differ(passage_store.file_records(conn), home, settings)
    yield from _passages_differ(conn, cuts)
    yield from _windows_differ_from_passages(conn, cuts)
    yield from _postings_differ(conn)
    if "model" in recorded:
        yield from _vectors_differ(conn, int(recorded["dimension"]), WINDOW_NEIGHBOURS)
    elif passage_store.count_pending(conn) != schema.value(conn, "SELECT count(*) FROM passages"):
        yield "passages count as embedded, but there are no vectors. Run `memory reindex`"


def _passages_differ(conn: apsw.Connection, cuts: FilesAsRead) -> Iterator[str]:
    orphans = schema.value(conn, "SELECT count(*) FROM passages WHERE file NOT IN (SELECT id FROM files)")
    if orphans:
        yield f"{orphans} passages belong to no file. Run `memory reindex`"
    select = f"SELECT layer, {', '.join(COLUMNS)} FROM passages WHERE file = ? ORDER BY ordinal"  # noqa: S608
    for file, (path, passages) in cuts.items():
        layer = LAYER_CODES[layer_of(path) or ""]
        expected = [(layer, *(getattr(p, column) for column in COLUMNS)) for p in passages]
        stored = schema.rows(conn, select, (file,))
        if stored != expected:
            at = next((i for i, (a, b) in enumerate(zip(stored, expected, strict=False)) if a != b), None)
            where = f"passage {at + 1}" if at is not None else f"{len(stored)} passages, expected {len(expected)}"
            yield f"{path} has other passages in the index ({where}). Run `memory reindex`"


def _windows_differ_from_passages(conn: apsw.Connection, cuts: FilesAsRead) -> Iterator[str]:
    stemmer = Fts5Stemmer(conn)
    for file, (path, passages) in cuts.items():
        idents = [
            row[0] for row in schema.rows(conn, "SELECT id FROM passages WHERE file = ? ORDER BY ordinal", (file,))
        ]
        expected = list(build_windows(zip(idents, passages, strict=False), stemmer))
        select = "SELECT number, leaves, words, heads FROM context_windows WHERE file = ? ORDER BY number"
        counted = schema.rows(conn, "SELECT passages, words FROM files WHERE id = ?", (file,))
        words = sum(len(window[2]) for window in expected) // 4
        if schema.rows(conn, select, (file,)) != expected or counted != [(len(passages), words)]:
            yield f"the context windows of {path} differ from its passages. Run `memory reindex`"


def _postings_differ(conn: apsw.Connection) -> Iterator[str]:
    """Compare both full-text tables with scratch ones made from the stored passages."""
    scratch = schema.connect(":memory:")
    try:
        scratch.execute(
            f"CREATE VIRTUAL TABLE passage_words USING fts5(body, heading, content='', tokenize='{TOKENIZER}');"
            f"CREATE VIRTUAL TABLE file_words USING fts5(body, content='', tokenize='{TOKENIZER}')"
        )
        with schema.transaction(scratch):
            rows = conn.execute("SELECT id, text, heading FROM passages")
            scratch.executemany(
                "INSERT INTO passage_words(rowid, body, heading) VALUES(?, ?, ?)",
                ((row[0], *(index_text(str(text)) for text in row[1:])) for row in rows),
            )
            scratch.executemany("INSERT INTO file_words(rowid, body) VALUES(?, ?)", _group_rows(conn))
        for table in ("passage_words", "file_words"):
            with closing(_postings(conn, table)) as stored, closing(_postings(scratch, table)) as expected:
                differ = ((a, b) for a, b in itertools.zip_longest(stored, expected) if a != b)
                first = next(differ, None)
            if first is not None:
                yield f"the postings of {table} differ: {first[0]}, expected {first[1]}. Run `memory reindex`"
    finally:
        scratch.close()


def _group_rows(conn: apsw.Connection) -> Iterator[tuple[int, str]]:
    rows = conn.execute("SELECT file, heading, text FROM passages ORDER BY file, ordinal")
    for file, group in itertools.groupby(rows, key=lambda row: int(str(row[0]))):
        yield file, index_text("\n".join(f"{heading}\n{text}" for _, heading, text in group))


def _postings(conn: apsw.Connection, table: str) -> Generator[tuple[Any, ...], None, None]:
    """Yield every occurrence of every term in order: term, row, column, position."""
    name = f"{table}_occurrences"
    conn.execute(f"CREATE VIRTUAL TABLE temp.{name} USING fts5vocab(main, {table}, instance)")
    with closing(conn.cursor()) as cursor:
        yield from cursor.execute(f"SELECT term, doc, col, offset FROM temp.{name}")  # noqa: S608 - constants


def _vectors_differ(conn: apsw.Connection, dimension: int, reach: int) -> Iterator[str]:
    embedded = {row[0] for row in conn.execute("SELECT id FROM passages WHERE embedded = 1")}
    stored = dict(schema.rows(conn, "SELECT passage, vector FROM embeddings"))
    if stored.keys() != embedded:
        lost, extra = len(embedded - stored.keys()), len(stored.keys() - embedded)
        yield f"{lost} passages lack their vector and {extra} vectors lack their passage. Run `memory reindex`"
    for passage, blob in list(stored.items()):
        if len(blob) != dimension:
            found = f"the vector of passage {passage} has {len(blob)} dimensions"
            yield f"{found}, expected {dimension}. Run `memory reindex`"
            return
    vectors = dict(zip(stored, dequantize(list(stored.values()), dimension), strict=True))
    yield from _windows_differ(conn, vectors, reach)
    yield from _binary_vectors_differ(conn, dimension)


def _windows_differ(conn: apsw.Connection, vectors: dict[int, Vectors], reach: int) -> Iterator[str]:
    windows = dict(schema.rows(conn, "SELECT passage, window FROM embeddings WHERE window IS NOT NULL"))
    select = "SELECT file, ordinal, id, windowed FROM passages WHERE layer = ? ORDER BY file, ordinal"
    turns = schema.rows(conn, select, (LAYER_CODES["sessions"],))
    strays = windows.keys() - {turn[2] for turn in turns}
    if strays:
        yield f"{len(strays)} windows belong to no turn. Run `memory reindex`"
    for file, group in itertools.groupby(turns, key=lambda turn: turn[0]):
        places = {ordinal: (passage, windowed) for _, ordinal, passage, windowed in group}
        for ordinal, (passage, windowed) in places.items():
            if not windowed or passage not in vectors:
                continue
            near = {
                at - ordinal: vectors[places[at][0]]
                for at in range(ordinal - reach, ordinal + reach + 1)
                if at in places and places[at][0] in vectors
            }
            expected = quantize(window_vector(near)[None, :])[0].astype(np.int64)
            stored = np.frombuffer(windows.get(passage, b""), np.int8)
            if stored.shape != expected.shape or int(np.abs(stored - expected).max()) > _TOLERANCE:
                yield f"the window of passage {passage} of file {file} differs from its turns. Run `memory reindex`"
                return


def _binary_vectors_differ(conn: apsw.Connection, dimension: int) -> Iterator[str]:
    """Compare the stored binary vectors with new ones of the stored vectors."""
    centroid = recorded_centroid(schema.read_meta(conn))
    chunks = {
        chunk: parse_chunk(blob, dimension)
        for chunk, blob in schema.rows(conn, "SELECT chunk, slots FROM binary_vectors")
    }
    select = """SELECT e.passage, p.file, p.layer, e.vector, e.window FROM embeddings e
    JOIN passages p ON p.id = e.passage ORDER BY e.passage"""
    rows = schema.rows(conn, select)
    stored = sum(int(np.count_nonzero(slots["has"])) for slots in chunks.values())
    if stored != len(rows):
        yield f"there are {stored} binary vectors for {len(rows)} vectors. Run `memory reindex`"
    for chunk, group in itertools.groupby(rows, key=lambda row: row[0] // CHUNK):
        found = list(group)
        expected = np.zeros(CHUNK, parse_chunk(b"", dimension).dtype)
        which = np.array([row[0] % CHUNK for row in found])
        expected["file"][which] = [row[1] for row in found]
        expected["layer"][which] = [row[2] for row in found]
        expected["has"][which] = [1 + 2 * (row[4] is not None) for row in found]
        expected["vector"][which] = binarize(dequantize([row[3] for row in found], dimension), centroid)
        windowed = [row for row in found if row[4] is not None]
        if windowed:
            bits = binarize(dequantize([row[4] for row in windowed], dimension), centroid)
            expected["window"][[row[0] % CHUNK for row in windowed]] = bits
        if chunk not in chunks or not np.array_equal(chunks[chunk], expected):
            first = chunk * CHUNK
            yield f"binary vectors of passages from {first} on differ from their vectors. Run `memory reindex`"
