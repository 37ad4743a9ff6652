"""Own what the agent marks as memory in its turns (``distill.reading.memory_marks``): each line is an item.

The agent writes such lines on purpose, so they earn entries of the agent's own. No other rule reads them. A job prints
what pages and logs told it as well, so a person decides about rules, and about what only the owner says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from agent_home.store.transcript import Message

from ..reading.classifier import Act, likely_act
from ..reading.foreign_topics import is_owners_topic
from ..reading.labels import ItemKind, kind_of_request, parse_label
from ..reading.memory_marks import MarkedTooLarge, marked_lines, unmarked
from ..statements.dated_words import add_dates
from ..statements.sentences import shorten
from .extraction import Item, Summary

__all__ = ["MarkedMemory", "read_marked"]

#: Characters of a statement that are kept.
_MOST_CHARS = 2_000
_MOST_LABEL_WORDS = 3
_SPEAKERS = ("assistant", "user", "participant")
_KINDS: Mapping[Act, ItemKind] = {
    "preference": "preference", "decision": "decision", "lesson": "lesson", "thread": "open_thread", "fact": "fact",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedMemory:
    """The *items* that turns mark, and the *messages* without them. *problem* says why a turn's are not taken."""

    messages: Sequence[Message]
    items: tuple[Item, ...] = ()
    problem: str = ""

    def added_to(self, summary: Summary) -> Summary:
        """Return *summary* with the items, in the order of the conversation."""
        if not self.items:
            return summary
        place = {message.source: at for at, message in enumerate(self.messages)}
        sure = [item for item in self.items if not item.doubt]
        items = sorted((*summary.items, *sure), key=lambda item: place.get(item.sources[0], -1))
        doubted = (*summary.doubted, *(item for item in self.items if item.doubt))
        return replace(summary, items=tuple(items), doubted=doubted)


def read_marked(messages: Sequence[Message]) -> MarkedMemory:
    """Return what the agent marks as memory in *messages*, and the messages without it."""
    items: dict[str, Item] = {}
    rest, problem = [], ""
    for message in messages:
        content = unmarked(message.content) if message.role in _SPEAKERS else message.content
        rest.append(message if content == message.content else replace(message, content=content))
        if rest[-1] is message or message.role != "assistant":  # a person pasted what an agent printed
            continue
        try:
            items |= {item.text: item for item in _items(message) if item.text not in items}
        except MarkedTooLarge as error:
            problem = f"{message.source}: {error}"
    return MarkedMemory(messages=rest, items=tuple(items.values()), problem=problem)


def _items(message: Message) -> Iterator[Item]:
    for statement in list(marked_lines(message.content.split("\n"))):
        text = shorten(statement, _MOST_CHARS)
        kind = _kind(text)
        yield Item(
            kind=kind, text=text, sources=(message.source,), role=message.role, ts=message.ts,
            said_in=(message.source,), read=True, marked=True, standalone=_dated(text, message.ts),
            doubt=_doubt(kind, text),
        )  # fmt: skip


def _kind(text: str) -> ItemKind:
    """Return the kind that a label or the words of *text* give it, as those of a note do."""
    label = parse_label(text)
    if label and label.rest and not label.asked and label.kind not in {"conclusion", "deliverable"}:
        return label.kind
    kind = kind_of_request(text)
    return _KINDS[likely_act(text)] if kind == "fact" else kind


def _doubt(kind: ItemKind, text: str) -> str:
    """Return why a person decides about *text*, or nothing. Words before a colon ("Key insight") are a label."""
    if kind == "preference":
        return "a rule or a wish that an output marks as memory"
    head, colon, rest = text.partition(":")
    told = rest if colon and len(head.split()) <= _MOST_LABEL_WORDS else text
    return "an output says it, and only the owner decides about it" if is_owners_topic(told) else ""


def _dated(text: str, ts: str) -> str:
    """Return *text* with a date beside each word like "tomorrow", or nothing where that changes nothing."""
    try:
        told = add_dates(text, date.fromisoformat(ts[:10]))
    except ValueError:
        return ""
    return "" if told == text else told
