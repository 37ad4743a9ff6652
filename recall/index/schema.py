"""The index file: its tables, how it is opened, and what happens when it is not usable.

Only ``recall`` touches SQLite. WAL, a busy timeout and ``BEGIN IMMEDIATE`` together are what keeps readers and
writers out of each other's way; each alone is not enough. The index is a cache: a file that is damaged, foreign or of
a newer program is set aside under another name, and an empty one takes its place for the next sync to fill.

Migrations are numbered by their place and only ever appended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from ..errors import IndexUnusable
from ..text.terms import TOKENIZER

__all__ = [
    "CORRUPTION_ERRORS",
    "METRIC",
    "UNAVAILABLE_ERRORS",
    "IndexCorrupt",
    "connect",
    "describe_vectors",
    "migrate",
    "open_reader",
    "open_reader_or_none",
    "open_writer",
    "read_meta",
    "rows",
    "set_aside",
    "set_meta",
    "transaction",
    "value",
]

#: "agho" in the file's header: tells our index from any other SQLite file.
APPLICATION_ID = 0x6167686F
#: How vectors are compared: recorded, so that an index compared otherwise is not taken for this one.
METRIC = "cosine"
#: How long a statement waits for another process's lock; our own transactions take a tenth of a second.
BUSY_TIMEOUT_MS = 10_000
#: What SQLite raises when a file is no database, or not a whole one.
CORRUPTION_ERRORS = (apsw.NotADBError, apsw.CorruptError)
#: What SQLite raises when a sound index cannot be used just now: a stranger's lock, a full or failing disk, a folder
#: that may only be read.
UNAVAILABLE_ERRORS = (
    apsw.BusyError,
    apsw.LockedError,
    apsw.ReadOnlyError,
    apsw.FullError,
    apsw.IOError,
    apsw.CantOpenError,
    apsw.PermissionsError,
)
#: How long a search waits for a stranger's lock; ours never keep a reader out.
READER_TIMEOUT_MS = 500

# A contentless table holds the postings alone; rows are replaced by rowid, so the old text is not needed to take its
# postings out, and no wrong text can be given. `pages` are passages, `groups` whole files.
_FIRST = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files(
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    layer TEXT NOT NULL,
    session TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    mtime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL,
    skipped TEXT NOT NULL
);
CREATE TABLE passages(
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    layer INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    part INTEGER NOT NULL,
    source TEXT NOT NULL,
    session TEXT NOT NULL,
    message TEXT NOT NULL,
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    ts TEXT NOT NULL,
    heading TEXT NOT NULL,
    text TEXT NOT NULL,
    context TEXT NOT NULL,
    meaning TEXT NOT NULL,
    content_digest BLOB NOT NULL,
    meaning_digest BLOB NOT NULL,
    embedded INTEGER NOT NULL DEFAULT 0,
    windowed INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX passages_by_file ON passages(file, ordinal);
CREATE INDEX passages_by_source ON passages(source);
CREATE INDEX passages_without_vector ON passages(layer, file) WHERE embedded = 0;
CREATE INDEX passages_without_window ON passages(file, ordinal) WHERE windowed = 0;
CREATE VIRTUAL TABLE pages USING fts5(
    body, heading, context, content='', contentless_delete=1, tokenize='{TOKENIZER}'
);
CREATE VIRTUAL TABLE groups USING fts5(body, content='', contentless_delete=1, tokenize='{TOKENIZER}');
"""
# Neighbouring words moved from a column of postings to sheets. The rows are of no use without them: whoever syncs next
# sees another signature and builds the index anew.
_SHEETS = f"""
DROP TABLE pages;
ALTER TABLE passages DROP COLUMN context;
ALTER TABLE files ADD COLUMN passages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE files ADD COLUMN words INTEGER NOT NULL DEFAULT 0;
CREATE VIRTUAL TABLE pages USING fts5(body, heading, content='', contentless_delete=1, tokenize='{TOKENIZER}');
CREATE VIRTUAL TABLE pages_words USING fts5vocab(pages, col);
CREATE TABLE sheets(
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    leaves BLOB NOT NULL,
    words BLOB NOT NULL,
    heads BLOB NOT NULL,
    UNIQUE(file, number)
);
"""
# Vectors moved from vec0 tables, whose every way to find some of them is a scan of all, to rows with codes. They are
# made anew: how they are stored has changed as well.
_CODES = """
DROP TABLE IF EXISTS vectors;
DROP TABLE IF EXISTS windows;
DELETE FROM meta WHERE key IN ('model', 'fingerprint', 'dimension', 'metric');
UPDATE passages SET embedded = 0 WHERE embedded = 1;
CREATE TABLE embeddings(passage INTEGER PRIMARY KEY, vector BLOB NOT NULL, window BLOB);
CREATE TABLE codes(chunk INTEGER PRIMARY KEY, version INTEGER NOT NULL, slots BLOB NOT NULL);
"""
MIGRATIONS = (_FIRST, _SHEETS, _CODES)


class IndexCorrupt(Exception):
    """The file cannot be used as an index; the text says why."""


def open_writer(path: Path) -> tuple[apsw.Connection, str]:
    """A connection that writes, and a note when an unusable file had to be set aside (else ``""``).

    Raises:
        IndexUnusable: the file cannot be set aside, or no new one can be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return _migrated(path), ""
        except (IndexCorrupt, *CORRUPTION_ERRORS) as error:
            aside = set_aside(path)
            note = f"{path.name} could not be used ({error}); it is now {aside.name} and the index is built anew"
            return _migrated(path), note
    except (OSError, apsw.Error) as error:
        raise IndexUnusable(path, str(error)) from error


def open_reader(path: Path) -> apsw.Connection | None:
    """A connection that only reads; ``None`` when there is no index yet.

    Raises:
        Damaged: the file is no index of this program's version.
    """
    if not path.is_file():
        return None
    try:
        return _reader(path)
    except (*UNAVAILABLE_ERRORS, *CORRUPTION_ERRORS) as error:
        raise IndexCorrupt(str(error)) from error


def _reader(path: Path) -> apsw.Connection:
    try:
        return _checked(connect(path, apsw.SQLITE_OPEN_READWRITE))
    except (apsw.ReadOnlyError, apsw.CantOpenError):
        # A reader of a write-ahead log writes beside the file; where that may not be, nobody else can write either.
        uri = f"file:{quote(str(path))}?immutable=1"
        return _checked(connect(uri, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI))


def _checked(conn: apsw.Connection) -> apsw.Connection:
    try:
        conn.set_busy_timeout(READER_TIMEOUT_MS)
        _require_ours(conn)
        _require_current(conn)
        conn.pragma("query_only", True)
    except BaseException:
        conn.close()
        raise
    return conn


def open_reader_or_none(path: Path) -> apsw.Connection | None:
    """Like :func:`open_reader`, with ``None`` for an unusable index as well."""
    try:
        return open_reader(path)
    except IndexCorrupt:
        return None


def connect(path: Path | str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> apsw.Connection:
    """A connection with sqlite-vec loaded and every pragma set."""
    import sqlite_vec

    conn = apsw.Connection(str(path), flags=flags)
    conn.set_busy_timeout(BUSY_TIMEOUT_MS)
    conn.enable_load_extension(True)
    conn.load_extension(sqlite_vec.loadable_path())
    conn.enable_load_extension(False)
    conn.execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY")
    return conn


@contextmanager
def transaction(conn: apsw.Connection) -> Iterator[None]:
    """Everything in the block, or nothing. Takes the write lock at once instead of failing half way."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise
    conn.execute("COMMIT")


def migrate(conn: apsw.Connection) -> None:
    """Bring the tables up to this program's version.

    Raises:
        Damaged: a newer program wrote the file.
    """
    if _version(conn) == len(MIGRATIONS):
        return
    with transaction(conn):
        version = _version(conn)
        if version > len(MIGRATIONS):
            raise IndexCorrupt(f"it has schema version {version}, this program knows {len(MIGRATIONS)}")
        for statements in MIGRATIONS[version:]:
            conn.execute(statements)
        conn.execute(f"PRAGMA application_id = {APPLICATION_ID:d}; PRAGMA user_version = {len(MIGRATIONS):d}")


def rows(conn: apsw.Connection, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    return conn.execute(statement, values).fetchall()


def value(conn: apsw.Connection, statement: str, values: Sequence[Any] = ()) -> Any:
    """The one value of a query that gives one row of one column."""
    ((found,),) = rows(conn, statement, values)
    return found


def read_meta(conn: apsw.Connection) -> dict[str, str]:
    """What the index says of itself: ``terms``, ``cut``, ``model``, ``fingerprint``, ``dimension``, ``metric``,
    ``middle``."""
    return {str(key): str(value) for key, value in conn.execute("SELECT key, value FROM meta")}


def set_meta(conn: apsw.Connection, values: Mapping[str, object]) -> None:
    """Record *values* beside what is recorded already."""
    rows = [(key, str(value)) for key, value in values.items()]
    conn.executemany("INSERT INTO meta VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value", rows)


def describe_vectors(conn: apsw.Connection, model: str, fingerprint: str, dimension: int) -> None:
    """Record whose vectors the index holds from now on. Inside a transaction."""
    set_meta(conn, {"model": model, "fingerprint": fingerprint, "dimension": dimension, "metric": METRIC})


def set_aside(path: Path) -> Path:
    """Rename the index and what belongs to it to ``index.db.corrupt-<n>``; the new name."""
    number = 1
    while (aside := path.with_name(f"{path.name}.corrupt-{number}")).exists():
        number += 1
    for suffix in ("-wal", "-shm"):
        side = path.with_name(path.name + suffix)
        if side.exists():
            side.rename(aside.with_name(aside.name + suffix))
    path.rename(aside)
    return aside


def _migrated(path: Path) -> apsw.Connection:
    conn = connect(path)
    try:
        _require_ours(conn)
        conn.execute("PRAGMA journal_mode = WAL")
        migrate(conn)
    except BaseException:
        conn.close()
        raise
    return conn


def _require_ours(conn: apsw.Connection) -> None:
    """A file with tables that does not carry our mark is somebody else's."""
    tables = value(conn, "SELECT count(*) FROM sqlite_schema")
    if tables and conn.pragma("application_id") != APPLICATION_ID:
        raise IndexCorrupt("it is another program's database")


def _require_current(conn: apsw.Connection) -> None:
    version = _version(conn)
    if version != len(MIGRATIONS):
        raise IndexCorrupt(f"it has schema version {version}, wanted {len(MIGRATIONS)}")


def _version(conn: apsw.Connection) -> int:
    version: int = conn.pragma("user_version")
    return version
