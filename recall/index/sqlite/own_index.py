"""The index of this machine, told from one that a pull or an archive brought.

An index is believed only if it carries the random token that also stands in the machine state, signed with the machine
key. Passages of another index would go into prompts although no guard has seen them.

A connection that is kept between searches is checked once, and again when the record of the token changes. It is kept
only for the file that it was opened for (``recall.index.sqlite.readers``), so another index is always checked.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakKeyDictionary

import apsw

from agent_home import storage
from agent_home.errors import MachineKeyUnusable
from agent_home.home import Home
from agent_home.machine_key import sign

from ...errors import IndexLocked, IndexUnusable
from . import schema
from .readers import reading

__all__ = ["MARK", "new_token", "open_own", "open_own_or_none", "own_token", "reading_own", "set_foreign_aside"]

#: Key of the token in the index's description.
MARK = "token"
_FILE = "index.json"
_BYTES = 16
#: Place, inode, size and time of change of the record of the token.
_Record = tuple[str, int, int, int]
#: Connections to indexes of this machine, with the record that they were checked against.
_CHECKED: WeakKeyDictionary[apsw.Connection, _Record] = WeakKeyDictionary()


def open_own(home: Home) -> apsw.Connection | None:
    """Return what :func:`recall.index.sqlite.schema.open_reader` does for the home's index, if this machine made it.

    Raises:
        IndexBusy, IndexCorrupt: see there. ``IndexCorrupt`` also for an index that this machine did not make.
    """
    conn = schema.open_reader(home.index)
    if conn is None:
        return None
    try:
        _require_own(home, conn)
    except BaseException:
        conn.close()
        raise
    return conn


@contextmanager
def reading_own(home: Home, index: Path) -> Iterator[apsw.Connection | None]:
    """Hold what :func:`recall.index.sqlite.readers.reading` does for the home's *index*, if this machine made it.

    Raises:
        IndexBusy, IndexCorrupt: see :func:`open_own`.
    """
    with reading(index) as conn:
        if conn is not None:
            checked = _CHECKED.get(conn)
            if checked is None or checked != _record(checked[0]):
                record = _record(str(home.machine / _FILE))
                _require_own(home, conn)
                if record is not None:
                    _CHECKED[conn] = record
        yield conn


def _record(place: str) -> _Record | None:
    """Return which version of the token's record is at *place*, or ``None`` where there is none."""
    try:
        status = os.lstat(place)
    except OSError:
        return None
    return place, status.st_ino, status.st_size, status.st_ctime_ns


def _require_own(home: Home, conn: apsw.Connection) -> None:
    try:
        made_here = _is_own(home, schema.read_token(conn))
    except schema.CORRUPTION_ERRORS as error:
        raise schema.IndexCorrupt(str(error)) from error
    if not made_here:
        raise schema.IndexCorrupt("this machine did not make it")


def open_own_or_none(home: Home) -> apsw.Connection | None:
    """Return what :func:`open_own` does, and ``None`` for an unusable index as well."""
    try:
        return open_own(home)
    except schema.IndexCorrupt:
        return None


def own_token(home: Home) -> str:
    """Return the token of this machine's index, or an empty string where there is none."""
    try:
        row = json.loads(storage.read_state(home.machine / _FILE))
        token = str(row[MARK])
        return token if hmac.compare_digest(_signature(home, token), str(row["mac"])) else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def new_token(home: Home) -> str:
    """Make a token for an index that is about to be made. Older ones are believed no more. Call with the sync lock."""
    token = secrets.token_hex(_BYTES)
    path = home.machine / _FILE
    row = {MARK: token, "mac": _signature(home, token)}
    storage.stage(path.with_name(f"{_FILE}.tmp"), json.dumps(row).encode())
    storage.replace(path.with_name(f"{_FILE}.tmp"), path)
    return token


def set_foreign_aside(home: Home) -> str:
    """Set an index aside that this machine did not make, and return a note, or nothing. Call with the sync lock.

    Raises:
        IndexLocked: another program holds the index locked.
        IndexUnusable: the file cannot be renamed.
    """
    index = home.index
    if not index.exists() and not index.is_symlink():
        return ""
    try:
        token, is_blank = schema.identity(index)
        if _is_own(home, token):
            return ""
        if is_blank:  # a killed sync made it
            schema.remove(index)
            return ""
        problem = "this machine did not make it"
    except schema.LOCK_ERRORS as error:
        raise IndexLocked(index) from error
    except (schema.IndexCorrupt, apsw.Error) as error:
        problem = str(error)
    try:
        aside = schema.set_aside(index)
    except OSError as error:
        raise IndexUnusable(index, str(error)) from error
    return f"{index.name} could not be used ({problem}). It is now {aside.name}, and the index is rebuilt"


def _is_own(home: Home, token: str) -> bool:
    known = own_token(home)
    return bool(known) and hmac.compare_digest(known.encode(), token.encode())


def _signature(home: Home, token: str) -> str:
    """Sign the token and the place of the index, so that an index does not change its place.

    Where no machine key can be made, a token is believed without: otherwise every prompt would make the index again.
    """
    try:
        return sign("index", f"{home.relative(home.index)}\0{token}".encode())
    except MachineKeyUnusable:
        return "unsigned"
