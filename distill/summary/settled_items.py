"""Effects of a corrected value on a summary: the sources of its items, and operations on the corrected entries.

``distill.reading.bare_corrections`` finds the corrections.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from agent_home.store.transcript import Message

from ..reading.bare_corrections import CorrectedEntry, SettledTurns
from ..reading.corrections import states_correction
from ..statements.dated_words import add_dates, without_dates
from ..statements.operation import Operation
from ..statements.standalone import day_of
from .extraction import Item, Summary
from .sentence_kinds import is_refused, is_request

__all__ = ["with_settled_items"]


def with_settled_items(summary: Summary, settled: SettledTurns, said: Sequence[Message], now: datetime) -> Summary:
    """Return *summary*, made of *settled*, with the turns that corrected its items and the entries they correct.

    A corrected entry is superseded by its statement with the right value, which the log has as well. A value that
    corrects nothing that is known stays in the log, beside its turn.
    """
    turns = {message.source: message for message in said}
    items = [
        replace(item, dangling=True) if _says_only_value(item, settled) else _cited(item, settled, turns)
        for item in summary.items
    ]
    items += [item for source in settled.corrected for item in _stated_anew(items, settled, turns[source])]
    operations = []
    for changed in settled.entries:
        turn = turns[changed.source]
        operations.append(_operation(changed, turn, now))
        if changed.certain:
            items.append(
                Item(
                    kind="fact", text=operations[-1].text, sources=(changed.heard, changed.source), role=turn.role,
                    ts=turn.ts,
                )
            )  # fmt: skip
    places = {message.source: place for place, message in enumerate(said)}
    items.sort(key=lambda item: places.get(item.sources[-1], -1) if item.sources else -1)
    return replace(summary, items=tuple(items), operations=(*summary.operations, *operations))


def _operation(changed: CorrectedEntry, turn: Message, now: datetime) -> Operation:
    day = day_of(turn.ts, now)
    return Operation(
        kind="supersede", target=changed.target, sources=(turn.source,), reason="it gives one value of it again",
        text=add_dates(changed.text, day) if day else changed.text, unsure=not changed.certain,
    )  # fmt: skip


def _says_only_value(item: Item, settled: SettledTurns) -> bool:
    """Return whether nothing but a value that corrects nothing known stands in *item*."""
    return item.sources[-1:] != () and item.sources[-1] in settled.left and not item.replaces and not item.context


def _stated_anew(items: Sequence[Item], settled: SettledTurns, turn: Message) -> Iterator[Item]:
    """Yield the sentence that *turn* corrected as a correction, if it earns no entry yet and the turn is explicit."""
    source = settled.corrected[turn.source]
    sentence = settled.sentences[turn.source]
    known = any(sentence in item.text and (item.kind != "fact" or item.lasting) for item in items)
    if not known and states_correction(turn.content) and not is_request(sentence) and not is_refused(sentence):
        yield Item(kind="correction", text=sentence, sources=(source, turn.source), role=turn.role, ts=turn.ts)


def _cited(item: Item, settled: SettledTurns, turns: dict[str, Message]) -> Item:
    """Return *item* with the turns that corrected its words."""
    later = [
        source
        for source, corrected in settled.corrected.items()
        if corrected in item.sources and without_dates(item.text) not in " ".join(turns[corrected].content.split())
    ]
    if not later:
        return item
    return replace(item, sources=tuple(dict.fromkeys((*item.sources, *later))), said_in=())
