"""A connection that writes an index in PostgreSQL. See :class:`recall.index.writer.IndexWriter`.

One process at a time writes a namespace: it holds an advisory lock of the database. A transaction ends by adding what
it changed to the vocabulary and to the sums of the generation, in one statement each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, LiteralString

import numpy as np

from ...postgres.connections import Connection
from ...postgres.storable_text import storable_text
from ...text.term_hashes import TermHashes, term_hash
from ...text.terms import index_text
from ..context_window import build_windows
from ..passage import LAYERS, FilePassages, Passage
from ..passage_rows import (
    COLUMNS,
    LAYER_CODES,
    PENDING,
    UNWANTED,
    Changes,
    FileRecord,
    StoredPassage,
    match_rows,
    passage_values,
)
from ..vector_math import METRIC, Vectors, quantize, runs, window_vector
from .lexemes import generation_prefix, vocabulary_term, words_vector
from .reader import halfvec_text, memory_stemmer
from .tables import TABLES
from .vector_index import COMPARED_ONE_BY_ONE, drop_vector_indexes, has_vector_indexes, make_vector_indexes

__all__ = ["PostgresqlWriter"]

_SESSIONS = LAYERS.index("sessions")
#: Turns whose windows are computed in one transaction.
_WINDOW_BATCH = 1000
#: Rows that the server sends at once.
_ROWS_AT_ONCE = 2000
_EMBEDDED = 1
_FILE: LiteralString = """
INSERT INTO index_files(index_id, id, path, layer, session, sha256, mtime_ns, size, skipped)
VALUES (%(index)s, %(id)s, %(path)s, %(layer)s, %(session)s, %(sha256)s, %(mtime_ns)s, %(size)s, %(skipped)s)
ON CONFLICT (index_id, md5(path)) DO UPDATE SET session = excluded.session, sha256 = excluded.sha256,
    mtime_ns = excluded.mtime_ns, size = excluded.size, skipped = excluded.skipped
RETURNING id
"""
_VOCABULARY: LiteralString = """
INSERT INTO index_vocabulary(index_id, term, in_text, in_heading)
SELECT %(index)s, * FROM unnest(%(terms)s::text[], %(texts)s::int[], %(headings)s::int[])
ON CONFLICT (index_id, term) DO UPDATE SET in_text = index_vocabulary.in_text + excluded.in_text,
    in_heading = index_vocabulary.in_heading + excluded.in_heading
"""
_SUMS: LiteralString = """
UPDATE index_generations SET version = version + 1, passages = passages + %(passages)s,
    text_words = text_words + %(text_words)s, all_words = all_words + %(all_words)s,
    filled_files = filled_files + %(files)s
WHERE id = %(index)s
"""
_COLUMN_LIST: LiteralString = (
    "ordinal, part, source, session, message, role, name, ts, heading, text, meaning, content_digest, meaning_digest"
)

#: One vector of each text, however many passages say the same.
_VECTORS_OF: LiteralString = """
SELECT d.digest, halfvec_send(o.vector) FROM unnest(%(digests)s::bytea[]) AS d(digest), LATERAL (
    SELECT v.vector FROM index_passages p JOIN index_vectors v ON v.index_id = p.index_id AND v.passage = p.id
    WHERE p.index_id = %(index)s AND p.meaning_digest = d.digest AND p.embedded = 1 LIMIT 1
) o
"""
_COPY_VECTORS: LiteralString = """
INSERT INTO index_vectors(index_id, passage, file, layer, dimension, vector)
SELECT %(index)s, p.id, p.file, p.layer, o.dimension, o.vector
FROM (
    SELECT DISTINCT ON (s.meaning_digest) s.meaning_digest, v.dimension, v.vector
    FROM index_passages s JOIN index_vectors v ON v.index_id = s.index_id AND v.passage = s.id
    WHERE s.index_id = %(source)s ORDER BY s.meaning_digest
) o
JOIN index_passages p ON p.index_id = %(index)s AND p.meaning_digest = o.meaning_digest AND p.embedded = 0
RETURNING passage
"""
_OF_FILE: LiteralString = "FROM index_passages WHERE index_id = %(index)s AND file = %(file)s ORDER BY ordinal"


@dataclass(slots=True)
class _Unsaved:
    """Changes that a transaction adds up at its end. *terms* counts passages with a word in text and heading."""

    terms: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    passages: int = 0
    text_words: int = 0
    all_words: int = 0
    files: int = 0


class PostgresqlWriter:
    """The *generation* of an index that *conn* writes. The caller holds the lock of the namespace."""

    def __init__(self, conn: Connection, generation: int) -> None:
        self.conn, self.generation = conn, generation
        self._stemmer = memory_stemmer()
        self._prefix = generation_prefix(generation)
        self._unsaved = _Unsaved()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit everything in the block, or nothing."""
        self._unsaved = _Unsaved()
        self.conn.commit()  # ends the one of earlier reads
        with self.conn.transaction():
            yield
            self._save_sums()

    def _save_sums(self) -> None:
        changed = self._unsaved
        terms = sorted(term for term, counts in changed.terms.items() if counts != [0, 0])
        if terms:
            texts, headings = ([changed.terms[term][at] for term in terms] for at in (0, 1))
            self._run(_VOCABULARY, terms=terms, texts=texts, headings=headings)
            self._run(
                "DELETE FROM index_vocabulary WHERE index_id = %(index)s AND term = ANY(%(terms)s)"
                " AND in_text <= 0 AND in_heading <= 0",
                terms=terms,
            )
        self._run(
            _SUMS, passages=changed.passages, text_words=changed.text_words, all_words=changed.all_words,
            files=changed.files,
        )  # fmt: skip

    def description(self) -> dict[str, str]:
        """Return what the index records of itself."""
        return dict(self._rows("SELECT key, value FROM index_descriptions WHERE index_id = %(index)s"))

    def describe(self, values: Mapping[str, object]) -> None:
        """Record *values*, and keep other recorded values."""
        for key, value in values.items():
            self._run(
                "INSERT INTO index_descriptions VALUES (%(index)s, %(key)s, %(value)s)"
                " ON CONFLICT (index_id, key) DO UPDATE SET value = excluded.value",
                key=key, value=str(value),
            )  # fmt: skip

    def describe_vectors(self, model: str, fingerprint: str, dimension: int) -> None:
        """Record the model of the index's vectors."""
        self.describe({"model": model, "fingerprint": fingerprint, "dimension": dimension, "metric": METRIC})

    def file_statuses(self) -> dict[str, tuple[int, int]]:
        """Return the modification time in ns and the size of every indexed file by its path."""
        rows = self._rows("SELECT path, mtime_ns, size FROM index_files WHERE index_id = %(index)s")
        return {path: (mtime_ns, size) for path, mtime_ns, size in rows}

    def file_records(self, paths: Collection[str] | None = None) -> dict[str, FileRecord]:
        """Return the records of those of *paths* that are indexed, or of all."""
        rows = self._rows(
            "SELECT path, id, sha256, mtime_ns, size, skipped FROM index_files WHERE index_id = %(index)s"
            " AND (%(all)s OR path = ANY(%(paths)s))",
            all=paths is None, paths=list(paths or ()),
        )  # fmt: skip
        return {r[0]: FileRecord(id=r[1], sha256=r[2], mtime_ns=r[3], size=r[4], skipped=r[5]) for r in rows}

    def skipped_files(self) -> list[tuple[str, str]]:
        """Return the paths of files of which something was left out, with the note about it."""
        return self._rows("SELECT path, skipped FROM index_files WHERE index_id = %(index)s AND skipped != ''")

    def texts_of(self, file: int) -> list[tuple[str, str]]:
        """Return address and text of every passage of a file."""
        select: LiteralString = "SELECT source, text FROM index_passages WHERE index_id = %(index)s AND file = %(file)s"
        return self._rows(select, file=file)

    def record_status(self, file: int, mtime_ns: int, size: int) -> None:
        """Record a new time and size of a file whose content is the same."""
        self._run(
            "UPDATE index_files SET mtime_ns = %(mtime_ns)s, size = %(size)s"
            " WHERE index_id = %(index)s AND id = %(file)s",
            mtime_ns=mtime_ns, size=size, file=file,
        )  # fmt: skip

    def store_file(
        self, path: str, layer: str, content: FilePassages, *, sha256: bytes, mtime_ns: int, size: int, reach: int
    ) -> Changes:
        """Make the index hold exactly *content* for the file *path*."""
        next_id = self._value("SELECT coalesce(max(id), 0) + 1 FROM index_files WHERE index_id = %(index)s")
        ((file,),) = self._rows(
            _FILE, id=next_id, path=path, layer=layer, session=storable_text(content.session), sha256=sha256,
            mtime_ns=mtime_ns, size=size, skipped=storable_text("\n".join(content.skipped)),
        )  # fmt: skip
        old = self._stored_passages(file)
        matched, added, removed = match_rows(old, content.passages)
        self._delete(removed)
        self._update(file, LAYER_CODES[layer], matched)
        self._insert(added, file, LAYER_CODES[layer])
        if layer == "sessions":
            moved = bool(removed) or any(row.values[0] != new.ordinal for row, new in matched)
            self._mark_stale(file, None if moved else [passage.ordinal for passage in added], reach)
        self._store_windows(file, content.passages)
        before, after = {row.address for row in removed}, {(new.source, new.part) for new in added}
        both = len(before & after)
        return Changes(added=len(added) - both, changed=both, removed=len(removed) - both)

    def _stored_passages(self, file: int) -> list[StoredPassage]:
        select: LiteralString = f"SELECT id, {_COLUMN_LIST} {_OF_FILE}"
        rows = self._rows(select, file=file)
        return [StoredPassage(row[0], tuple(row[1:])) for row in rows]

    def _insert(self, passages: Sequence[Passage], file: int, layer: int) -> None:
        if not passages:
            return
        last = self._value("SELECT coalesce(max(id), 0) FROM index_passages WHERE index_id = %(index)s")
        rows = list(enumerate(passages, last + 1))
        windowed = int(layer != _SESSIONS)  # only turns have neighbours
        copy: LiteralString = (
            f"COPY index_passages(index_id, id, file, layer, windowed, embedded, {_COLUMN_LIST}) FROM STDIN"
        )
        with self.conn.cursor().copy(copy) as target:
            for ident, passage in rows:
                wanted = PENDING if passage.meaning else UNWANTED
                target.write_row((self.generation, ident, file, layer, windowed, wanted, *_storable(passage)))
        self._insert_words(((ident, passage) for ident, passage in rows), file, layer)
        self._unsaved.passages += len(passages)

    def _insert_words(self, rows: Iterable[tuple[int, Passage]], file: int, layer: int) -> None:
        with self.conn.cursor().copy("COPY index_words(index_id, id, file, layer, length, body) FROM STDIN") as target:
            for ident, passage in rows:
                text, heading = self._count(passage.text, passage.heading, 1)
                body = words_vector(self._prefix, text, heading)
                target.write_row((self.generation, ident, file, layer, len(text) + len(heading), body))

    def _count(self, text: str, heading: str, sign: int) -> tuple[TermHashes, TermHashes]:
        """Add the words of a passage to the counts, or take them away. Return the hashes of its text and heading."""
        found = []
        for at, part in enumerate((text, heading)):
            stems = self._stemmer.stems(index_text(part))
            for term in set(map(vocabulary_term, stems)):
                self._unsaved.terms[term][at] += sign
            found.append(np.array([term_hash(stem) for stem in stems], np.uint32))
        return found[0], found[1]

    def _update(self, file: int, layer: int, matched: Iterable[tuple[StoredPassage, Passage]]) -> None:
        sets = ", ".join(f"{column} = %s" for column in COLUMNS)
        statement: Any = f"UPDATE index_passages SET {sets} WHERE index_id = %s AND id = %s"  # noqa: S608 - constants
        for row, passage in matched:
            values = _storable(passage)
            if values == row.values:
                continue
            self.conn.execute(statement, (*values, self.generation, row.id))
            if values[-2] != row.values[-2]:
                self._remove_words([row])
                self._insert_words([(row.id, passage)], file, layer)

    def _delete(self, rows: Sequence[StoredPassage]) -> None:
        if not rows:
            return
        ids = [row.id for row in rows]
        self._remove_words(rows)
        self._run("DELETE FROM index_passages WHERE index_id = %(index)s AND id = ANY(%(ids)s)", ids=ids)
        self._run("DELETE FROM index_vectors WHERE index_id = %(index)s AND passage = ANY(%(ids)s)", ids=ids)
        self._unsaved.passages -= len(rows)

    def _remove_words(self, rows: Sequence[StoredPassage]) -> None:
        for row in rows:
            self._count(row.values[COLUMNS.index("text")], row.values[COLUMNS.index("heading")], -1)
        ids = [row.id for row in rows]
        self._run("DELETE FROM index_words WHERE index_id = %(index)s AND id = ANY(%(ids)s)", ids=ids)

    def _store_windows(self, file: int, passages: Sequence[Passage]) -> None:
        select: LiteralString = (
            "SELECT id FROM index_passages WHERE index_id = %(index)s AND file = %(file)s ORDER BY ordinal"
        )
        idents = [row[0] for row in self._rows(select, file=file)]
        new = {row[0]: row for row in build_windows(zip(idents, passages, strict=True), self._stemmer)}
        old = {
            row[0]: row
            for row in self._rows(
                "SELECT number, leaves, words, heads FROM index_windows WHERE index_id = %(index)s AND file = %(file)s",
                file=file,
            )
        }
        stale = [number for number in old if old[number] != new.get(number)]
        delete: LiteralString = (
            "DELETE FROM index_windows WHERE index_id = %(index)s AND file = %(file)s AND number = ANY(%(numbers)s)"
        )
        self._run(delete, file=file, numbers=stale)
        fresh = [(self.generation, file, *row) for number, row in new.items() if old.get(number) != row]
        with self.conn.cursor() as cursor:
            cursor.executemany("INSERT INTO index_windows VALUES (%s, %s, %s, %s, %s, %s)", fresh)
        words = sum(len(window[2]) for window in new.values()) // 4
        heads = sum(len(window[3]) for window in new.values()) // 4
        self._record_sums(file, len(passages), words, words + heads)

    def _record_sums(self, file: int, passages: int, text_words: int, all_words: int) -> None:
        """Record the sums of a file, and what they add to those of the generation."""
        ((had, text_before, all_before),) = self._rows(
            "SELECT passages, text_words, all_words FROM index_files WHERE index_id = %(index)s AND id = %(file)s",
            file=file,
        )  # fmt: skip
        self._run(
            "UPDATE index_files SET passages = %(passages)s, text_words = %(text)s, all_words = %(all)s"
            " WHERE index_id = %(index)s AND id = %(file)s",
            passages=passages, text=text_words, all=all_words, file=file,
        )  # fmt: skip
        self._unsaved.text_words += text_words - text_before
        self._unsaved.all_words += all_words - all_before
        self._unsaved.files += bool(passages) - bool(had)

    def remove_file(self, file: int) -> int:
        """Remove the file and all its passages. Return the number of removed passages."""
        rows = self._stored_passages(file)
        self._delete(rows)
        self._record_sums(file, 0, 0, 0)
        self._run("DELETE FROM index_windows WHERE index_id = %(index)s AND file = %(file)s", file=file)
        self._run("DELETE FROM index_files WHERE index_id = %(index)s AND id = %(file)s", file=file)
        return len(rows)

    def count_passages(self) -> int:
        """Count all passages."""
        return self._value("SELECT passages FROM index_generations WHERE id = %(index)s")

    def count_pending(self) -> int:
        """Count passages that have no vector yet."""
        return self._value("SELECT count(*) FROM index_passages WHERE index_id = %(index)s AND embedded = 0")

    def pending_ids(self) -> list[int]:
        """Return passages without a vector in the order of their embedding."""
        rows = self._rows(
            "SELECT p.id FROM index_passages p JOIN index_files f ON f.index_id = %(index)s AND f.id = p.file"
            " WHERE p.index_id = %(index)s AND p.embedded = 0 ORDER BY p.layer, f.path DESC, p.ordinal"
        )
        return [row[0] for row in rows]

    def pending_meanings(self, ids: Sequence[int]) -> list[tuple[int, int, str]]:
        """Return ``(id, layer, text to embed)`` for those of *ids* that have no vector yet."""
        return self._rows(
            "SELECT id, layer, meaning FROM index_passages"
            " WHERE index_id = %(index)s AND embedded = 0 AND id = ANY(%(ids)s) ORDER BY id",
            ids=list(ids),
        )

    def store_vectors(self, rows: Sequence[tuple[int, int]], vectors: Vectors, reach: int) -> None:
        """Store the vectors of the passages ``(id, layer)``, and mark the windows around them as stale."""
        self.store_quantized(rows, [row.tobytes() for row in quantize(vectors)], reach)

    def store_quantized(self, rows: Sequence[tuple[int, int]], blobs: Sequence[bytes], reach: int) -> None:
        """Store vectors that have eight bits a coordinate, and mark the windows around them as stale."""
        if not rows:
            return
        ids = [ident for ident, _ in rows]
        select: LiteralString = (
            "SELECT id, file, ordinal FROM index_passages WHERE index_id = %(index)s AND id = ANY(%(ids)s)"
        )
        places = {ident: (file, ordinal) for ident, file, ordinal in self._rows(select, ids=ids)}
        copy: LiteralString = "COPY index_vectors(index_id, passage, file, layer, dimension, vector) FROM STDIN"
        with self.conn.cursor().copy(copy) as target:
            for (ident, layer), blob in zip(rows, blobs, strict=True):
                vector = np.frombuffer(blob, np.int8)
                place = (self.generation, ident, places[ident][0], layer, len(vector))
                target.write_row((*place, halfvec_text(vector.tolist())))
        self._run(
            "UPDATE index_passages SET embedded = %(done)s WHERE index_id = %(index)s AND id = ANY(%(ids)s)",
            ids=ids, done=_EMBEDDED,
        )  # fmt: skip
        turns: dict[int, list[int]] = defaultdict(list)
        for ident, layer in rows:
            if layer == _SESSIONS:
                turns[places[ident][0]].append(places[ident][1])
        for file, ordinals in turns.items():
            self._mark_stale(file, ordinals, reach)

    def _mark_stale(self, file: int, ordinals: Sequence[int] | None, reach: int) -> None:
        """Mark the windows around *ordinals* as stale. ``None`` means all of the file."""
        spans = [(0, 2**31 - 1)] if ordinals is None else list(runs(ordinals))
        for first, last in spans:
            self._run(
                "UPDATE index_passages SET windowed = 0 WHERE index_id = %(index)s AND file = %(file)s"
                " AND ordinal BETWEEN %(first)s AND %(last)s AND windowed = 1",
                file=file, first=max(0, first - reach), last=min(last + reach, 2**31 - 1),
            )  # fmt: skip

    def pending_digests(self, ids: Sequence[int]) -> list[tuple[int, int, bytes]]:
        """Return ``(id, layer, digest of meaning)`` for those of *ids* that have no vector yet."""
        return self._rows(
            "SELECT id, layer, meaning_digest FROM index_passages"
            " WHERE index_id = %(index)s AND embedded = 0 AND id = ANY(%(ids)s)",
            ids=list(ids),
        )

    def vectors_of(self, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the stored vectors of texts by the digest of their meaning."""
        rows = self._rows(_VECTORS_OF, digests=list(set(digests)))
        return {digest: _eight_bits(packed) for digest, packed in rows}

    def rows_in_order(self) -> Iterator[tuple[str, int, bytes, bytes, bytes | None]]:
        """Yield address, part, digest of text, digest of meaning and vector of every passage, in order."""
        select: LiteralString = (
            "SELECT p.source, p.part, p.content_digest, p.meaning_digest, halfvec_send(v.vector)"
            " FROM index_passages p LEFT JOIN index_vectors v ON v.index_id = p.index_id AND v.passage = p.id"
            " WHERE p.index_id = %s ORDER BY p.source, p.part, p.content_digest"
        )
        with self.conn.transaction(), self.conn.cursor(name="passages", binary=True) as cursor:
            cursor.itersize = _ROWS_AT_ONCE
            for source, part, content, meaning, packed in cursor.execute(select, (self.generation,)):
                yield source, part, content, meaning, None if packed is None else _eight_bits(packed)

    def refresh_windows(self, reach: int) -> int:
        """Compute a bounded number of the stale windows. Return the number of computed windows."""
        due: dict[int, list[int]] = defaultdict(list)
        waiting: LiteralString = (
            "SELECT file, ordinal FROM index_passages WHERE index_id = %(index)s AND windowed = 0 AND embedded = 1"
            " ORDER BY file, ordinal LIMIT %(most)s"
        )
        for file, ordinal in self._rows(waiting, most=_WINDOW_BATCH):
            due[file].append(ordinal)
        made: list[tuple[str, int]] = []
        for file, ordinals in due.items():
            vectors = self._file_vectors(file, min(ordinals) - reach, max(ordinals) + reach)
            for ordinal in ordinals:
                span = range(ordinal - reach, ordinal + reach + 1)
                near = {at - ordinal: vectors[at][1] for at in span if at in vectors}
                whole = quantize(window_vector(near)[None, :])[0]
                made.append((halfvec_text(whole.tolist()), vectors[ordinal][0]))
        if made:
            self._run(
                "UPDATE index_vectors v SET turn_window = made.vector::halfvec"
                " FROM unnest(%(vectors)s::text[], %(ids)s::bigint[]) AS made(vector, passage)"
                " WHERE v.index_id = %(index)s AND v.passage = made.passage",
                vectors=[vector for vector, _ in made], ids=[ident for _, ident in made],
            )  # fmt: skip
            self._run(
                "UPDATE index_passages SET windowed = 1 WHERE index_id = %(index)s AND id = ANY(%(ids)s)",
                ids=[ident for _, ident in made],
            )
        return len(made)

    def _file_vectors(self, file: int, first: int, last: int) -> dict[int, tuple[int, Vectors]]:
        """Return ``ordinal -> (id, unit vector)`` of the embedded passages of a file between two ordinals."""
        rows = self._rows(
            "SELECT p.ordinal, p.id, halfvec_send(v.vector) FROM index_passages p"
            " JOIN index_vectors v ON v.index_id = %(index)s AND v.passage = p.id"
            " WHERE p.index_id = %(index)s AND p.file = %(file)s AND p.ordinal BETWEEN %(first)s AND %(last)s",
            file=file, first=first, last=last,
        )  # fmt: skip
        found = {}
        for ordinal, ident, packed in rows:
            vector = np.frombuffer(packed, ">f2", offset=4).astype(np.float32)
            found[ordinal] = ident, np.asarray(vector / max(float(np.linalg.norm(vector)), 1.0), np.float32)
        return found

    def finish_vectors(self) -> None:
        """Make the indexes of vectors when there are too many vectors to compare all of them."""
        passages = self.count_passages()
        if passages > COMPARED_ONE_BY_ONE and not has_vector_indexes(self.conn, self.generation):
            make_vector_indexes(self.conn, self.generation, passages, int(self.description()["dimension"]))

    def copy_vectors(self, source: int, reach: int) -> int:
        """Copy vectors of unchanged texts from the generation *source*. Return their number."""
        copied = self._rows(_COPY_VECTORS, source=source)
        ids = [row[0] for row in copied]
        self._run(
            "UPDATE index_passages SET embedded = 1 WHERE index_id = %(index)s AND id = ANY(%(ids)s)",
            ids=ids,
        )
        del reach  # every turn of a new generation waits for its window
        return len(ids)

    def go_live(self) -> None:
        """Let searches read this generation instead of the live one. The caller removes other generations."""
        self._run(
            "UPDATE index_generations SET live = false WHERE namespace ="
            " (SELECT namespace FROM index_generations WHERE id = %(index)s) AND live"
        )
        self._run("UPDATE index_generations SET live = true WHERE id = %(index)s")

    def remove_generation(self, generation: int) -> None:
        """Remove every row of a generation in one transaction. Call it outside one."""
        drop_vector_indexes(self.conn, generation)
        with self.conn.transaction():
            for table in TABLES:
                statement: LiteralString = f"DELETE FROM {table} WHERE index_id = %s"  # noqa: S608 - constants
                self.conn.execute(statement, (generation,))
            self.conn.execute("DELETE FROM index_generations WHERE id = %s", (generation,))

    def _run(self, statement: LiteralString, **values: object) -> None:
        self.conn.execute(statement, {**values, "index": self.generation})

    def _rows(self, statement: LiteralString, **values: object) -> list[Any]:
        return self.conn.execute(statement, {**values, "index": self.generation}, binary=True).fetchall()

    def _value(self, statement: LiteralString) -> int:
        ((found,),) = self._rows(statement)
        return int(found)


def _eight_bits(packed: bytes) -> bytes:
    """Return a vector as SQLite stores it. Half-precision numbers hold its whole numbers exactly."""
    return np.frombuffer(packed, ">f2", offset=4).astype(np.int8).tobytes()


def _storable(passage: Passage) -> tuple[Any, ...]:
    return tuple(storable_text(value) if isinstance(value, str) else value for value in passage_values(passage))
