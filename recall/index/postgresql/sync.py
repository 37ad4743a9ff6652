"""Synchronisation of an index in PostgreSQL with the files of a home. See :mod:`recall.index.sync`.

The steps are those of an index in SQLite: words first, a file with its passages and its hash in one transaction, and
vectors afterwards. An index with another signature is built anew beside the old one, which answers until the new one
is complete.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from agent_home.errors import Locked
from agent_home.home import Home

from ...embedding.embedder import Embedder
from ...errors import IndexStale
from ...postgres.connections import Connection, DatabaseFailed, connection
from ...servers import NoServer, ServerUnavailable
from ..embedding_queue import embed_pending, make_windows, model_mismatch
from ..file_scan import scan
from ..ingest import SyncState, index_words
from ..passage import WINDOW_NEIGHBOURS
from .store import NamespaceBusy, PostgresqlStore, live_generation, new_generation, origin_of
from .tables import require_tables
from .writer import PostgresqlWriter

__all__ = ["freshen", "remove_namespace", "synchronise"]

#: Namespaces whose file list a process keeps.
_MOST_KEPT = 64
#: Seconds that a server has to say whether the index is fresh.
_LOOK_S = 5.0
#: By address and namespace: generation, version, files as indexed, signature, pending passages.
_State = tuple[int, int, dict[str, tuple[int, int]], dict[str, str], int]
_KEPT: OrderedDict[tuple[str, str], _State] = OrderedDict()
_KEPT_LOCK = threading.Lock()


def synchronise(
    home: Home,
    store: PostgresqlStore,
    state: SyncState,
    embedder: Embedder | None,
    signature: Mapping[str, str],
    *,
    limit: int | None = None,
    anew: bool = False,
    timeout_s: float,
) -> tuple[int, int]:
    """Bring the index of *home* up to its files, or build it *anew*. Return the numbers of pending and all passages.

    *limit* is the largest number of passages to embed. ``None`` means all.

    Raises:
        NamespaceBusy: another process writes the namespace.
        ServerUnavailable, NoServer, DatabaseFailed: the server does not answer, or answers with an error.
        IndexStale: the index holds another model's vectors. The words are up to date nevertheless.
    """
    with store.writing(timeout_s) as conn:
        _remove_generations(conn, store.namespace, live=False)
        writer = _writer(home, conn, store.namespace, state, signature, anew=anew, embedder=embedder)
        if embedder is not None:
            embed_pending(writer, state, embedder, limit)
        make_windows(writer)
        return writer.count_pending(), writer.count_passages()


def _writer(
    home: Home,
    conn: Connection,
    namespace: str,
    state: SyncState,
    signature: Mapping[str, str],
    *,
    anew: bool = False,
    embedder: Embedder | None = None,
) -> PostgresqlWriter:
    """Return a writer of the live generation, whose words are those of the files.

    One that is built *anew* keeps the vectors of unchanged texts if *embedder*'s model made them, or without one any.
    """
    live = live_generation(conn, namespace)
    if live is None:
        writer = new_generation(conn, namespace, live=True)
        with writer.transaction():
            writer.describe({**signature, **origin_of(home)})
    else:
        writer = PostgresqlWriter(conn, live.id)
    recorded = writer.description()
    outdated = bool(signature.items() - recorded.items())
    if not anew and not outdated:
        index_words(writer, home, state)
        return writer
    if not anew:
        state.degraded.append("the index was made by another version or with other settings, and was rebuilt")
    keep = "model" in recorded and (embedder is None or model_mismatch(recorded, embedder) is None)
    return _rebuilt(home, writer, namespace, state, signature, recorded if keep else {})


def _rebuilt(
    home: Home,
    old: PostgresqlWriter,
    namespace: str,
    state: SyncState,
    signature: Mapping[str, str],
    recorded: Mapping[str, str],
) -> PostgresqlWriter:
    """Fill a new generation from the files, with the vectors of unchanged texts. Remove the *old* one."""
    new = new_generation(old.conn, namespace, live=False)
    with new.transaction():
        new.describe({**signature, **origin_of(home)})
    index_words(new, home, state)
    with new.transaction():
        if "model" in recorded:
            new.describe_vectors(recorded["model"], recorded["fingerprint"], int(recorded["dimension"]))
            new.copy_vectors(old.generation, WINDOW_NEIGHBOURS)
        new.go_live()
    new.remove_generation(old.generation)
    return new


def remove_namespace(store: PostgresqlStore, timeout_s: float) -> None:
    """Remove every row of the namespace of *store*.

    Raises:
        NamespaceBusy: another process writes the namespace.
        ServerUnavailable, NoServer, DatabaseFailed: the server does not answer, or answers with an error.
    """
    with store.writing(timeout_s) as conn:
        _remove_generations(conn, store.namespace, live=True)
        _remove_generations(conn, store.namespace, live=False)


def _remove_generations(conn: Connection, namespace: str, *, live: bool) -> None:
    """Remove the *live* generation, or those that a killed rebuild left. The caller holds the lock of the namespace."""
    select = "SELECT id FROM index_generations WHERE namespace = %s AND live = %s"
    for (generation,) in conn.execute(select, (namespace, live)).fetchall():
        PostgresqlWriter(conn, generation).remove_generation(generation)


def freshen(
    home: Home,
    store: PostgresqlStore,
    state: SyncState,
    embedder: Embedder | None,
    signature: Mapping[str, str],
    lock: Callable[[], AbstractContextManager[None]],
) -> tuple[int, int]:
    """Index the words of changed files before a search, and embed a few passages. Return pending and all passages.

    The cost is one statement when nothing changed. *lock* keeps other processes of this machine out. Problems are in
    *state*, and nothing is raised.
    """
    most = state.settings.fresh_embeddings
    try:
        state.found = scan(home)
        fresh, pending, total = _is_fresh(store, state.found, signature)
        few = embedder is not None and 0 < pending <= most
        if fresh and not few:
            return pending, total
        with lock(), store.writing(0.0) as conn:
            writer = _writer(home, conn, store.namespace, state, signature)
            pending = writer.count_pending()
            if embedder is not None and 0 < pending <= most:
                embed_pending(writer, state, embedder, most)
            make_windows(writer)
            return writer.count_pending(), writer.count_passages()
    except (Locked, NamespaceBusy):
        state.degraded.append("another sync is running. The latest changes may be missing")
    except (ServerUnavailable, NoServer, DatabaseFailed, IndexStale) as error:
        state.degraded.append(str(error))
    except OSError as error:
        state.degraded.append(f"the index cannot be updated now ({error})")
    return 0, 0


def _is_fresh(
    store: PostgresqlStore, found: Mapping[str, tuple[int, int]], signature: Mapping[str, str]
) -> tuple[bool, int, int]:
    """Return whether the index has every file as it was *found*, and the numbers of pending and all passages."""
    key = store.url, store.namespace
    with connection(store.url, limit_s=_LOOK_S) as conn:
        require_tables(conn)
        live = live_generation(conn, store.namespace)
        if live is None:
            return False, 0, 0
        with _KEPT_LOCK:
            kept = _KEPT.get(key)
        if kept is None or kept[:2] != (live.id, live.version):
            writer = PostgresqlWriter(conn, live.id)
            kept = live.id, live.version, writer.file_statuses(), writer.description(), writer.count_pending()
            with _KEPT_LOCK:
                _KEPT[key] = kept
                _KEPT.move_to_end(key)
                while len(_KEPT) > _MOST_KEPT:
                    _KEPT.popitem(last=False)
    same = kept[2] == found and not signature.items() - kept[3].items()
    return same, kept[4], live.passages
