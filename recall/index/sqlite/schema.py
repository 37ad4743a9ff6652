"""The index file: its tables, its connections, and the replacement of an unusable file.

Only ``recall`` touches SQLite. WAL, a busy timeout and ``BEGIN IMMEDIATE`` together let readers and writers work side
by side. Each alone is not enough. The index is a cache: a file that is damaged, foreign or of a newer program is set
aside under another name. An empty file takes its place, and the next sync fills it.

Migrations are numbered by their place in the list and only appended.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from agent_home import storage
from agent_home.home import is_text
from guard.lazy_regex import lazy_regex

from ...errors import IndexLocked, IndexUnusable
from ...text.terms import TOKENIZER
from ..vector_math import METRIC

__all__ = [
    "CORRUPTION_ERRORS",
    "LOCK_ERRORS",
    "METRIC",
    "READER_TIMEOUT_MS",
    "UNAVAILABLE_ERRORS",
    "IndexBusy",
    "IndexCorrupt",
    "connect",
    "describe_vectors",
    "identity",
    "migrate",
    "open_reader",
    "open_reader_or_none",
    "open_writer",
    "read_meta",
    "read_token",
    "remove",
    "require_current",
    "rows",
    "set_aside",
    "set_meta",
    "transaction",
    "value",
]

_ANY_ROW = ("SELECT 1 FROM meta LIMIT 1", "SELECT 1 FROM files LIMIT 1", "SELECT 1 FROM passages LIMIT 1")
#: Files that SQLite keeps beside a database.
_SIDES = ("-wal", "-shm", "-journal")
#: "agho" in the file's header: marks the file as an index of this program.
APPLICATION_ID = 0x6167686F
#: How long a statement waits for another process's lock. Our own transactions take a tenth of a second.
BUSY_TIMEOUT_MS = 10_000
#: Errors of SQLite for a file that is no database, or not a complete one.
CORRUPTION_ERRORS = (apsw.NotADBError, apsw.CorruptError)
#: Errors of SQLite for an index that another program holds locked.
LOCK_ERRORS = (apsw.BusyError, apsw.LockedError)
#: Errors of SQLite for a sound index that cannot be used at the moment: another program's lock, a full or failing disk,
#: a read-only folder.
UNAVAILABLE_ERRORS = (
    *LOCK_ERRORS,
    apsw.ReadOnlyError,
    apsw.FullError,
    apsw.IOError,
    apsw.CantOpenError,
    apsw.PermissionsError,
)
#: How long a search waits for another program's lock. Our own locks never block a reader.
READER_TIMEOUT_MS = 500
#: Copies of a damaged index that are kept.
MOST_ASIDE = 3
_ASIDE = lazy_regex(r"\.corrupt-(\d+)(?:-wal|-shm)?$")

# A contentless table holds the postings alone. Rows are replaced by rowid, so removing postings needs no old text, and
# no wrong text can corrupt them. In the end, `passage_words` is about passages, `file_words` about whole files.
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
# Neighbouring words moved from a column of postings to context windows. Older rows are useless without
# them: the next sync finds another signature and rebuilds the index.
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
# Vectors moved from vec0 tables, where every search scans all of them, to rows with binary vectors. They are computed
# again, because their encoding changed as well.
_CODES = """
DROP TABLE IF EXISTS vectors;
DROP TABLE IF EXISTS windows;
DELETE FROM meta WHERE key IN ('model', 'fingerprint', 'dimension', 'metric');
UPDATE passages SET embedded = 0 WHERE embedded = 1;
CREATE TABLE embeddings(passage INTEGER PRIMARY KEY, vector BLOB NOT NULL, window BLOB);
CREATE TABLE codes(chunk INTEGER PRIMARY KEY, version INTEGER NOT NULL, slots BLOB NOT NULL);
"""
# Tables named for what they hold. The vocabulary reads the table of postings by its name.
_NAMES = """
DROP TABLE pages_words;
ALTER TABLE pages RENAME TO passage_words;
ALTER TABLE groups RENAME TO file_words;
ALTER TABLE sheets RENAME TO context_windows;
ALTER TABLE codes RENAME TO binary_vectors;
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(passage_words, col);
"""
# Which files changed, in order, so that a process that has read the passages reads only those again. Each change has a
# random token, which tells this index from another one with as many changes.
_CHANGES = """
CREATE TABLE changes(number INTEGER PRIMARY KEY, file INTEGER NOT NULL, token INTEGER NOT NULL);
INSERT INTO changes VALUES(0, 0, random());
"""
MIGRATIONS = (_FIRST, _SHEETS, _CODES, _NAMES, _CHANGES)


class IndexCorrupt(Exception):
    """The file cannot be used as an index. The text gives the reason."""


class IndexBusy(IndexCorrupt):
    """Another program holds the index locked."""


def open_writer(path: Path, timeout_ms: int = BUSY_TIMEOUT_MS) -> tuple[apsw.Connection, str]:
    """Return a connection that writes, and a note if an unusable file was set aside (else ``""``).

    Its statements wait up to *timeout_ms* for another program's lock.

    Raises:
        IndexLocked: another program holds the index locked.
        IndexUnusable: the file cannot be set aside, or no new one can be made.
    """
    try:
        storage.make_folder(path.parent)
        try:
            return _migrated(path, timeout_ms), ""
        except (IndexCorrupt, *CORRUPTION_ERRORS) as error:
            aside = set_aside(path)
            note = f"{path.name} could not be used ({error}). It is now {aside.name}, and the index is rebuilt"
            return _migrated(path, timeout_ms), note
    except LOCK_ERRORS as error:
        raise IndexLocked(path) from error
    except (OSError, apsw.Error) as error:
        raise IndexUnusable(path, str(error)) from error


def open_reader(path: Path) -> apsw.Connection | None:
    """Return a connection that only reads, or ``None`` when there is no index yet.

    Raises:
        IndexBusy: another program holds it locked.
        IndexCorrupt: the file is no index of this program's version.
    """
    _require_plain(path)
    if not path.is_file():
        return None
    try:
        return _reader(path)
    except LOCK_ERRORS as error:
        raise IndexBusy("another program holds it locked") from error
    except (*UNAVAILABLE_ERRORS, *CORRUPTION_ERRORS) as error:
        raise IndexCorrupt(str(error)) from error


def _reader(path: Path) -> apsw.Connection:
    try:
        return _checked(connect(path, apsw.SQLITE_OPEN_READWRITE, READER_TIMEOUT_MS))
    except (apsw.ReadOnlyError, apsw.CantOpenError):
        # A reader of a write-ahead log writes beside the file. Where that is not allowed, no other process can write.
        uri = f"file:{quote(str(path))}?immutable=1"
        return _checked(connect(uri, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, READER_TIMEOUT_MS))


def _checked(conn: apsw.Connection) -> apsw.Connection:
    try:
        _require_ours(conn)
        require_current(conn)
        conn.pragma("query_only", True)
    except BaseException:
        conn.close()
        raise
    return conn


def open_reader_or_none(path: Path) -> apsw.Connection | None:
    """Return what :func:`open_reader` does, and ``None`` for an unusable index as well."""
    try:
        return open_reader(path)
    except IndexCorrupt:
        return None


def connect(
    path: Path | str,
    flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE,
    timeout_ms: int = BUSY_TIMEOUT_MS,
) -> apsw.Connection:
    """Return a connection with sqlite-vec loaded and every pragma set.

    Raises:
        IndexUnusable: the path is not UTF-8, which SQLite needs.
    """
    import sqlite_vec

    if not is_text(str(path)):
        raise IndexUnusable(Path(path), "the path is not UTF-8, so SQLite cannot open it. Rename the folder")

    conn = apsw.Connection(str(path), flags=flags)
    try:
        conn.set_busy_timeout(timeout_ms)
        conn.enable_load_extension(True)
        conn.load_extension(sqlite_vec.loadable_path())
        conn.enable_load_extension(False)
        conn.execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY")
        conn.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        conn.close()
        raise
    return conn


@contextmanager
def transaction(conn: apsw.Connection) -> Iterator[None]:
    """Commit everything in the block, or nothing. The write lock is taken first, where a failure costs nothing."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise
    conn.execute("COMMIT")


def migrate(conn: apsw.Connection) -> None:
    """Update the tables to this program's version.

    Raises:
        Damaged: a newer program wrote the file.
    """
    if _version(conn) == len(MIGRATIONS):
        return
    with transaction(conn):
        version = _version(conn)
        if version > len(MIGRATIONS):
            raise IndexCorrupt(f"it has schema version {version}, and this program knows {len(MIGRATIONS)}")
        for statements in MIGRATIONS[version:]:
            conn.execute(statements)
        conn.execute(f"PRAGMA application_id = {APPLICATION_ID:d}; PRAGMA user_version = {len(MIGRATIONS):d}")


def rows(conn: apsw.Connection, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return all rows of a query."""
    return conn.execute(statement, values).fetchall()


def value(conn: apsw.Connection, statement: str, values: Sequence[Any] = ()) -> Any:
    """Return the value of a query that gives one row of one column."""
    ((found,),) = rows(conn, statement, values)
    return found


def read_meta(conn: apsw.Connection) -> dict[str, str]:
    """Return the index's own description.

    Its keys are ``terms``, ``cut``, ``guard``, ``model``, ``fingerprint``, ``dimension``, ``metric``, ``middle`` and
    ``centred``.
    """
    return {str(key): str(value) for key, value in conn.execute("SELECT key, value FROM meta")}


def read_token(conn: apsw.Connection) -> str:
    """Return the token of the machine that made the index, or an empty string."""
    try:
        found = rows(conn, "SELECT value FROM meta WHERE key = 'token'")
    except apsw.SQLError:
        return ""
    return str(found[0][0]) if len(found) == 1 else ""


def identity(path: Path) -> tuple[str, bool]:
    """Return the token of the index *path*, whatever version of this program made it, and whether it has no rows.

    Raises:
        IndexCorrupt: the file is another program's database, or is no regular file.
        apsw.Error: it is no database, or another program holds it locked.
    """
    _require_plain(path)
    conn = connect(path, apsw.SQLITE_OPEN_READWRITE, READER_TIMEOUT_MS)
    try:
        _require_ours(conn)
        return read_token(conn), not any(_has_rows(conn, statement) for statement in _ANY_ROW)
    finally:
        conn.close()


def _has_rows(conn: apsw.Connection, statement: str) -> bool:
    try:
        return bool(rows(conn, statement))
    except apsw.SQLError:  # there is no such table
        return False


def remove(path: Path) -> None:
    """Remove the index and its log files."""
    for suffix in (*_SIDES, ""):
        storage.remove(path.with_name(path.name + suffix))


def set_meta(conn: apsw.Connection, values: Mapping[str, object]) -> None:
    """Record *values*, and keep other recorded values."""
    rows = [(key, str(value)) for key, value in values.items()]
    conn.executemany("INSERT INTO meta VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value", rows)


def describe_vectors(conn: apsw.Connection, model: str, fingerprint: str, dimension: int) -> None:
    """Record the model of the index's vectors. Inside a transaction."""
    set_meta(conn, {"model": model, "fingerprint": fingerprint, "dimension": dimension, "metric": METRIC})


def set_aside(path: Path) -> Path:
    """Rename the index and its log files to ``index.db.corrupt-<n>``. Return the new path.

    The last ``MOST_ASIDE`` copies are kept, to find out what had happened. Their texts are in the files of the home.
    """
    copies = {
        found: int(match[1])
        for found in path.parent.glob(f"{path.name}.corrupt-*")
        if (match := _ASIDE.search(found.name))
    }
    number = 1 + max(copies.values(), default=0)
    for copy, age in copies.items():
        if age <= number - MOST_ASIDE and not copy.is_dir():  # a folder is a person's
            copy.unlink(missing_ok=True)
    aside = path.with_name(f"{path.name}.corrupt-{number}")
    for suffix in _SIDES:
        side = path.with_name(path.name + suffix)
        if side.exists() or side.is_symlink():
            side.rename(aside.with_name(aside.name + suffix))
    if path.exists() or path.is_symlink():
        path.rename(aside)
    return aside


def _migrated(path: Path, timeout_ms: int) -> apsw.Connection:
    _require_plain(path)
    storage.create(path)
    conn = connect(path, timeout_ms=timeout_ms)
    try:
        _require_ours(conn)
        conn.execute("PRAGMA journal_mode = WAL")
        migrate(conn)
    except BaseException:
        conn.close()
        raise
    return conn


def _require_plain(path: Path) -> None:
    """Raise if the index or a file beside it is a link, has a second name or is no file: SQLite would follow it."""
    for suffix in ("", *_SIDES):
        try:
            status = path.with_name(path.name + suffix).lstat()
        except OSError:
            continue
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise IndexCorrupt(f"{path.name}{suffix} is no regular file with one name")


def _require_ours(conn: apsw.Connection) -> None:
    """Raise if the file has tables and lacks our mark: it is another program's."""
    tables = value(conn, "SELECT count(*) FROM sqlite_schema")
    if tables and conn.pragma("application_id") != APPLICATION_ID:
        raise IndexCorrupt("it is another program's database")


def require_current(conn: apsw.Connection) -> None:
    """Raise :class:`IndexCorrupt` if another version of this program made the tables."""
    version = _version(conn)
    if version != len(MIGRATIONS):
        raise IndexCorrupt(f"it has schema version {version}, expected {len(MIGRATIONS)}")


def _version(conn: apsw.Connection) -> int:
    version: int = conn.pragma("user_version")
    return version
