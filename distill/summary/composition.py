"""Composition of a closing's summary: extraction by cues, selection of facts, then rewording by a configured model.

The caller passes the models in, because loading one is slow and only an interface reads keys. No model can make a
summary fail. A line of :class:`Composition` reports the work that a model could not do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_home.home import Home
from agent_home.store.transcript import Message
from recall.embedding.embedder import Embedder, NoEmbedder

from ..language_model.endpoint import Endpoint
from ..settings import DistillSettings
from .extraction import Summary, summarise
from .rewording import reword
from .selection import add_facts

__all__ = ["NO_MODELS", "Composition", "Models", "compose"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Optional models. *embedder* loads the embedding model at its first call and returns the same one each time."""

    embedder: Callable[[], Embedder | NoEmbedder] | None = None
    endpoint: Endpoint | None = None

    def loaded_embedder(self) -> Embedder | None:
        """Return the embedding model, or ``None`` where there is none."""
        loaded = self.embedder() if self.embedder else None
        return None if isinstance(loaded, NoEmbedder) else loaded


NO_MODELS = Models()


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """A summary and how many of its lines a language model *reworded*. *problem* names the work that it failed at."""

    summary: Summary
    reworded: int = 0
    problem: str = ""


def compose(
    home: Home,
    messages: Sequence[Message],
    before: Sequence[Message],
    *,
    settings: DistillSettings,
    models: Models,
    now: datetime,
) -> Composition:
    """Summarise *messages*. *before* are the session's earlier messages."""
    summary = summarise(messages, before, max_topics=settings.max_topics)
    if settings.log_share:
        summary = add_facts(
            summary, messages, share=settings.log_share, max_items=settings.max_items,
            embedder=models.loaded_embedder(),
        )  # fmt: skip
    if models.endpoint is None:
        return Composition(summary=summary)
    done = reword(home, summary, messages, models.endpoint, now)
    return Composition(summary=done.summary, reworded=done.changed, problem=done.problem)
