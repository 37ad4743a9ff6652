"""Own the form in which the items of a summary are written: as texts that stand alone.

An item quotes its turn, because evidence, corrections and comparisons need the words as they were said. What the daily
log and ``MEMORY.md`` show is ``Item.told``. An item that a model worded, and that its turn does not say, is left as it
is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from agent_home import storage
from agent_home.home import Home
from agent_home.store.transcript import Message
from guard.lazy_regex import lazy_regex
from recall.text.identity import identity_key

from ..reading.classifier import is_chinese
from ..reading.corrections import corrects_value, names_old_value, states_correction
from ..reading.vital_facts import vital_act
from ..statements.completeness import lacks_its_noun
from ..statements.dated_words import without_dates
from ..statements.sentences import split_sentences
from ..statements.standalone import Surroundings, plain_turn, speaker_of, split_speaker, with_context
from .extraction import Item, Summary, spoken_messages
from .leaning import leans
from .sentence_kinds import is_standing_order
from .standing import kind_of_entry
from .surroundings import choose_surroundings, with_answer

__all__ = ["owner_name", "tell_items", "tell_items_to"]

_USER = "USER.md"
#: Names of an assistant without one.
_ASSISTANTS = ("Assistant", "助手")
#: Items before another one that may stand in its words.
_NEAR_ITEMS = 4
#: Turns before an item's own one that may say what it is about.
_NEAR_TURNS = 12
#: A longer sentence stays cut.
_MAX_SENTENCE_CHARS = 1000
_NAME = lazy_regex(
    r"^[-*\s]*\**(?:Name|姓名|名字|称呼)\**\s*[:\uff1a]\**[ \t]*(?P<name>[^\s(<\uff08][^\n(<\uff08,;]{0,39})",
    re.MULTILINE,
)


def tell_items(
    summary: Summary, messages: Sequence[Message], before: Sequence[Message], home: Home, now: datetime
) -> Summary:
    """Return *summary* with a text that stands alone for each item that its first turn says in these words.

    The question of another turn is kept with its answer, unless it repeats the output of a tool.
    """
    return tell_items_to(owner_name(home), summary, messages, before, now) if summary.items else summary


def tell_items_to(
    owner: str, summary: Summary, messages: Sequence[Message], before: Sequence[Message], now: datetime
) -> Summary:
    """Do the work of :func:`tell_items` without a home. *owner* is the user's name, or empty."""
    spoken = spoken_messages([*before, *messages])
    places = {message.source: place for place, message in enumerate(spoken)}
    tools = "\n".join(identity_key(m.content) for m in (*before, *messages) if m.role not in {"user", "assistant"})
    told = [_told(item, spoken, places, owner, tools, now) for item in summary.items]
    return replace(summary, items=tuple(_joined(told)))


def owner_name(home: Home) -> str:
    """Return the name of the user that USER.md gives, or an empty string."""
    path = home.root / _USER
    match = _NAME.search(storage.read_text(path)) if path.exists() else None
    return match["name"].strip(" *_") if match else ""


def _told(item: Item, spoken: Sequence[Message], places: dict[str, int], owner: str, tools: str, now: datetime) -> Item:
    place = next((places[source] for source in item.sources if source in places), None)
    words = "" if place is None else _said_words(item.text, spoken[place].content)
    if place is None or not words:
        return item
    if item.consented:
        reply = next((spoken[places[source]] for source in reversed(item.sources) if source in places), spoken[place])
        by = speaker_of(reply, owner) if reply.role == "user" else owner
        return replace(item, standalone=_agreed(item, words, spoken[place], by, now))
    earlier = spoken[max(0, place - _NEAR_TURNS) : place]
    around = choose_surroundings(words, spoken[place], earlier) if _may_enter(item) else None
    if item.asked:
        around = with_answer(Surroundings(other=item.asked, asked=True, turn=earlier[-1]), words, spoken[place])
    found = with_context(words, spoken[place], earlier, owner, now, kind=item.kind, around=around)
    previous = _other_turn(item, spoken[:place])
    if found.context and any(_repeats(message, tools) for message in earlier if message.source in found.context):
        found = with_context(words, spoken[place], (), owner, now, kind=item.kind)
    item = replace(item, standalone=found.text if found.text != item.text else "", context=found.context)
    return _placed(item, words, found.text, spoken[place].content, previous)


def _agreed(item: Item, words: str, proposal: Message, user: str, now: datetime) -> str:
    """Return what the assistant proposed and the *user* accepted or chose, with both of them."""
    told = with_context(words, proposal, (), "", now, kind=item.kind, around=Surroundings()).text
    told = split_speaker(told, _ASSISTANTS)[1]
    by = speaker_of(proposal)
    if is_chinese(told):
        by = by or "助手"
        how = f"接受{by}的提议" if not item.asked else f"{by}问“{item.asked}”\uff0c选定"
        return f"{user or '用户'}\uff08{how}\uff09\uff1a{told}"
    name, by = user or "User", by or "the assistant"
    if item.asked:
        quoted = item.asked.replace('"', "'")
        return f'{name} (asked by {by}: "{quoted}", chose): {told}'
    return f"{name} (accepted, proposed by {by}): {told}"


def _joined(items: Sequence[Item]) -> list[Item]:
    """Return *items* with those joined of which one is told with the words of another one.

    The joined item has the kind of the sentence that leans less on its conversation.
    """
    kept: list[Item] = []
    for item in items:
        inner = next((other for other in reversed(kept[-_NEAR_ITEMS:]) if _is_told_in(other, item)), None)
        if inner is None:
            kept.append(item)
            continue
        first = inner if leans(inner.text) <= leans(item.text) else item
        whole = {name: getattr(item, name) for name in ("context", "dangling")}
        kept[kept.index(inner)] = replace(first, standalone=item.told, **whole)
    return kept


def _is_told_in(inner: Item, item: Item) -> bool:
    """Return whether *item* is told with the sentence of *inner* before its own one."""
    if not (_may_enter(inner) and _may_enter(item)) or inner.sources != item.sources or inner.replaces or item.replaces:
        return False
    words = without_dates(item.told)
    return inner.text in words and len(words) > len(inner.text) + len(item.text) and item.text not in inner.told


def _may_enter(item: Item) -> bool:
    """Return whether *item* may earn an entry by the words of the user that a rule or the reader chose."""
    return item.role == "user" and not (item.marked or item.read) and (item.kind != "fact" or item.lasting)


def _other_turn(item: Item, earlier: Sequence[Message]) -> str:
    """Return the latest turn of another role than the item's, or an empty string."""
    return next((turn.content for turn in reversed(earlier) if turn.role != item.role), "")


def _is_wanted(item: Item, words: str, previous: str) -> bool:
    """Return whether *item* is kept whatever it leans on: an order for always, or an explicit correction."""
    if not _may_enter(item) or item.replaces or names_old_value(words):
        return True
    if item.kind == "preference" and is_standing_order(words):
        return True
    return item.kind == "correction" and (states_correction(words) or corrects_value(words, previous))


def _placed(item: Item, words: str, told: str, content: str, previous: str) -> Item:
    """Return *item* with the kind of its entry, or as one that leans on its conversation still.

    Only the daily log keeps the latter.
    """
    if item.marked or item.read:
        return item
    if lacks_its_noun(told) and lacks_its_noun(f"A: {words}"):
        return replace(item, dangling=True)
    if _is_wanted(item, words, previous) or vital_act(words) is not None:
        return item
    kind = kind_of_entry(told, item.kind, content, previous)
    if kind is None:
        return replace(item, dangling=True)
    return replace(item, kind=kind, lasting=item.lasting or kind == "fact")


def _said_words(text: str, content: str) -> str:
    """Return *text* as a turn says it, with the whole of a sentence that was cut, or an empty string."""
    words, said = " ".join(text.split()), plain_turn(content)
    stem = words.removesuffix("…").rstrip()
    at = said.find(stem) if stem else -1
    if at < 0 or stem == words:
        return words if at >= 0 or words in " ".join(content.split()) else ""
    whole = split_sentences(said[at : at + _MAX_SENTENCE_CHARS])[0]
    return whole if len(stem) < len(whole) < _MAX_SENTENCE_CHARS else words


def _repeats(message: Message, tools: str) -> bool:
    """Return whether a tool said a sentence of *message* before, which is then no word of the speaker."""
    return bool(tools) and any(
        key in tools for line in message.content.splitlines() if len(key := identity_key(line)) >= 12
    )
