"""Composition of a closing's summary from three sources, in this order of trust.

First what a speaker marked on purpose, then what a configured model read, and only without its answer what rules
extract. Each item also gets a text that stands alone. The caller passes the models in, because loading one is slow and
only an interface reads keys. No model can make a summary fail. A line of :class:`Composition` reports the work that a
model could not do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent_home.home import Home
from agent_home.store.transcript import Message
from recall.embedding.embedder import Embedder, NoEmbedder
from recall.text.identity import identity_key

from ..language_model.endpoint import Endpoint
from ..reading.bare_corrections import settle_turns
from ..reading.labels import parse_label, parse_request
from ..reading.model_gate import GatedEntry
from ..reading.model_reader import ModelReading, ModelUse, read_with_model
from ..settings import DistillSettings
from ..statements.sentences import prose_lines, split_sentences
from ..statements.topics import content_terms
from .extraction import Item, Summary, summarise
from .marked_memory import read_marked
from .reported_work import WorkEvidence
from .requests import with_requests
from .rewording import reword
from .selection import add_facts
from .settled_items import with_settled_items
from .standalone_items import tell_items

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
    """A summary and how many of its lines a language model *reworded*. *problem* names the work that it failed at.

    *use* is what the model read and cost, or ``None`` where none was asked. *unread* is true if the model should read
    the messages again, because it gave no answer for some of them. *work_problem* says why the model did not read the
    session's commits. *messages* are the turns as the rules read them.
    """

    summary: Summary
    messages: Sequence[Message] = ()
    reworded: int = 0
    problem: str = ""
    use: ModelUse | None = None
    unread: bool = False
    work_problem: str = ""

    @property
    def read(self) -> bool:
        """Return whether a model read all messages."""
        return self.use is not None and not self.unread

    def with_work(self, work: WorkEvidence, messages: Sequence[Message]) -> Composition:
        """Return the composition with the items and the costs of *work*, items in the order of *messages*."""
        use = self.use
        if work.reading.requests:
            use = use or ModelUse()
            use = replace(
                use, requests=use.requests + work.reading.requests, tokens=use.tokens + work.reading.tokens,
                confirmed=len(work.reading.evidence), dropped=(*use.dropped, *work.reading.refused),
            )  # fmt: skip
        place = {message.source: at for at, message in enumerate(messages)}
        items = sorted((*self.summary.items, *work.found), key=lambda item: place.get(item.sources[0], -1))
        summary = replace(self.summary, items=tuple(items)) if work.found else self.summary
        return replace(self, summary=summary, use=use, work_problem=work.reading.problem)


def compose(
    home: Home,
    messages: Sequence[Message],
    before: Sequence[Message],
    *,
    settings: DistillSettings,
    models: Models,
    now: datetime,
    statements: Mapping[str, str] | None = None,
) -> Composition:
    """Summarise *messages*. *before* are the session's earlier messages, and *statements* those of live entries by id.

    A model reads the words as they were said. The rules read them with the user's corrections settled. What the agent
    marks as memory is taken as it stands.
    """
    marked = read_marked(messages)
    done = _composed(home, marked.messages, before, settings, models, now, statements or {})
    problem = "; ".join(filter(None, (done.problem, marked.problem)))
    return replace(done, summary=marked.added_to(done.summary), problem=problem)


def _composed(
    home: Home,
    messages: Sequence[Message],
    before: Sequence[Message],
    settings: DistillSettings,
    models: Models,
    now: datetime,
    statements: Mapping[str, str],
) -> Composition:
    said, settled = messages, settle_turns(messages, before, statements)
    messages = settled.messages
    embedder = models.loaded_embedder()
    summary = summarise(messages, before, max_topics=settings.max_topics, embedder=embedder)
    reading: ModelReading | None = None
    if models.endpoint is not None and models.endpoint.settings.task == "read":
        reading = read_with_model(home, said, before, models.endpoint, now, embedder)
        summary = _with_reading(summary, reading, messages)
    if settings.log_share:
        summary = add_facts(
            summary, messages, share=settings.log_share, max_items=settings.max_items,
            embedder=embedder,
        )  # fmt: skip
    summary = with_requests(summary, messages)
    if reading is not None:
        summary = tell_items(summary, messages, before, home, now)
        if not reading.complete:
            summary = with_settled_items(summary, settled, said, now)
        return Composition(
            summary=summary, messages=messages, problem=reading.problem, use=reading.use, unread=not reading.complete
        )
    if models.endpoint is None:
        told = with_settled_items(tell_items(summary, messages, before, home, now), settled, said, now)
        return Composition(summary=told, messages=messages)
    done = reword(home, summary, messages, models.endpoint, now)
    told = with_settled_items(tell_items(done.summary, messages, before, home, now), settled, said, now)
    return Composition(summary=told, messages=messages, reworded=done.changed, problem=done.problem)


def _with_reading(summary: Summary, reading: ModelReading, messages: Sequence[Message]) -> Summary:
    """Return *summary* with the items and operations of the model's *reading*.

    Of the items that rules extracted, only those stay that a speaker marked on purpose. Without a complete reading all
    of them stay. An item that the model states as well is left out.
    """
    read = [_item(entry) for entry in reading.entries]
    kept = summary.items if not reading.complete else [
        item for item in summary.items if _on_purpose(item, messages)
    ]  # fmt: skip
    items = [item for item in kept if not any(_say_the_same(item, other) for other in read)]
    place = {message.source: at for at, message in enumerate(messages)}
    items = sorted(
        [*items, *(item for item in read if not item.doubt)], key=lambda item: place.get(item.sources[0], -1)
    )
    return replace(
        summary, items=tuple(items), doubted=tuple(item for item in read if item.doubt),
        operations=(*summary.operations, *reading.operations),
    )  # fmt: skip


def _item(entry: GatedEntry) -> Item:
    return Item(
        kind=entry.kind, text=entry.text, sources=entry.sources, role=entry.role, ts=entry.ts, doubt=entry.doubt,
        read=True,
    )  # fmt: skip


def _on_purpose(item: Item, messages: Sequence[Message]) -> bool:
    """Return whether a labelled line or a request to remember in a turn of *item* holds its words."""
    turns = [message for message in messages if message.source in item.sources]
    lines = [line.text for turn in turns for line in prose_lines(turn.content)]
    words = identity_key(item.text)
    return any(
        words in identity_key(part) and (parse_label(part) is not None or parse_request(part) is not None)
        for line in lines
        for part in (line, *split_sentences(line))
    )


def _say_the_same(item: Item, other: Item) -> bool:
    """Return whether both cite a common turn and share most of their terms."""
    if not set(item.sources) & set(other.sources):
        return False
    mine, theirs = ({term.casefold() for term in content_terms(text)} for text in (item.text, other.text))
    return len(mine & theirs) * 2 >= min(len(mine), len(theirs)) > 0
