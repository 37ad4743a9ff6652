"""Synchronisation of the index with the files, in small steps that each leave it consistent.

Words come first. A changed file's passages and postings go into one transaction with the file's hash, so that a killed
sync has indexed a file wholly or not at all (``recall.index.ingest``). Vectors follow, and can stop anywhere
(``recall.index.embedding_queue``).

One sync runs at a time, and a second one waits. Searches never wait: they read the last committed state.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from agent_home.errors import Locked
from agent_home.home import Home
from agent_home.lock import hold

from ..embedding.embedder import Embedder, NoEmbedder
from ..errors import IndexLocked, IndexStale, IndexUnusable
from ..settings import RecallSettings
from .embedding_queue import embed_pending, make_windows
from .file_scan import scan
from .ingest import Progress, SyncState, index_words
from .passage_rows import Changes
from .sqlite import damage, own_index, passage_store, schema
from .sqlite.rebuild import rebuild
from .sqlite.writer import SqliteWriter
from .store_choice import chosen_namespace
from .verification import index_signature

__all__ = ["SyncReport", "ensure_fresh", "pending_notice", "reindex", "sync", "sync_lock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """Result of a sync, counted in passages. *pending* passages have no vector yet.

    *skipped* names files or lines that could not be read. *degraded* names other problems, with the command that
    solves each. *locked* says that another program keeps everybody from reading the index.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    embedded: int = 0
    pending: int = 0
    passages: int = 0
    seconds: float = 0.0
    skipped: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    locked: bool = False


def sync(
    home: Home,
    settings: RecallSettings,
    embedder: Embedder | NoEmbedder | None,
    *,
    progress: Progress | None = None,
    embed_limit: int | None = None,
) -> SyncReport:
    """Index files that changed since the last sync. Without an embedder only the words are indexed.

    *embed_limit* is the largest number of passages to embed. ``None`` means all.

    Raises:
        Locked: another sync was not done within ``settings.sync_timeout_s``.
        IndexStale: the index holds another model's vectors. The words are up to date nevertheless.
        IndexUnusable: no index can be opened or made.
    """
    with sync_lock(home, settings.sync_timeout_s):
        state = SyncState(settings=settings, progress=progress or _ignore_progress)
        start = time.perf_counter()
        if namespace := chosen_namespace(home):
            return _remote(home, namespace, state, embedder, embed_limit, start)
        _index_files(home, state, embedder)
        try:
            return _finish(home, state, embedder, embed_limit, start)
        except schema.CORRUPTION_ERRORS as error:
            damage.mark(home.index, error)
            _index_files(home, state, embedder)
            return _finish(home, state, embedder, embed_limit, start)


def reindex(
    home: Home,
    settings: RecallSettings,
    embedder: Embedder | NoEmbedder | None,
    *,
    progress: Progress | None = None,
) -> SyncReport:
    """Build a new index from the files alone, and replace the old one in one step.

    Vectors of unchanged texts are reused when the model is the same. Searches see the old index until the new one's
    words are complete. Missing vectors are computed afterwards, and a killed run resumes there.

    Raises:
        Locked, IndexUnusable: as for :func:`sync`.
    """
    with sync_lock(home, settings.sync_timeout_s):
        state = SyncState(settings=settings, progress=progress or _ignore_progress)
        start = time.perf_counter()
        if namespace := chosen_namespace(home):
            return _remote(home, namespace, state, embedder, None, start, anew=True)
        rebuild(home, state, _usable(embedder), index_signature(home, settings))
        return _finish(home, state, embedder, None, start)


def ensure_fresh(home: Home, settings: RecallSettings, embedder: Embedder | NoEmbedder | None) -> SyncReport:
    """Index the words of changed files before a search, and embed a few passages.

    The cost is one stat for each file when nothing changed. The function never waits for another sync, half a second
    for another program's lock, and never raises for the state of the index. Problems are in ``degraded``.
    """
    start = time.perf_counter()
    state = SyncState(settings=settings, progress=_ignore_progress, timeout_ms=schema.READER_TIMEOUT_MS)
    usable = _usable(embedder)
    if namespace := chosen_namespace(home):
        return _fresh_remote(home, namespace, state, usable, start)
    total, locked = 0, False
    try:
        state.found = scan(home)
        fresh, pending = _state(home, settings, state.found)
        few = usable is not None and 0 < pending <= settings.fresh_embeddings
        if not fresh or few:
            with sync_lock(home, 0.0):
                if not fresh:
                    _index_files(home, state, None)
                    pending = _pending(home)
                # More than a few would delay this search, and the next one again.
                few = pending <= settings.fresh_embeddings
                done = _finish(home, state, usable if few else None, settings.fresh_embeddings, start)
                pending, total = done.pending, done.passages
    except Locked:
        state.degraded.append("another sync is running. The latest changes may be missing")
        pending = 0
    except schema.IndexBusy:
        state.degraded.append(str(IndexLocked(home.index)))
        pending, locked = 0, True
    except (IndexStale, IndexUnusable) as error:
        state.degraded.append(str(error))
        pending = 0
    except schema.CORRUPTION_ERRORS as error:
        state.degraded.append(damage.mark(home.index, error))
        pending = 0
    except (OSError, *schema.UNAVAILABLE_ERRORS) as error:
        state.degraded.append(f"the index cannot be updated now ({error})")
        pending = 0
    report = replace(_report(state, pending, start), passages=total, locked=locked)
    if usable is None:  # a search by words alone does not need vectors
        return replace(report, degraded=tuple(state.degraded))
    return report


def _remote(
    home: Home,
    namespace: str,
    state: SyncState,
    embedder: Embedder | NoEmbedder | None,
    limit: int | None,
    start: float,
    *,
    anew: bool = False,
) -> SyncReport:
    """Run a sync of the index in PostgreSQL."""
    from .postgresql.store import PostgresqlStore
    from .postgresql.sync import synchronise

    store, signature = PostgresqlStore(namespace), index_signature(home, state.settings)
    if isinstance(embedder, NoEmbedder):
        state.degraded.append(embedder.reason)
    pending, total = synchronise(
        home, store, state, _usable(embedder), signature, limit=limit, anew=anew,
        timeout_s=state.settings.sync_timeout_s,
    )  # fmt: skip
    return replace(_report(state, pending, start), passages=total)


def _fresh_remote(home: Home, namespace: str, state: SyncState, embedder: Embedder | None, start: float) -> SyncReport:
    """Bring the words of the index in PostgreSQL up to the files before a search."""
    from .postgresql.store import PostgresqlStore
    from .postgresql.sync import freshen

    signature = index_signature(home, state.settings)
    pending, total = freshen(home, PostgresqlStore(namespace), state, embedder, signature, lambda: sync_lock(home, 0.0))
    report = replace(_report(state, pending, start), passages=total)
    return report if embedder is not None else replace(report, degraded=tuple(state.degraded))


@contextmanager
def sync_lock(home: Home, timeout_s: float) -> Iterator[None]:
    """Hold the lock of the writer of the index.

    Raises:
        Locked: another process held it for longer than *timeout_s* seconds.
    """
    with hold(home.machine / "sync.lock", timeout_s):
        yield


def _index_files(home: Home, state: SyncState, embedder: Embedder | NoEmbedder | None) -> None:
    """Run the first half of a sync. Rebuild an index that is damaged or has another signature."""
    signature = index_signature(home, state.settings)
    try:
        notes = [damage.set_marked_aside(home.index), own_index.set_foreign_aside(home)]
        fresh = not home.index.exists()
        conn, note = schema.open_writer(home.index, state.timeout_ms)
        state.degraded += filter(None, [*notes, note])
        try:
            recorded = schema.read_meta(conn)
            outdated = "terms" in recorded and signature.items() - recorded.items()
            if not outdated:
                with schema.transaction(conn):
                    schema.set_meta(conn, signature)
                    if fresh:
                        schema.set_meta(conn, {own_index.MARK: own_index.new_token(home)})
                index_words(SqliteWriter(conn), home, state)
        finally:
            conn.close()
        if outdated:
            state.degraded.append("the index was made by another version or with other settings, and was rebuilt")
            rebuild(home, state, _usable(embedder), signature)
    except schema.CORRUPTION_ERRORS as error:
        aside = schema.set_aside(home.index)
        state.degraded.append(f"the index was damaged ({error}). It is now {aside.name}, and the index was rebuilt")
        state.changes, state.skipped = Changes(), []
        rebuild(home, state, _usable(embedder), signature)


def _finish(
    home: Home, state: SyncState, embedder: Embedder | NoEmbedder | None, limit: int | None, start: float
) -> SyncReport:
    """Run the second half of a sync: vectors and windows. Return the report."""
    conn, _ = schema.open_writer(home.index, state.timeout_ms)
    try:
        if isinstance(embedder, NoEmbedder):
            state.degraded.append(embedder.reason)
        elif embedder is not None:
            embed_pending(SqliteWriter(conn), state, embedder, limit)
        make_windows(SqliteWriter(conn))
        pending = passage_store.count_pending(conn)
        total = schema.value(conn, "SELECT count(*) FROM passages")
    finally:
        conn.close()
    return replace(_report(state, pending, start), passages=total)


def pending_notice(pending: int) -> tuple[str, ...]:
    """Return the line of a report about passages without a vector, or nothing when there are none."""
    return (f"{pending} passages wait for vectors. Run `memory sync`",) if pending else ()


def _report(state: SyncState, pending: int, start: float) -> SyncReport:
    return SyncReport(
        added=state.changes.added,
        changed=state.changes.changed,
        removed=state.changes.removed,
        embedded=state.embedded,
        pending=pending,
        seconds=time.perf_counter() - start,
        skipped=tuple(state.skipped),
        degraded=(*state.degraded, *pending_notice(pending)),
    )


def _state(home: Home, settings: RecallSettings, found: Mapping[str, tuple[int, int]]) -> tuple[bool, int]:
    """Return whether the index has every file as it was *found*, and the number of pending passages.

    Raises:
        IndexBusy: another program holds the index locked.
    """
    index = home.index
    try:
        with own_index.reading_own(home, index) as conn:
            if conn is None or damage.is_marked(index):
                return False, 0
            pending = passage_store.count_pending(conn)
            if index_signature(home, settings).items() - schema.read_meta(conn).items():
                return False, pending
            known = passage_store.file_statuses(conn)
    except schema.IndexBusy:
        raise
    except (schema.IndexCorrupt, *schema.CORRUPTION_ERRORS):
        return False, 0
    return known == found, pending


def _pending(home: Home) -> int:
    """Return the number of pending passages of an index that was written just now, or 0 if it cannot be read."""
    try:
        conn = own_index.open_own(home)
        if conn is None:
            return 0
        try:
            return passage_store.count_pending(conn)
        finally:
            conn.close()
    except (schema.IndexBusy, schema.IndexCorrupt, *schema.CORRUPTION_ERRORS):
        return 0


def _usable(embedder: Embedder | NoEmbedder | None) -> Embedder | None:
    return None if isinstance(embedder, NoEmbedder) else embedder


def _ignore_progress(what: str, done: int, total: int) -> None:
    """Ignore progress."""
