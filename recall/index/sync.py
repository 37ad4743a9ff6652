"""Bring the index up to the files, in small steps, each of which leaves it consistent.

Words first: a changed file's passages and postings go in one transaction with the file's hash, so that a killed sync
has done a file wholly or not at all (``recall.index.ingest``). Vectors follow, and can stop anywhere
(``recall.index.embedding_queue``).

One sync at a time; a second one waits. Searches never wait: they read the last committed state.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from agent_home.errors import Locked
from agent_home.home import Home
from agent_home.lock import hold
from agent_home.screening.ruleset import guard_signature

from ..embedding.embedder import Embedder, NoEmbedder
from ..errors import IndexStale, IndexUnusable
from ..settings import RecallSettings
from ..text.terms import VERSION
from . import passage_store, schema
from .embedding_queue import embed_pending, make_windows
from .file_scan import scan
from .ingest import Progress, SyncState, index_words
from .passage import passage_signature
from .rebuild import rebuild

__all__ = ["SyncReport", "ensure_fresh", "pending_notice", "reindex", "sync", "sync_lock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What a sync did, counted in passages. *pending* still wait for a vector.

    *skipped* names files or lines that could not be read, *degraded* what else is not as it should be, with the
    command that mends it.
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


def sync(
    home: Home,
    settings: RecallSettings,
    embedder: Embedder | NoEmbedder | None,
    *,
    progress: Progress | None = None,
    embed_limit: int | None = None,
) -> SyncReport:
    """Index what changed since the last sync. Without an embedder only the words are indexed.

    *embed_limit* is the largest number of passages to embed; ``None`` means all.

    Raises:
        Locked: another sync was not done within ``settings.sync_timeout_s``.
        IndexStale: the index holds another model's vectors; the words are up to date nevertheless.
        IndexUnusable: no index can be opened or made.
    """
    with sync_lock(home, settings.sync_timeout_s):
        work = SyncState(settings=settings, progress=progress or _ignore_progress)
        start = time.perf_counter()
        _index_files(home, work, embedder)
        return _finish(home, work, embedder, embed_limit, start)


def reindex(
    home: Home,
    settings: RecallSettings,
    embedder: Embedder | NoEmbedder | None,
    *,
    progress: Progress | None = None,
) -> SyncReport:
    """Build a new index from the files alone and put it in the old one's place in one step.

    Vectors of unchanged texts are taken over when the model is the same. Searches see the old index until the new
    one's words are complete; vectors that have to be made follow after that, resumably.

    Raises:
        Locked, IndexUnusable: as for :func:`sync`.
    """
    with sync_lock(home, settings.sync_timeout_s):
        work = SyncState(settings=settings, progress=progress or _ignore_progress)
        start = time.perf_counter()
        rebuild(home, work, _usable(embedder), _signature(home, settings))
        return _finish(home, work, embedder, None, start)


def ensure_fresh(home: Home, settings: RecallSettings, embedder: Embedder | NoEmbedder | None) -> SyncReport:
    """What a search does first: notice changed files and index their words; embed a handful of passages.

    Costs one stat for each file when nothing changed. Never waits for another sync and never raises for the state of
    the index: what is not as it should be is in ``degraded``.
    """
    start = time.perf_counter()
    work = SyncState(settings=settings, progress=_ignore_progress)
    usable = _usable(embedder)
    total = 0
    try:
        fresh, pending = _state(home, settings)
        few = usable is not None and 0 < pending <= settings.fresh_embeddings
        if not fresh or few:
            with sync_lock(home, 0.0):
                if not fresh:
                    _index_files(home, work, None)
                    _, pending = _state(home, settings)
                # More than a handful would keep the asker waiting, and again at the next question.
                few = pending <= settings.fresh_embeddings
                done = _finish(home, work, usable if few else None, settings.fresh_embeddings, start)
                pending, total = done.pending, done.passages
    except Locked:
        work.degraded.append("another sync is running; what changed last may be missing")
        pending = 0
    except (IndexStale, IndexUnusable) as error:
        work.degraded.append(str(error))
        pending = 0
    except (OSError, *schema.UNAVAILABLE_ERRORS) as error:
        work.degraded.append(f"the index cannot be brought up to the files now ({error})")
        pending = 0
    report = replace(_report(work, pending, start), passages=total)
    if usable is None:  # who searches by words alone is not told that vectors are missing
        return replace(report, degraded=tuple(work.degraded))
    return report


@contextmanager
def sync_lock(home: Home, timeout_s: float) -> Iterator[None]:
    """Hold the right to write the index.

    Raises:
        Locked: somebody else had it for longer than *timeout_s* seconds.
    """
    with hold(home.machine / "sync.lock", timeout_s):
        yield


def _index_files(home: Home, work: SyncState, embedder: Embedder | NoEmbedder | None) -> None:
    """The first half of every sync. A damaged index, or one that was cut otherwise, is built anew."""
    signature = _signature(home, work.settings)
    try:
        conn, note = schema.open_writer(home.index)
        if note:
            work.degraded.append(note)
        try:
            recorded = schema.read_meta(conn)
            outdated = "terms" in recorded and signature.items() - recorded.items()
            if not outdated:
                with schema.transaction(conn):
                    schema.set_meta(conn, signature)
                index_words(conn, home, work)
        finally:
            conn.close()
        if outdated:
            work.degraded.append("the index was made by another version or with other settings and was built anew")
            rebuild(home, work, _usable(embedder), signature)
    except schema.CORRUPTION_ERRORS as error:
        aside = schema.set_aside(home.index)
        work.degraded.append(f"the index was damaged ({error}); it is now {aside.name} and was built anew")
        work.changes, work.skipped = passage_store.Changes(), []
        rebuild(home, work, _usable(embedder), signature)


def _finish(
    home: Home, work: SyncState, embedder: Embedder | NoEmbedder | None, limit: int | None, start: float
) -> SyncReport:
    """The second half of every sync: vectors, windows, and the report."""
    conn, _ = schema.open_writer(home.index)
    try:
        if isinstance(embedder, NoEmbedder):
            work.degraded.append(embedder.reason)
        elif embedder is not None:
            embed_pending(conn, work, embedder, limit)
        make_windows(conn)
        pending = passage_store.count_pending(conn)
        total = schema.value(conn, "SELECT count(*) FROM passages")
    finally:
        conn.close()
    return replace(_report(work, pending, start), passages=total)


def pending_notice(pending: int) -> tuple[str, ...]:
    """What a report says about passages without a vector: one line, or none."""
    return (f"{pending} passages wait for vectors; run `memory sync`",) if pending else ()


def _report(work: SyncState, pending: int, start: float) -> SyncReport:
    return SyncReport(
        added=work.changes.added,
        changed=work.changes.changed,
        removed=work.changes.removed,
        embedded=work.embedded,
        pending=pending,
        seconds=time.perf_counter() - start,
        skipped=tuple(work.skipped),
        degraded=(*work.degraded, *pending_notice(pending)),
    )


def _state(home: Home, settings: RecallSettings) -> tuple[bool, int]:
    """Whether the index knows every file as it is, at one stat for each; and how many passages have no vector."""
    conn = schema.open_reader_or_none(home.index)
    if conn is None:
        return False, 0
    try:
        pending = passage_store.count_pending(conn)
        if _signature(home, settings).items() - schema.read_meta(conn).items():
            return False, pending
        known = conn.execute("SELECT path, mtime_ns, size FROM files").fetchall()
    except schema.CORRUPTION_ERRORS:
        return False, 0
    finally:
        conn.close()
    return {path: (mtime_ns, size) for path, mtime_ns, size in known} == scan(home), pending


def _usable(embedder: Embedder | NoEmbedder | None) -> Embedder | None:
    return None if isinstance(embedder, NoEmbedder) else embedder


def _signature(home: Home, settings: RecallSettings) -> Mapping[str, str]:
    """How texts are screened and cut into passages and words; rows made in another way cannot stand beside these."""
    return {"terms": VERSION, "cut": passage_signature(settings), "guard": guard_signature(home)}


def _ignore_progress(what: str, done: int, total: int) -> None:
    """Progress that nobody watches."""
