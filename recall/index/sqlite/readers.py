"""Connections that only read, kept between the searches of one process.

Opening an index costs a millisecond, and the pages that a connection had read are read again. A connection is kept for
the very file that it was opened for: a file that was replaced, removed or written outside SQLite is opened anew. One
thread at a time uses a connection. Between two uses it holds no transaction, so that no checkpoint waits for it.
"""

from __future__ import annotations

import atexit
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from . import schema

__all__ = ["close_readers", "reading"]

#: Connections that a process keeps. A search uses two. Where open files cannot be renamed, none is kept.
_KEPT = 8 if os.name == "posix" else 0
#: Memory for pages of one connection, in KiB.
_CACHE_KIB = 8_192
#: Process, device, inode, size and time of change of the file that a connection has open.
_File = tuple[int, int, int, int, int]


@contextmanager
def reading(path: Path) -> Iterator[apsw.Connection | None]:
    """Hold a connection to the index *path* that reads one state of it, or ``None`` when there is no index yet.

    A connection that met an error is closed.

    Raises:
        IndexBusy, IndexCorrupt: see :func:`recall.index.sqlite.schema.open_reader`.
    """
    file = _file(path)
    conn = _kept(file)
    opened = None if conn is not None else schema.open_reader(path)
    conn = conn or opened
    if conn is None:
        yield None
        return
    try:
        if opened is not None and _KEPT:
            conn.execute(f"PRAGMA cache_size = -{_CACHE_KIB:d}")
        conn.execute("BEGIN")
        yield conn
        conn.execute("ROLLBACK")
    except BaseException:
        conn.close()
        raise
    _keep(file, conn)


def close_readers() -> None:
    """Close the connections that nobody uses now."""
    with _LOCK:
        idle = [conn for (process, *_), conn in _IDLE.values() if process == os.getpid()]
        _IDLE.clear()
    for conn in idle:
        conn.close()


_LOCK = threading.Lock()
#: By a number of their own, the one that was used last at the end.
_IDLE: OrderedDict[int, tuple[_File, apsw.Connection]] = OrderedDict()
atexit.register(close_readers)


def _file(path: Path) -> _File | None:
    """Return which file *path* is, or ``None`` for anything but a regular file with one name."""
    try:
        status = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        return None
    return os.getpid(), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _kept(file: _File | None) -> apsw.Connection | None:
    """Return a kept connection to *file* whose tables this program still knows."""
    with _LOCK:
        number = next((number for number in reversed(_IDLE) if _IDLE[number][0] == file), None)
        found = None if number is None else _IDLE.pop(number)[1]
    if found is None:
        return None
    try:
        schema.require_current(found)
    except (schema.IndexCorrupt, apsw.Error):
        found.close()
        return None
    return found


def _keep(file: _File | None, conn: apsw.Connection) -> None:
    """Keep *conn* for the next reader. Close the connection that was used longest ago where there are too many."""
    closed = [conn]
    if file is not None and not conn.readonly("main") and _KEPT:
        with _LOCK:
            _IDLE[id(conn)] = (file, conn)
            closed = [_IDLE.popitem(last=False)[1][1] for _ in range(len(_IDLE) - _KEPT)]
    for old in closed:
        old.close()
