"""Verification of an index in PostgreSQL: every file is read again, and all rows are compared with what they must be.

The server compares words, because only it reads its ``tsvector``. Everything else is compared here.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any, LiteralString

import numpy as np

from agent_home.home import Home

from ...postgres.connections import Connection, connection
from ...postgres.storable_text import storable_text
from ...settings import RecallSettings
from ...text.terms import index_text
from ..context_window import build_windows
from ..passage import WINDOW_NEIGHBOURS, layer_of
from ..passage_rows import LAYER_CODES, passage_values
from ..vector_math import Vectors, quantize, window_vector
from ..verification import MOST, FilesAsRead, IndexVerification, files_differ, signature_differs
from .lexemes import generation_prefix, vocabulary_term, words_vector
from .reader import memory_stemmer
from .store import PostgresqlStore, live_generation
from .tables import require_tables
from .writer import PostgresqlWriter

__all__ = ["verify_namespace"]

#: Largest difference of a window's coordinates, of 127. Another machine may add and round in another way.
_TOLERANCE = 1
_SELECT_PASSAGES: LiteralString = """
SELECT id, layer, ordinal, part, source, session, message, role, name, ts, heading, text, meaning, content_digest,
       meaning_digest
FROM index_passages WHERE index_id = %s AND file = %s ORDER BY ordinal
"""
_WRONG_WORDS: LiteralString = """
SELECT e.id FROM unnest(%s::bigint[], %s::text[], %s::int[]) AS e(id, body, length)
LEFT JOIN index_words w ON w.index_id = %s AND w.id = e.id
WHERE w.body IS DISTINCT FROM e.body::tsvector OR w.length IS DISTINCT FROM e.length LIMIT 1
"""
_ORPHANS: LiteralString = """
SELECT (SELECT count(*) FROM index_passages p WHERE p.index_id = %(index)s
            AND p.file NOT IN (SELECT id FROM index_files WHERE index_id = %(index)s)),
       (SELECT count(*) FROM index_words WHERE index_id = %(index)s)
           - (SELECT count(*) FROM index_passages WHERE index_id = %(index)s),
       (SELECT count(*) FROM index_passages p LEFT JOIN index_vectors v ON v.index_id = %(index)s AND v.passage = p.id
            WHERE p.index_id = %(index)s AND (p.embedded = 1) != (v.passage IS NOT NULL)),
       (SELECT count(*) FROM index_vectors v LEFT JOIN index_passages p ON p.index_id = %(index)s AND p.id = v.passage
            WHERE v.index_id = %(index)s AND p.id IS NULL)
"""
_SUMS: LiteralString = """
SELECT g.passages, g.text_words, g.all_words, g.filled_files, coalesce(sum(f.passages), 0),
       coalesce(sum(f.text_words), 0), coalesce(sum(f.all_words), 0), count(*) FILTER (WHERE f.passages > 0)
FROM index_generations g LEFT JOIN index_files f ON f.index_id = g.id WHERE g.id = %s GROUP BY g.id
"""
_TURNS: LiteralString = """
SELECT p.file, p.ordinal, p.windowed, halfvec_send(v.vector), halfvec_send(v.turn_window) FROM index_passages p
JOIN index_vectors v ON v.index_id = p.index_id AND v.passage = p.id
WHERE p.index_id = %s AND p.layer = %s ORDER BY p.file, p.ordinal
"""


def verify_namespace(home: Home, store: PostgresqlStore, settings: RecallSettings) -> IndexVerification:
    """Compare the live generation of the home's index with the files.

    Raises:
        ServerUnavailable, NoServer, DatabaseFailed: see :func:`recall.postgres.connections.connection`.
    """
    with connection(store.url) as conn:
        require_tables(conn)
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        live = live_generation(conn, store.namespace)
        if live is None:
            return IndexVerification(ok=False, differences=("there is no index. Run `memory sync`",))
        writer = PostgresqlWriter(conn, live.id)
        found = list(itertools.islice(_differences(conn, writer, home, settings), MOST))
        pending = writer.count_pending()
    return IndexVerification(ok=not found, differences=tuple(found), passages=live.passages, pending=pending)


def _differences(conn: Connection, writer: PostgresqlWriter, home: Home, settings: RecallSettings) -> Iterator[str]:
    yield from signature_differs(writer.description(), home, settings)
    cuts = yield from files_differ(writer.file_records(), home, settings)
    yield from _rows_differ(conn, writer.generation, cuts)
    ((orphans, words, without, strays),) = conn.execute(_ORPHANS, {"index": writer.generation}).fetchall()
    for count, what in (
        (orphans, "passages belong to no file"),
        (words, "rows of words have no passage"),
        (without, "passages and vectors do not belong together"),
        (strays, "vectors have no passage"),
    ):
        if count:
            yield f"{count} {what}. Run `memory reindex`"
    ((*recorded, passages, text_words, all_words, files),) = conn.execute(_SUMS, (writer.generation,)).fetchall()
    if recorded != [passages, text_words, all_words, files]:
        expected = [passages, text_words, all_words, files]
        yield f"the sums of the index are {recorded}, expected {expected}. Run `memory reindex`"
    yield from _windows_differ(conn, writer.generation)


def _rows_differ(conn: Connection, generation: int, cuts: FilesAsRead) -> Iterator[str]:
    """Compare passages, words, context windows and vocabulary with those of the files."""
    stemmer, prefix = memory_stemmer(), generation_prefix(generation)
    terms: dict[int, Counter[str]] = {0: Counter(), 1: Counter()}
    whole = True
    for file, (path, passages) in cuts.items():
        layer = LAYER_CODES[layer_of(path) or ""]
        rows = conn.execute(_SELECT_PASSAGES, (generation, file), binary=True).fetchall()
        expected = [
            (layer, *(storable_text(v) if isinstance(v, str) else v for v in passage_values(p))) for p in passages
        ]
        if [row[1:] for row in rows] != expected:
            whole = False
            yield f"{path} has other passages in the index. Run `memory reindex`"
            continue
        ids, bodies, lengths = [], [], []
        for row, passage in zip(rows, passages, strict=True):
            text, heading = stemmer.hashes(passage.text), stemmer.hashes(passage.heading)
            ids.append(row[0])
            bodies.append(words_vector(prefix, text, heading))
            lengths.append(len(text) + len(heading))
            for at, part in enumerate((passage.text, passage.heading)):
                terms[at].update(set(map(vocabulary_term, stemmer.stems(index_text(part)))))
        if conn.execute(_WRONG_WORDS, (ids, bodies, lengths, generation)).fetchone() is not None:
            yield f"the words of {path} differ from its passages. Run `memory reindex`"
        windows = list(build_windows(zip(ids, passages, strict=True), stemmer))
        select: LiteralString = (
            "SELECT number, leaves, words, heads FROM index_windows WHERE index_id = %s AND file = %s ORDER BY number"
        )
        if conn.execute(select, (generation, file), binary=True).fetchall() != windows:
            yield f"the context windows of {path} differ from its passages. Run `memory reindex`"
    if whole:
        yield from _vocabulary_differs(conn, generation, terms)


def _storable(value: object) -> object:
    return storable_text(value) if isinstance(value, str) else value


def _vocabulary_differs(conn: Connection, generation: int, terms: dict[int, Counter[str]]) -> Iterator[str]:
    select: LiteralString = "SELECT term, in_text, in_heading FROM index_vocabulary WHERE index_id = %s"
    found = {term: (text, head) for term, text, head in conn.execute(select, (generation,))}
    expected = {term: (terms[0][term], terms[1][term]) for term in terms[0].keys() | terms[1].keys()}
    wrong = sorted(term for term in found.keys() | expected.keys() if found.get(term) != expected.get(term))
    if wrong:
        yield (
            f"{len(wrong)} words of the vocabulary have wrong counts, such as {wrong[0][:40]!r}. Run `memory reindex`"
        )


def _windows_differ(conn: Connection, generation: int) -> Iterator[str]:
    """Compare the vectors of turns with their neighbours with new ones."""
    turns = conn.execute(_TURNS, (generation, LAYER_CODES["sessions"]), binary=True).fetchall()
    for file, group in itertools.groupby(turns, key=lambda turn: turn[0]):
        found = {ordinal: (windowed, _unit(vector), window) for _, ordinal, windowed, vector, window in group}
        for ordinal, (windowed, _, window) in found.items():
            if not windowed:
                continue
            span = range(ordinal - WINDOW_NEIGHBOURS, ordinal + WINDOW_NEIGHBOURS + 1)
            near = {at - ordinal: found[at][1] for at in span if at in found}
            expected = quantize(window_vector(near)[None, :])[0].astype(np.int64)
            got = _coordinates(window) if window else np.empty(0)
            if got.shape != expected.shape or int(np.abs(got - expected).max()) > _TOLERANCE:
                yield f"the window of turn {ordinal} of file {file} differs from its turns. Run `memory reindex`"
                return


def _coordinates(packed: bytes) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.frombuffer(packed, ">f2", offset=4).astype(np.float32)


def _unit(packed: bytes) -> Vectors:
    vector = _coordinates(packed)
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1.0), np.float32)
