"""Read statements worth keeping from exchanges of a namespace, by the readers that close the sessions of a home.

Every sentence that states something is read, and not only those that would earn an entry in a home: nobody reads the
whole of a namespace, and a search finds what is worth little elsewhere. The reader's probability is the importance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent_home.store.transcript import Message
from recall.embedding.embedder import Embedder
from recall.namespaces.chat_log import LoggedExchange
from recall.namespaces.settings import NamespaceSettings
from recall.namespaces.words import context_words

from ..entries.withheld import is_empty_without
from ..reading.bare_corrections import settle_turns
from ..reading.classifier import SentenceReader
from ..reading.labels import ItemKind
from ..statements.standalone import split_speaker
from ..summary.extraction import Item, summarise
from ..summary.marked_memory import read_marked
from ..summary.requests import with_requests
from ..summary.selection import add_facts
from ..summary.settled_items import with_settled_items
from ..summary.standalone_items import tell_items_to

__all__ = ["ReadStatement", "read_statements"]

#: More than all sentences of a conversation take.
_EVERY_SENTENCE, _MOST_SENTENCES = 100.0, 100_000
#: Authors whose side of an exchange is somebody's words. The others' is data.
_SPEAKERS = ("user", "participant")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadStatement:
    """A statement, told so that it stands alone.

    *category* is the kind of the item, *role* and *source* are those of its speaker. *messages* are numbers of
    exchanges, the first one that says it first. *around* are stems of words of its turn, and of the turn before it.
    """

    text: str
    category: ItemKind
    importance: float
    role: str
    source: str
    session: str
    said: datetime
    messages: tuple[int, ...]
    around: tuple[str, ...] = ()


def read_statements(
    exchanges: Sequence[LoggedExchange],
    before: Sequence[LoggedExchange],
    *,
    settings: NamespaceSettings,
    embedder: Embedder | None,
    now: datetime,
) -> list[ReadStatement]:
    """Return the statements of *exchanges*, all of one session, in the order of the conversation.

    *before* are earlier exchanges of the session, which an answer or a correction may refer to.
    """
    now = now.astimezone(exchanges[-1].said.tzinfo)  # "yesterday" is counted where it was said
    turns = {message.source: exchange for exchange in (*before, *exchanges) for message in _turns(exchange, settings)}
    earlier = [message for exchange in before for message in _turns(exchange, settings)]
    said = [message for exchange in exchanges for message in _turns(exchange, settings)]
    marked = read_marked(said)
    settled = settle_turns(marked.messages, earlier, {})
    messages = settled.messages
    summary = summarise(messages, earlier, embedder=embedder)
    summary = add_facts(summary, messages, share=_EVERY_SENTENCE, max_items=_MOST_SENTENCES)
    summary = tell_items_to("", with_requests(summary, messages), messages, earlier, now)
    summary = marked.added_to(with_settled_items(summary, settled, marked.messages, now))
    reader = SentenceReader(embedder)
    texts = _turns_before([*earlier, *said])
    found = [_statement(item, worth, turns, texts) for item, worth in _with_importance(summary.items, messages, reader)]
    fresh = {exchange.id for exchange in exchanges}
    kept = [
        statement
        for statement in found
        if statement is not None and fresh.intersection(statement.messages) and not is_empty_without(statement.text)
    ]
    important = [one for one in _without_told(kept) if one.importance >= settings.least_importance]
    return _most_important(important, settings.side_statements)


def _turns(exchange: LoggedExchange, settings: NamespaceSettings) -> Iterator[Message]:
    """Yield the sides of an exchange as turns. What a tool or a page says is the turn of a tool."""
    for side, text, role, name in (
        ("u", exchange.user_input, "user" if exchange.source in _SPEAKERS else "tool", exchange.user_name),
        ("a", exchange.ai_output, "assistant", exchange.agent_name),
    ):
        if text.strip():
            yield Message(
                session=exchange.session, id=f"{exchange.id}{side}", ts=exchange.said.isoformat(), role=role, name=name,
                content=text[: settings.read_chars],
            )  # fmt: skip


def _with_importance(
    items: Iterable[Item], messages: Sequence[Message], reader: SentenceReader
) -> Iterator[tuple[Item, float]]:
    """Yield each item that stands, with its importance: the reader's probability that it is worth keeping.

    What a speaker marks on purpose, and what an accepted request asks to remember, has importance 1.
    """
    previous: dict[str, str] = {}
    last = {"user": "", "assistant": ""}
    for message in messages:
        previous[message.source] = last["assistant" if message.role == "user" else "user"]
        last[message.role] = message.content
    standing = [item for item in items if not (item.corrected or item.doubt)]
    rows = [(item.text, previous.get(item.sources[0], ""), item.role) for item in standing]
    reader.prepare(rows)
    for item, row in zip(standing, rows, strict=True):
        yield item, 1.0 if item.marked or item.read else reader.read(*row).keep


def _turns_before(messages: Sequence[Message]) -> dict[str, str]:
    """Return each turn behind the turn before it, by its address."""
    before = ["", *(message.content for message in messages)]
    return {message.source: f"{text}\n{message.content}" for text, message in zip(before, messages, strict=False)}


def _statement(
    item: Item, importance: float, turns: dict[str, LoggedExchange], texts: dict[str, str]
) -> ReadStatement | None:
    exchanges = [turns[source] for source in (*item.said_in, *item.sources, *item.context) if source in turns]
    if not exchanges:
        return None
    first = exchanges[0]
    return ReadStatement(
        text=item.told, category=item.kind, importance=min(1.0, max(0.0, importance)), role=item.role,
        source=first.source if item.role == "user" else "agent", session=first.session,
        said=max(exchange.said for exchange in exchanges),
        messages=tuple(dict.fromkeys(exchange.id for exchange in exchanges)),
        around=tuple(context_words(texts.get(item.sources[0], ""))),
    )  # fmt: skip


def _without_told(statements: Sequence[ReadStatement]) -> list[ReadStatement]:
    """Return *statements* without the sentences before their own one that are statements by themselves."""
    kept: list[ReadStatement] = []
    for place, one in enumerate(statements):
        words = split_speaker(one.text)[1]
        head = one.text[: len(one.text) - len(words)]
        others = [other for at, other in enumerate(statements) if at != place and other.messages[0] == one.messages[0]]
        for other in others:
            said = split_speaker(other.text)[1]
            if words.startswith(said) and len(words) > len(said):
                words = words[len(said) :].lstrip()
        kept.append(replace(one, text=f"{head}{words}"))
    return kept


def _most_important(statements: Sequence[ReadStatement], most: int) -> list[ReadStatement]:
    """Return the *most* important statements of each side of an exchange, in their order."""
    sides: dict[tuple[int, str], list[ReadStatement]] = {}
    for one in statements:
        sides.setdefault((one.messages[0], one.role), []).append(one)
    left_out = {
        id(one) for side in sides.values() for one in sorted(side, key=lambda one: -one.importance)[most:]
    }  # fmt: skip
    return [one for one in statements if id(one) not in left_out]
