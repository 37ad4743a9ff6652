"""Rows of the index: passages with their postings, context windows and file postings, written together.

Owns the statements that keep the tables consistent. Every function that writes runs inside the caller's transaction.
``recall.index.sync`` chooses the files. ``recall.search.hybrid`` answers queries.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

import apsw

from ...text.term_hashes import Fts5Stemmer
from ...text.terms import index_text
from ..context_window import WindowRow, build_windows
from ..passage import FilePassages, Passage
from ..passage_rows import (
    COLUMNS,
    LAYER_CODES,
    PENDING,
    UNWANTED,
    Changes,
    FileRecord,
    StoredPassage,
    file_text,
    match_rows,
    passage_values,
)
from . import schema
from .passage_table import log_change
from .vectors import mark_windows_stale, remove_vectors

__all__ = [
    "count_pending",
    "file_records",
    "file_statuses",
    "pending_ids",
    "pending_meanings",
    "remove_file",
    "skipped_files",
    "store_file",
    "store_windows",
]

_SESSIONS = LAYER_CODES["sessions"]
_INSERT = (
    f"INSERT INTO passages(id, file, layer, windowed, embedded, {', '.join(COLUMNS)}) "
    f"VALUES(?, ?, ?, ?, ?{', ?' * len(COLUMNS)})"
)
_UPDATE = f"UPDATE passages SET {', '.join(f'{c} = ?' for c in COLUMNS)} WHERE id = ?"  # noqa: S608 - constants
_INSERT_PAGE = "INSERT OR REPLACE INTO passage_words(rowid, body, heading) VALUES(?, ?, ?)"


def file_statuses(conn: apsw.Connection) -> dict[str, tuple[int, int]]:
    """Return the modification time in ns and the size of every indexed file by its path."""
    rows = conn.execute("SELECT path, mtime_ns, size FROM files")
    return {path: (mtime_ns, size) for path, mtime_ns, size in rows}


def file_records(conn: apsw.Connection, paths: Collection[str] | None = None) -> dict[str, FileRecord]:
    """Return the record of every indexed file by its path, or of those of *paths* that are indexed."""
    if paths is None:
        rows = conn.execute("SELECT path, id, sha256, mtime_ns, size, skipped FROM files")
    else:
        rows = conn.execute(
            "SELECT path, id, sha256, mtime_ns, size, skipped FROM files"
            " WHERE path IN (SELECT value FROM json_each(?))",
            (json.dumps(list(paths)),),
        )
    return {r[0]: FileRecord(id=r[1], sha256=r[2], mtime_ns=r[3], size=r[4], skipped=r[5]) for r in rows}


def skipped_files(conn: apsw.Connection) -> list[tuple[str, str]]:
    """Return the paths of indexed files of which something was left out, with the note about it."""
    return list(conn.execute("SELECT path, skipped FROM files WHERE skipped != ''"))


def store_file(
    conn: apsw.Connection,
    path: str,
    layer: str,
    content: FilePassages,
    *,
    sha256: bytes,
    mtime_ns: int,
    size: int,
    reach: int,
) -> Changes:
    """Make the index hold exactly *content* for the file *path*.

    Unchanged passages keep their rows and vectors when they move within the file. *reach* is the number of turns on
    each side that make up a window.
    """
    file = schema.value(
        conn,
        "INSERT INTO files(path, layer, session, sha256, mtime_ns, size, skipped) VALUES(?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT(path) DO UPDATE SET session = excluded.session, sha256 = excluded.sha256, "
        "mtime_ns = excluded.mtime_ns, size = excluded.size, skipped = excluded.skipped RETURNING id",
        (path, layer, content.session, sha256, mtime_ns, size, "\n".join(content.skipped)),
    )
    log_change(conn, file)
    old = [StoredPassage(r[0], r[1:]) for r in conn.execute(_SELECT_OLD, (file,))]
    matched, added, removed = match_rows(old, content.passages)
    _delete(conn, [row.id for row in removed])
    _update(conn, matched)
    _insert(conn, added, file, LAYER_CODES[layer])
    if added or removed or any(row.values[:-2] != passage_values(new)[:-2] for row, new in matched):
        if old:
            conn.execute("DELETE FROM file_words WHERE rowid = ?", (file,))
        if content.passages:
            body = index_text(file_text(content.passages))
            conn.execute("INSERT INTO file_words(rowid, body) VALUES(?, ?)", (file, body))
    if layer == "sessions":
        moved = bool(removed) or any(row.values[0] != new.ordinal for row, new in matched)
        mark_windows_stale(conn, file, None if moved else [passage.ordinal for passage in added], reach)
    _store_windows(conn, file, content.passages)
    before, after = {row.address for row in removed}, {(new.source, new.part) for new in added}
    both = len(before & after)
    return Changes(added=len(added) - both, changed=both, removed=len(removed) - both)


def _store_windows(conn: apsw.Connection, file: int, passages: Sequence[Passage]) -> None:
    idents = [row[0] for row in conn.execute("SELECT id FROM passages WHERE file = ? ORDER BY ordinal", (file,))]
    windows = list(build_windows(zip(idents, passages, strict=True), Fts5Stemmer(conn)))
    store_windows(conn, file, windows)
    words = sum(len(window[2]) for window in windows) // 4
    conn.execute("UPDATE files SET passages = ?, words = ? WHERE id = ?", (len(passages), words, file))


_SELECT_OLD = f"SELECT id, {', '.join(COLUMNS)} FROM passages WHERE file = ? ORDER BY ordinal"  # noqa: S608 - constants


def remove_file(conn: apsw.Connection, file: int) -> int:
    """Remove the file and all its passages. Return the number of removed passages."""
    log_change(conn, file)
    ids = [row[0] for row in conn.execute("SELECT id FROM passages WHERE file = ?", (file,))]
    _delete(conn, ids)
    conn.execute("DELETE FROM file_words WHERE rowid = ?", (file,))
    conn.execute("DELETE FROM context_windows WHERE file = ?", (file,))
    conn.execute("DELETE FROM files WHERE id = ?", (file,))
    return len(ids)


def count_pending(conn: apsw.Connection) -> int:
    """Count passages that have no vector yet."""
    return int(schema.value(conn, "SELECT count(*) FROM passages WHERE embedded = 0"))


def pending_ids(conn: apsw.Connection) -> list[int]:
    """Return passages without a vector in the order of their embedding: memory first, then the newest sessions."""
    rows = conn.execute(
        "SELECT p.id FROM passages p JOIN files f ON f.id = p.file WHERE p.embedded = 0 "
        "ORDER BY p.layer, f.path DESC, p.ordinal"
    )
    return [row[0] for row in rows]


def pending_meanings(conn: apsw.Connection, ids: Sequence[int]) -> list[tuple[int, int, str]]:
    """Return ``(id, layer, text to embed)`` for those of *ids* that have no vector yet."""
    return list(
        conn.execute(
            "SELECT id, layer, meaning FROM passages WHERE embedded = 0 AND id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
    )


def _page(ident: int, passage: Passage) -> tuple[int, str, str]:
    return ident, index_text(passage.text), index_text(passage.heading)


def _insert(conn: apsw.Connection, passages: Sequence[Passage], file: int, layer: int) -> None:
    last = schema.value(conn, "SELECT coalesce(max(id), 0) FROM passages")
    rows = list(enumerate(passages, last + 1))
    windowed = int(layer != _SESSIONS)  # only turns have neighbours
    conn.executemany(
        _INSERT,
        (
            (ident, file, layer, windowed, PENDING if passage.meaning else UNWANTED, *passage_values(passage))
            for ident, passage in rows
        ),
    )
    conn.executemany(_INSERT_PAGE, (_page(ident, passage) for ident, passage in rows))


def _update(conn: apsw.Connection, matched: Iterable[tuple[StoredPassage, Passage]]) -> None:
    for row, passage in matched:
        values = passage_values(passage)
        if values == row.values:
            continue
        conn.execute(_UPDATE, (*values, row.id))
        if values[-2] != row.values[-2]:
            conn.execute(_INSERT_PAGE, _page(row.id, passage))


def _delete(conn: apsw.Connection, ids: Sequence[int]) -> None:
    rows = [(ident,) for ident in ids]
    conn.executemany("DELETE FROM passage_words WHERE rowid = ?", rows)
    conn.executemany("DELETE FROM passages WHERE id = ?", rows)
    remove_vectors(conn, ids)


def store_windows(conn: apsw.Connection, file: int, rows: Iterable[WindowRow]) -> None:
    """Make *rows* the windows of *file*. Unchanged windows are not written."""
    old = {
        row[0]: row
        for row in conn.execute("SELECT number, leaves, words, heads FROM context_windows WHERE file = ?", (file,))
    }
    new = {row[0]: row for row in rows}
    stale = [(file, number) for number in old if old[number] != new.get(number)]
    conn.executemany("DELETE FROM context_windows WHERE file = ? AND number = ?", stale)
    conn.executemany(
        "INSERT INTO context_windows(file, number, leaves, words, heads) VALUES(?, ?, ?, ?, ?)",
        ((file, *row) for number, row in new.items() if old.get(number) != row),
    )
