"""Own what other participants of a chat say: statements of theirs, never the owner's.

A participant decides, prefers and corrects nothing in the name of the owner. So whatever they say is a fact that names
them: "Mara (participant) said: The venue has 40 seats." The rules that read the owner's turns find these statements.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from agent_home.store.speakers import speaker_label
from agent_home.store.transcript import Message
from recall.embedding.embedder import Embedder

from ..reading.classifier import is_chinese
from ..statements.standalone import stand_alone
from .extraction import Item, Summary, summarise
from .selection import add_facts

__all__ = ["PARTICIPANT", "with_participants"]

PARTICIPANT = "participant"
#: Kinds of items that state something. The others ask or plan for the speaker alone.
_STATED = frozenset(
    {"conclusion", "correction", "decision", "deliverable", "fact", "lesson", "open_thread", "preference", "root_cause"}
)
#: The speaker and the words in brackets behind the name, which a text that stands alone begins with.
_LEAD = r"(?P<aside> ?[(\uff08][^\n]*?[)\uff09])?(?:: ?|\uff1a)"


def with_participants(
    summary: Summary,
    messages: Sequence[Message],
    *,
    share: float,
    max_items: int,
    now: datetime,
    embedder: Embedder | None = None,
) -> Summary:
    """Return *summary* with what participants state in *messages*, as facts in the order of the conversation.

    What would be worth an entry if the owner said it is worth one, under the participant's name. Further facts stand in
    the daily log, within the *share* of the tokens of the participants' turns.
    """
    said = [replace(message, role="user") for message in messages if message.role == PARTICIPANT]
    if not said:
        return summary
    found = summarise(said, embedder=embedder)
    items = [replace(item, lasting=item.lasting or item.kind != "fact") for item in found.items if item.kind in _STATED]
    if share:
        more = add_facts(replace(found, items=tuple(items)), said, share=share, max_items=max_items, embedder=embedder)
        items = list(more.items)
    by_source = {message.source: message for message in said}
    told = [_told(item, by_source[(*item.said_in, *item.sources)[0]], now) for item in items]
    place = {message.source: at for at, message in enumerate(messages)}
    merged = sorted((*summary.items, *told), key=lambda item: place.get(item.sources[-1], -1))
    return replace(summary, items=tuple(merged))


def told_by(name: str, words: str, aside: str = "") -> str:
    """Return *words* with the participant's *name* before them. *aside* is a note in brackets, or empty.

    >>> told_by("Mara", "The venue has 40 seats.")
    'Mara (participant) said: The venue has 40 seats.'
    """
    if is_chinese(words):
        return f"{name or '有人'}\uff08参与者\uff09说{aside}\uff1a{words}"
    return f"{name or 'Somebody'} (participant) said{aside}: {words}"


def _told(item: Item, turn: Message, now: datetime) -> Item:
    """Return *item* as a fact of its own turn that names the speaker."""
    name = speaker_label(turn.name)
    words = stand_alone(item.text, replace(turn, name=name), (), "", now)
    lead = re.match((re.escape(name) if name else r"(?:User|用户)") + _LEAD, words)
    aside = (lead["aside"] or "") if lead else ""
    words = words[lead.end() :] if lead else words
    return replace(
        item, kind="fact", role=PARTICIPANT, sources=(turn.source,), said_in=(turn.source,),
        standalone=told_by(name, words, aside),
        replaces="", corrected=False, read=False, accepted=False, consented=False, marked=False, asked="", context=(),
    )  # fmt: skip
