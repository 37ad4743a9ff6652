"""The summary that a closing writes: extracted by cues, filled up by selection, reworded if a model is configured.

Models come from outside, because loading one is slow and a key is the interface's to read. None of them can make a
summary fail: what they could not do is said in a line.
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
    """What may help. *embedder* is called when vectors are wanted and gives the same one each time."""

    embedder: Callable[[], Embedder | NoEmbedder] | None = None
    endpoint: Endpoint | None = None


NO_MODELS = Models()


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """A summary, how many of its lines a language model *reworded*, and what it could not do in *problem*."""

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
    """The summary of *messages*; *before* are the session's earlier ones."""
    found = summarise(messages, before, max_topics=settings.max_topics)
    if settings.log_share:
        opened = models.embedder() if models.embedder else None
        embedder = None if isinstance(opened, NoEmbedder) else opened
        found = add_facts(found, messages, share=settings.log_share, max_items=settings.max_items, embedder=embedder)
    if models.endpoint is None:
        return Composition(summary=found)
    done = reword(home, found, messages, models.endpoint, now)
    return Composition(summary=done.summary, reworded=done.changed, problem=done.problem)
