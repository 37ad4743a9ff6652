"""Erasure of forgotten text from the index, and the search that proves it.

After the files changed, the index is rebuilt from them and copied over the old one page by page. The write-ahead log is
emptied, and damaged copies that were set aside are removed. So no free page is left with the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agent_home import storage
from agent_home.errors import HomeError
from agent_home.forgetting.redaction_target import RedactionTarget
from agent_home.git_folder import WORKTREE_STATE
from agent_home.home import Home

from ..errors import RecallError
from ..settings import RecallSettings
from .sqlite import schema
from .store_choice import chosen_namespace, end_moving, moving_namespace
from .sync import pending_notice, reindex, sync_lock

__all__ = ["erase", "occurrences"]

_ROWS = "SELECT source, session, message, name, heading, text, meaning FROM passages"
_FILES = "SELECT path, session, skipped FROM files"
_CHUNK = 4 << 20
#: Bytes that two chunks share: more than the longest text that a person types in to be forgotten.
_SHARED = 1 << 16


def occurrences(home: Home, target: RedactionTarget) -> Iterator[tuple[str, str]]:
    """Yield ``(file, place in it)`` for each occurrence of the target in the index and in copies of it set aside.

    Rows are read by SQL. Every file is read byte by byte as well, because a freed page is no row.
    """
    for namespace in _namespaces(home):
        from .postgresql.erasure import occurrences_in
        from .postgresql.store import PostgresqlStore

        yield from occurrences_in(PostgresqlStore(namespace), target)
    relative = home.relative(home.index)
    conn = schema.open_reader_or_none(home.index)
    if conn is not None:
        try:
            for statement in (_ROWS, _FILES):
                for row in conn.execute(statement):
                    if any(target.occurs_in(str(value)) for value in row):
                        yield relative, str(row[0]) if not target.occurs_in(str(row[0])) else "a row"
        except schema.CORRUPTION_ERRORS:
            yield relative, "cannot be read. Run `memory reindex` to rebuild it"
        finally:
            conn.close()
    for path in _files(home):
        if _contains(path, target):
            yield home.relative(path), "deleted rows still in the database file"


def erase(home: Home, settings: RecallSettings) -> list[str]:
    """Rebuild the index from the files, and leave no trace of older texts. Return a line for each step that failed.

    Raises:
        Locked, IndexUnusable: as for :func:`recall.index.sync.reindex`.
    """
    notes: list[str] = []
    namespace = chosen_namespace(home)
    if namespace or home.index.exists():
        report = reindex(home, settings, None)
        notes += (note for note in report.degraded if note not in pending_notice(report.pending))
    namespaces = _namespaces(home)
    with sync_lock(home, settings.sync_timeout_s):
        if namespace:
            schema.remove(home.index)  # a move that was killed may have left it
        notes += _end_move(home, settings)
        for path in _files(home):
            if ".corrupt-" in path.name or ".building" in path.name:
                path.unlink(missing_ok=True)
        if home.index.exists():
            conn, _ = schema.open_writer(home.index)
            try:
                busy, _, _ = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (0, 0, 0)
            finally:
                conn.close()
            if busy:
                notes.append("another process reads the index, so its log is not empty. Run the command again later")
    if namespaces:
        from .postgresql.erasure import vacuum
        from .postgresql.store import PostgresqlStore

        notes += vacuum(PostgresqlStore(namespaces[0]))
    return notes


def _namespaces(home: Home) -> list[str]:
    """Return the namespaces in PostgreSQL with rows of the home: its index, and one that a killed move left."""
    return list(dict.fromkeys(filter(None, (chosen_namespace(home), moving_namespace(home)))))


def _end_move(home: Home, settings: RecallSettings) -> list[str]:
    """Remove the rows that a killed move left in a namespace that the home does not use. A later move begins anew.

    The caller holds the lock of the index. Return a line if that failed.
    """
    left = moving_namespace(home)
    if not left or left == chosen_namespace(home):
        return []
    from .postgresql.store import PostgresqlStore
    from .postgresql.sync import remove_namespace

    try:
        remove_namespace(PostgresqlStore(left), settings.sync_timeout_s)
    except (RecallError, HomeError) as error:
        return [f"the rows of a move to PostgreSQL that did not end could not be removed ({error})"]
    end_moving(home)
    return []


def _files(home: Home) -> list[Path]:
    """Return the index and every file beside it that was made from it."""
    folders = {home.index.parent, home.root / WORKTREE_STATE}
    return sorted(path for folder in folders for path in folder.glob(f"{home.index.name}*") if path.is_file())


def _contains(path: Path, target: RedactionTarget) -> bool:
    shared = b""
    try:
        with storage.open_file(path) as file:
            while chunk := file.read(_CHUNK):
                data = shared + chunk
                if target.may_occur_in(data) and target.occurs_in(data.decode("utf-8", "replace")):
                    return True
                shared = data[-_SHARED:]
    except FileNotFoundError:
        pass
    return False
