"""The queue of passages without a vector: the slow half of a sync, which can stop anywhere and resume there.

Texts are embedded outside any transaction. A passage without a vector is pending, whatever the reason. Nothing else
records the remaining work.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..embedding.embedder import Embedder
from ..errors import IndexStale
from .ingest import SyncState
from .passage import WINDOW_NEIGHBOURS
from .vector_math import METRIC, Vectors
from .writer import IndexWriter

__all__ = ["embed_pending", "make_windows", "model_mismatch", "require_model"]

#: Passages embedded between two writes: what a killed sync has to do again.
EMBEDDING_BATCH = 128


def embed_pending(writer: IndexWriter, state: SyncState, embedder: Embedder, limit: int | None) -> None:
    """Embed pending passages. A text that fails stays pending. After a batch that fails as a whole, stop."""
    require_model(writer, embedder)
    ids = writer.pending_ids()[:limit]
    step = EMBEDDING_BATCH
    for at in range(0, len(ids), step):
        rows = writer.pending_meanings(ids[at : at + step])
        good, vectors, problem = _embed_rows(embedder, rows)
        if good:
            with writer.transaction():
                writer.store_vectors(good, vectors, WINDOW_NEIGHBOURS)
        state.embedded += len(good)
        state.progress("vectors", min(at + step, len(ids)), len(ids))
        if problem:
            state.degraded.append(f"{len(rows) - len(good)} passages could not be embedded: {problem}")
        if rows and not good:
            return


def require_model(writer: IndexWriter, embedder: Embedder) -> None:
    """Record *embedder*'s model as the one of the index's vectors, or check that it is.

    Raises:
        IndexStale: another model made the vectors.
    """
    recorded = writer.description()
    if "model" not in recorded:
        with writer.transaction():
            writer.describe_vectors(embedder.name, embedder.fingerprint, embedder.dimension)
    elif error := model_mismatch(recorded, embedder):
        raise error


def model_mismatch(recorded: Mapping[str, str], embedder: Embedder) -> IndexStale | None:
    """Return the error to raise or report when the *recorded* vectors cannot be compared with *embedder*'s."""
    found = (recorded["fingerprint"], recorded["dimension"], recorded["metric"])
    wanted = (embedder.fingerprint, str(embedder.dimension), METRIC)
    if found == wanted:
        return None
    return IndexStale(*(f"{name} ({size} dimensions, {metric})" for name, size, metric in (found, wanted)))


def _embed_rows(embedder: Embedder, rows: list[tuple[int, int, str]]) -> tuple[list[tuple[int, int]], Vectors, str]:
    """Return ``(id, layer)`` of the rows that could be embedded, their vectors, and the problem with the others.

    After a failure each text is tried alone, so that one bad text does not block its batch.
    """
    try:
        vectors = embedder.embed([text for _, _, text in rows])
    except Exception as error:  # noqa: BLE001 - any model may fail on any text in its own way; the report says which
        if len(rows) <= 1:
            return [], np.empty((0, embedder.dimension), np.float32), str(error)
        singles = [_embed_rows(embedder, [row]) for row in rows]
        good = [ident for idents, _, _ in singles for ident in idents]
        return good, np.concatenate([single for _, single, _ in singles]), str(error)
    sound = np.isfinite(vectors).all(axis=1) & (np.abs(vectors).max(axis=1, initial=0.0) > 0)
    good = [(ident, layer) for (ident, layer, _), fine in zip(rows, sound, strict=True) if fine]
    return good, vectors[sound], "" if sound.all() else "the model gave no finite vector"


def make_windows(writer: IndexWriter) -> None:
    """Compute stale window vectors. Compute all binary vectors again when there are many more vectors than before."""
    if "model" not in writer.description():
        return
    made = 1
    while made:
        with writer.transaction():
            made = writer.refresh_windows(WINDOW_NEIGHBOURS)
    writer.finish_vectors()
