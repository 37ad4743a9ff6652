"""Keep a home's index up to date beside other work, with the model that its settings name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_home.home import Home
    from recall.embedding.embedder import Embedder, NoEmbedder

__all__ = ["MAX_VECTORS", "home_embedder", "index_changes"]

#: Most vectors that another command computes along the way, in some two seconds. More wait for `memory sync`.
MAX_VECTORS = 1000


def index_changes(
    home: Home,
    progress: Callable[[str], None],
    meter: Callable[[str, int, int], None] | None = None,
    *,
    most: int | None = None,
) -> list[str]:
    """Index the files that have just been written: words at once, and vectors if they are few.

    *most* is the largest number of vectors, ``MAX_VECTORS`` unless it is given.

    Return problems in lines, so that the work itself does not fail. *progress* gets a line when a model is built,
    and *meter* what the index is doing, how much of it is done, and of how much.
    """
    from agent_home.errors import Locked
    from recall.embedding.model import EmbeddingSettings
    from recall.errors import RecallError
    from recall.index.sync import ensure_fresh
    from recall.index.sync import sync as bring_up
    from recall.settings import RecallSettings

    settings = home.manifest.settings("recall", RecallSettings)
    report = ensure_fresh(home, settings, None)
    wanted = home.manifest.settings("embedding", EmbeddingSettings).enabled
    if not wanted or not 0 < report.pending <= (MAX_VECTORS if most is None else most):
        return list(report.degraded)
    try:
        embedder = home_embedder(home, progress, build_missing=True)
        return list(bring_up(home, settings, embedder, progress=meter).degraded)
    except (RecallError, Locked) as error:
        return [str(error)]


def home_embedder(home: Home, progress: Callable[[str], None], *, build_missing: bool) -> Embedder | NoEmbedder:
    """Open the model that the home's settings name. With *build_missing*, build it in the cache if it is missing."""
    from recall.embedding.embedder import open_embedder
    from recall.embedding.model import EmbeddingSettings

    settings = home.manifest.settings("embedding", EmbeddingSettings)
    return open_embedder(settings, build_missing=build_missing, progress=progress)
