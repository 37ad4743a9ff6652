"""Moves of an index between the file of a home and PostgreSQL, with counts and checksums.

The files of the home are the truth, so the target is built from them. Vectors are copied, because computing them takes
longest. The home uses its old index until both sides have the same counts and checksums. A move that was killed goes on
where it stopped.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from agent_home.home import Home

from ..errors import RecallError
from ..postgres.connections import connection
from ..postgres.storable_text import storable_text
from ..servers import database_url
from ..settings import RecallSettings
from ..text.terms import VERSION
from .embedding_queue import make_windows
from .ingest import Progress, SyncState, index_words
from .passage import WINDOW_NEIGHBOURS
from .postgresql.store import PostgresqlStore, live_generation, new_generation, origin_of
from .postgresql.sync import remove_namespace
from .postgresql.tables import require_tables
from .postgresql.writer import PostgresqlWriter
from .sqlite import own_index, schema
from .sqlite.writer import SqliteWriter
from .store_choice import choose_namespace, chosen_namespace, end_moving, moving_namespace, set_moving
from .sync import sync, sync_lock
from .verification import index_signature
from .writer import IndexWriter

__all__ = [
    "STORES",
    "IndexCounts",
    "IndexMove",
    "MoveDiffers",
    "StoreName",
    "abandon_database",
    "index_counts",
    "move_index",
]

StoreName = Literal["sqlite", "postgresql"]
STORES: tuple[StoreName, ...] = get_args(StoreName)
#: How often both sides are brought up to the files before they must agree.
_TRIES = 3
#: Passages whose vectors are copied in one transaction.
_BATCH = 1_000


class MoveDiffers(RecallError):
    """The new index is not the old one. The home goes on with the old one."""

    def __init__(self, old: IndexCounts, new: IndexCounts) -> None:
        super().__init__(
            f"the new index has {new.passages} passages and {new.vectors} vectors (checksum {new.sha256[:12]}), "
            f"the old one {old.passages} and {old.vectors} ({old.sha256[:12]}). The old one stays in use. "
            "Run `memory index verify`, then `memory stores migrate` again"
        )
        self.old, self.new = old, new


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCounts:
    """Numbers of files, passages and vectors of an index, and a checksum of its passages and vectors."""

    files: int
    passages: int
    vectors: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexMove:
    """Result of a move. *counts* are those of both sides. *copied* counts vectors that were not computed again."""

    source: StoreName
    target: StoreName
    namespace: str
    counts: IndexCounts
    copied: int
    seconds: float


class _Movable(IndexWriter, Protocol):
    """A writer whose rows can be compared and copied."""

    def rows_in_order(self) -> Iterable[tuple[str, int, bytes, bytes, bytes | None]]:
        """Yield address, part, digest of text, digest of meaning and vector of every passage, in order."""

    def pending_digests(self, ids: Sequence[int]) -> Sequence[tuple[int, int, bytes]]:
        """Return ``(id, layer, digest of meaning)`` for those of *ids* that have no vector yet."""

    def vectors_of(self, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the stored vectors of texts by the digest of their meaning."""

    def store_quantized(self, rows: Sequence[tuple[int, int]], blobs: Sequence[bytes], reach: int) -> None:
        """Store vectors that have eight bits a coordinate."""


def move_index(
    home: Home, settings: RecallSettings, target: StoreName, *, progress: Progress | None = None
) -> IndexMove:
    """Move the index of *home* to *target*, and let this machine use it there. Moving it where it is changes nothing.

    Raises:
        MoveDiffers: both sides do not agree. The old index stays in use.
        Locked, NamespaceBusy: another process writes the index.
        ServerUnavailable, NoServer, DatabaseFailed: PostgreSQL does not answer.
    """
    start = time.perf_counter()
    say = progress or (lambda _what, _done, _total: None)
    while (done := _move(home, settings, target, say, start)) is None:
        pass  # another process moved it meanwhile
    return done


def _move(home: Home, settings: RecallSettings, target: StoreName, say: Progress, start: float) -> IndexMove | None:
    """Move the index, or return ``None`` if the choice of the store changed before this process had the lock."""
    namespace = chosen_namespace(home)
    source: StoreName = "postgresql" if namespace else "sqlite"
    sync(home, settings, None, progress=say)  # so that both sides have the files as they are
    if source == target:
        return _unmoved(home, settings, source, namespace, start)
    with sync_lock(home, settings.sync_timeout_s):
        if chosen_namespace(home) != namespace:
            return None
        namespace = namespace or moving_namespace(home) or uuid.uuid4().hex
        with _both(home, namespace, settings) as (in_file, in_database):
            old, new = (in_file, in_database) if target == "postgresql" else (in_database, in_file)
            counts, copied = _fill(home, settings, old, new, say)
            choose_namespace(home, namespace if target == "postgresql" else "")
        _remove_left(home, settings, target)
    return IndexMove(
        source=source, target=target, namespace=namespace, counts=counts, copied=copied,
        seconds=time.perf_counter() - start,
    )  # fmt: skip


def _fill(home: Home, settings: RecallSettings, old: _Movable, new: _Movable, say: Progress) -> tuple[IndexCounts, int]:
    """Fill *new* from the files and from the vectors of *old*. Return the counts of both, and the number of copies.

    People and agents write files meanwhile, so both are brought up to them until they agree.

    Raises:
        MoveDiffers: they do not.
    """
    copied = 0
    for _ in range(_TRIES):
        for writer in (new, old):
            index_words(writer, home, SyncState(settings=settings, progress=say))
        _copy_vectors(old, old, lambda *_: None)  # a passage that waits may say the same as one with a vector
        copied += _copy_vectors(old, new, say)
        for writer in (old, new):
            make_windows(writer)
        counts = _counts(old), _counts(new)
        if counts[0] == counts[1]:
            return counts[1], copied
    raise MoveDiffers(*counts)


def _remove_left(home: Home, settings: RecallSettings, store: StoreName) -> None:
    """Remove what moves left beside *store*, which the home uses. The caller holds the lock of the home's index."""
    if store == "postgresql":
        schema.remove(home.index)
    elif namespace := moving_namespace(home):
        remove_namespace(PostgresqlStore(namespace), settings.sync_timeout_s)
    end_moving(home)


def abandon_database(home: Home, settings: RecallSettings, *, progress: Progress | None = None) -> IndexCounts:
    """Let the index of *home* be in its file again, built from the files alone. The database is not asked.

    Its rows stay there until somebody deletes them.

    Raises:
        Locked, IndexUnusable: as for :func:`recall.index.sync.sync`.
    """
    choose_namespace(home, "")
    end_moving(home)
    sync(home, settings, None, progress=progress)
    return index_counts(home) or IndexCounts(files=0, passages=0, vectors=0, sha256="")


def index_counts(home: Home) -> IndexCounts | None:
    """Return the counts of the home's index, or ``None`` where there is none. They read every row.

    Raises:
        ServerUnavailable, NoServer, DatabaseFailed: PostgreSQL does not answer.
    """
    if namespace := chosen_namespace(home):
        with connection(database_url()) as conn:
            require_tables(conn)
            conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            live = live_generation(conn, namespace)
            return None if live is None else _counts(PostgresqlWriter(conn, live.id))
    file = own_index.open_own_or_none(home)
    if file is None:
        return None
    try:
        return _counts(SqliteWriter(file))
    finally:
        file.close()


def _unmoved(home: Home, settings: RecallSettings, store: StoreName, namespace: str, start: float) -> IndexMove | None:
    with sync_lock(home, settings.sync_timeout_s):
        if chosen_namespace(home) != namespace:
            return None
        _remove_left(home, settings, store)
    counts = index_counts(home) or IndexCounts(files=0, passages=0, vectors=0, sha256="")
    return IndexMove(
        source=store, target=store, namespace=namespace, counts=counts, copied=0, seconds=time.perf_counter() - start
    )


@contextmanager
def _both(home: Home, namespace: str, settings: RecallSettings) -> Iterator[tuple[SqliteWriter, PostgresqlWriter]]:
    """Hold writers of the file and of the namespace. One that is new gets the signature of an index."""
    signature = index_signature(home, settings)
    conn, _ = schema.open_writer(home.index)
    try:
        in_file = SqliteWriter(conn)
        if "terms" not in in_file.description():
            with in_file.transaction():
                in_file.describe({**signature, own_index.MARK: own_index.own_token(home) or own_index.new_token(home)})
        with PostgresqlStore(namespace).writing(settings.sync_timeout_s) as remote:
            set_moving(home, namespace)  # not before the server answered, because the record is for its rows
            live = live_generation(remote, namespace)
            if live is not None:
                in_database = PostgresqlWriter(remote, live.id)
            else:
                in_database = new_generation(remote, namespace, live=True)
            if in_database.description().get("terms") != VERSION:
                with in_database.transaction():
                    in_database.describe({**signature, **origin_of(home)})
            yield in_file, in_database
    finally:
        conn.close()


def _copy_vectors(old: _Movable, new: _Movable, progress: Callable[[str, int, int], None]) -> int:
    """Copy the vectors of equal texts from *old* to passages of *new* without one. Return their number."""
    recorded = old.description()
    if "model" not in recorded:
        return 0
    if "model" not in new.description():
        with new.transaction():
            new.describe_vectors(recorded["model"], recorded["fingerprint"], int(recorded["dimension"]))
    ids = new.pending_ids()
    copied = 0
    for at in range(0, len(ids), _BATCH):
        rows = new.pending_digests(ids[at : at + _BATCH])
        known = old.vectors_of([digest for _, _, digest in rows])
        found = [(ident, layer, known[digest]) for ident, layer, digest in rows if digest in known]
        with new.transaction():
            new.store_quantized(
                [(ident, layer) for ident, layer, _ in found], [blob for *_, blob in found], WINDOW_NEIGHBOURS
            )
        copied += len(found)
        progress("vectors", min(at + _BATCH, len(ids)), len(ids))
    return copied


def _counts(writer: _Movable) -> IndexCounts:
    total, passages, vectors = 0, 0, 0
    for source, part, content, meaning, blob in writer.rows_in_order():
        passages += 1
        vectors += blob is not None
        row = b"\0".join((storable_text(source).encode(), str(part).encode(), content, meaning, blob or b""))
        total += int.from_bytes(hashlib.sha256(row).digest())  # a sum, because the stores order zero characters apart
    files = len(writer.file_statuses())
    return IndexCounts(files=files, passages=passages, vectors=vectors, sha256=f"{total % (1 << 256):064x}")
