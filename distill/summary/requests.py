"""Requests to remember: what a speaker marks on purpose always becomes an item that earns an entry.

A request of the user ("remember that ...", «帮我记一下») yields an item of the kind that its words suggest, unless the
sentence is an item already. What the assistant says for the user under a label ("Preference:", "Remember:") waits for a
person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent_home.store.transcript import Message
from recall.text.identity import identity_key

from ..reading.labels import Label, kind_of_request, parse_label, parse_request, refers_back
from ..statements.sentences import prose_lines, shorten, split_sentences
from .extraction import MAX_ITEM_CHARS, Item, Summary, spoken_messages

__all__ = ["FOR_THE_USER", "with_requests"]

#: Why a person decides about an item.
FOR_THE_USER = "the assistant says it for the user"
#: Kinds that an item of the same sentence may give to what the words of a request call a fact.
_NARROWER = frozenset({"decision", "lesson", "correction", "open_thread"})
#: Most requests of one turn. A longer list is a pasted text.
_MAX_REQUESTS = 20


def with_requests(summary: Summary, messages: Sequence[Message]) -> Summary:
    """Return *summary* with an item for each request of *messages*, and with doubts about what needs a person."""
    items, doubted = list(summary.items), list(summary.doubted)
    for message in spoken_messages(messages):
        requests = _user_requests(message) if message.role == "user" else _assistant_labels(message)
        for number, (asked, sentence) in enumerate(requests):
            if number == _MAX_REQUESTS:
                break
            told = [item for item in items if message.source in item.sources and _covers(item, asked, sentence)]
            if any(item.read for item in told):
                continue  # a language model said it already
            items = [item for item in items if item not in told]
            kind = next((item.kind for item in told if asked.kind == "fact" and item.kind in _NARROWER), asked.kind)
            found = Item(
                kind=kind, text=shorten(asked.rest, MAX_ITEM_CHARS), sources=(message.source,), role=message.role,
                ts=message.ts, read=True, said_in=(message.source,),
            )  # fmt: skip
            if message.role == "user":
                items.append(found)
            elif not any(_covers(item, asked, sentence) for item in doubted):
                doubted.append(replace(found, doubt=FOR_THE_USER))
    place = {message.source: at for at, message in enumerate(messages)}
    items.sort(key=lambda item: place.get(item.sources[-1] if item.kind == "correction" else item.sources[0], 0))
    return replace(summary, items=tuple(items), doubted=tuple(doubted))


def _user_requests(message: Message) -> Iterator[tuple[Label, str]]:
    """Yield what the user asks to remember in a turn, with the sentence that asks."""
    last = ""
    for line in prose_lines(message.content):
        label = parse_label(line.text)
        if label and label.asked and label.rest:
            yield label, line.text
            continue
        for sentence in split_sentences(line.text):
            asked = parse_request(sentence)
            if asked:
                yield asked, sentence
            elif last and refers_back(sentence):
                yield Label(kind=kind_of_request(last), rest=last, asked=True), last
            last = sentence


def _assistant_labels(message: Message) -> Iterator[tuple[Label, str]]:
    """Yield what the assistant labels as a preference of the user, or as something to remember."""
    heading: Label | None = None
    for line in prose_lines(message.content):
        label = parse_label(line.text)
        if label and not label.rest:
            heading = label if label.kind == "preference" else None
            continue
        if label and (label.asked or label.kind == "preference"):
            yield label, line.text
        elif heading and line.kind == "bullet":
            yield replace(heading, rest=line.text), line.text
        else:
            heading = None


def _covers(item: Item, asked: Label, sentence: str) -> bool:
    """Return whether *item* is the sentence of a request, or a part of it, or holds what is asked."""
    own, wanted, whole = identity_key(item.text), identity_key(asked.rest), identity_key(sentence)
    return bool(own) and (own in whole or wanted in own)
