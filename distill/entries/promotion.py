"""Promotion of a session's items to entries of ``MEMORY.md``.

This module decides which items earn an entry, in which section and with which fields. An item that equals an entry of
its section or of the archive is merged into it. ``distill.entries.consolidation`` then compares the new entries with
the live ones. Only the words of two items are compared, never their provenance.

Nothing here writes. The caller passes documents in and writes the edited ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from agent_home.documents.document import Document
from agent_home.documents.entry import Entry, SectionRule, section_of
from agent_home.documents.provenance import least_trusted, origin_of_restated
from agent_home.home import MEMORY
from recall.text.identity import identity_key

from ..evidence.status import UNCHECKED, Evidence
from ..reading.labels import ItemKind
from ..statements.restatement import OriginOf, nobody
from ..statements.statement_parser import parse_statement
from ..summary.extraction import Item
from .archived_statements import Statement, statements_of
from .carried import INSTEAD_OF
from .consolidation import Consolidation, IsReversed, Link, consolidate, merge_entries
from .recurrence import EarlierMention
from .withheld import is_empty_without

__all__ = [
    "PREFIXES",
    "Placement",
    "PromotionCandidate",
    "find_candidates",
    "item_origins",
    "place_candidates",
    "statements",
]

#: Kinds that earn an entry, with the prefix of its section. Only lasting facts do.
PREFIXES: Mapping[ItemKind, str] = {
    "decision": "KD",
    "lesson": "LL",
    "correction": "CO",
    "root_cause": "CO",
    "preference": "SP",
    "open_thread": "OT",
    "next_step": "OT",
    "conclusion": "RC",
    "deliverable": "RC",
}
#: Section of the lasting facts of the user's life and work.
_LASTING = "RC"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionCandidate:
    """An item that earns an entry of *section*, with its evidence from git and the *origin* of its words."""

    item: Item
    section: SectionRule
    evidence: Evidence
    origin: str
    date: str


@dataclass(slots=True)
class Placement:
    """Result of :func:`place_candidates`.

    Attributes:
        documents: the edited documents by path.
        added: the new entries, in the order of the conversation.
        merged: older entries that gained a source.
        proposed: new entries that a person reviews first, such as one of the agent that contradicts the user.
        superseded: links from older entries to the new ones that supersede them.
        undecided: links from older entries to new ones that replace a part of them. Nobody can tell which part.
        left_in_log: number of items beyond the limit of their section.
        refused: number of entries that the caller's *refused* rejected.
    """

    documents: dict[str, Document]
    added: list[tuple[PromotionCandidate, Entry]] = field(default_factory=list)
    merged: list[tuple[PromotionCandidate, Entry]] = field(default_factory=list)
    proposed: list[tuple[PromotionCandidate, Entry]] = field(default_factory=list)
    superseded: tuple[Link, ...] = ()
    undecided: tuple[Link, ...] = ()
    left_in_log: int = 0
    refused: int = 0


def find_candidates(
    items: Sequence[Item],
    evidence: Mapping[Item, Evidence],
    origins: Mapping[str, str],
    date: str,
    origin_of: OriginOf = nobody,
    *,
    mentions: Mapping[Item, EarlierMention] = MappingProxyType({}),
    recurring: Collection[str] = (),
) -> list[PromotionCandidate]:
    """Find the items that earn an entry, in their order.

    These stay in the daily log: items that git contradicts or a later turn corrected or resolved, a deliverable without
    a claim that git could check, an item that says nothing besides a placeholder of the guard, a statement that nobody
    understands without its conversation, and prose of the assistant that the user did not accept outside of a folder of
    work.

    Args:
        items: the items of the session.
        evidence: the result of asking git about an item, where it was asked.
        origins: the origin of each turn, by its source.
        date: the date of items whose turn has no time.
        origin_of: the origin of an item that restates what others said.
        mentions: earlier mentions of an item's topic in other sessions. An entry does not cite them.
        recurring: titles of sections whose items need an earlier mention.
    """
    found = []
    own_origins = item_origins(items, evidence, origins, origin_of)
    stated = {parse_statement(item.text).keys for item in items if item.kind != "fact"}
    for item in items:
        checked, mention = evidence.get(item), mentions.get(item)
        if item.kind == "fact" and parse_statement(item.text).keys in stated:
            continue  # the same statement is an item of another kind already
        prefix = PREFIXES.get(item.kind) or (_LASTING if item.kind == "fact" and (item.lasting or item.read) else None)
        section = section_of(prefix) if prefix else None
        if (
            section is None
            or item.corrected
            or item.resolved
            or is_empty_without(item.text)
            or item.dangling
            or _is_explanation(item, checked)
            or (checked is not None and checked.state == "contradicted")
        ):
            continue
        if (item.kind == "deliverable" and checked is None) or (section.title in recurring and mention is None):
            continue
        found.append(
            PromotionCandidate(
                item=item, section=section, evidence=checked or UNCHECKED, origin=own_origins[item],
                date=item.ts[:10] or date,
            )
        )  # fmt: skip
    return found


def _is_explanation(item: Item, checked: Evidence | None) -> bool:
    """Return whether *item* is prose of the assistant that nobody asked for: no folder of work, no label, no consent.

    An explanation of code reads like a report («Added an index to the column»).
    """
    if item.role != "assistant" or item.marked or item.read or item.accepted or item.worked:
        return False
    return checked is None or checked.state == "unchecked"


def item_origins(
    items: Sequence[Item], evidence: Mapping[Item, Evidence], origins: Mapping[str, str], origin_of: OriginOf = nobody
) -> dict[Item, str]:
    """Return the origin of each item's words. See :func:`find_candidates` for the arguments.

    What the user said stays the user's when the agent says it too, and so does a correction of the agent's words. An
    item that takes several turns together has their least trusted origin. Work that git confirms is the agent's,
    although a tool printed the commit.
    """
    result = {}
    for item in items:
        speakers = [origins.get(source, "agent") for source in item.said_in or item.sources]
        own = set(speakers) != {"agent"} or (item in evidence and evidence[item].state == "verified")
        restated = "" if own else origin_of(item.text, (item.said_in or item.sources)[0])
        speakers = [*speakers, restated] if restated else speakers
        result[item] = origin_of_restated(speakers) if item.said_in else least_trusted(speakers)
    return result


def place_candidates(
    found: Sequence[PromotionCandidate],
    documents: Mapping[str, Document],
    *,
    new_id: Callable[[str, str], str],
    address: str,
    max_per_section: int = 50,
    proposed_sections: Collection[str] = (),
    refused: Callable[[Entry], bool] = lambda _: False,
    is_reversed: IsReversed = lambda _older, _newer: False,
) -> Placement:
    """Add each candidate to ``MEMORY.md``, newest on top, or merge it into the older entry with the same statement.

    Args:
        found: the candidates in the order of the conversation.
        documents: ``MEMORY.md`` and the archive files that state one of the candidates, by path.
        new_id: returns an unused id for a prefix and a seed.
        address: the section of the daily log that the evidence points at.
        max_per_section: most entries that a section gains. The first candidates get them, the rest is counted.
        proposed_sections: titles of sections whose new entries are returned but not added.
        refused: returns whether a new entry must not be added at all.
        is_reversed: see :func:`distill.entries.consolidation.consolidate`.
    """
    placed = Placement(documents=dict(documents))
    index = _index(documents)
    room = dict.fromkeys((candidate.section.title for candidate in found), max_per_section)
    created: dict[str, tuple[PromotionCandidate, Entry]] = {}
    gained: dict[str, tuple[str, PromotionCandidate, Entry]] = {}
    for candidate in found:
        keys = statements(candidate)
        key = next((key for key in keys if key in index), keys[0])
        known = index.get(key)
        if known is not None and candidate.item.doubt:
            continue  # it is known already, and a doubted turn is no further source
        if known is not None:
            path, older = known
            entry = merge_entries(older, _entry(candidate, older.id, address))
            if entry.id in created:
                created[entry.id] = (created[entry.id][0], entry)
            else:
                gained[entry.id] = (path, gained[entry.id][1] if entry.id in gained else candidate, entry)
            index[key] = (path, entry)
            continue
        if room[candidate.section.title] == 0:
            placed.left_in_log += 1
            continue
        # The id depends on the turn and its words alone, so that a repeated closing gives its entries the same ids.
        entry_id = new_id(candidate.section.prefix, f"{candidate.item.sources[-1]}\0{candidate.item.text}")
        entry = _entry(candidate, entry_id, address)
        if refused(entry):
            placed.refused += 1
            continue
        room[candidate.section.title] -= 1
        created[entry_id] = (candidate, entry)
        index[key] = (MEMORY, entry)
    _settle(placed, created.values(), gained.values(), proposed_sections)
    _consolidate(placed, is_reversed)
    return placed


def statements(candidate: PromotionCandidate) -> list[Statement]:
    """Return the statements that make an older entry the same as *candidate*, the preferred one first."""
    return [(candidate.section.prefix, identity_key(text)) for text in (candidate.item.told, candidate.item.text)]


def _settle(
    placed: Placement,
    created: Iterable[tuple[PromotionCandidate, Entry]],
    gained: Collection[tuple[str, PromotionCandidate, Entry]],
    proposed_sections: Collection[str],
) -> None:
    """Put new entries and those with a new source into the documents, or leave them to a person."""
    for candidate, entry in created:
        waits = candidate.section.title in proposed_sections or bool(candidate.item.doubt)
        (placed.proposed if waits else placed.added).append((candidate, entry))
    placed.merged = [(candidate, entry) for _, candidate, entry in gained]
    for path, document in placed.documents.items():
        added = [(candidate.section.title, entry) for candidate, entry in placed.added] if path == MEMORY else []
        changed = [entry for entry_path, _, entry in gained if entry_path == path]
        placed.documents[path] = document.with_entries(added, changed)


def _consolidate(placed: Placement, is_reversed: IsReversed) -> None:
    """Merge added entries into live ones that say the same in another order, and supersede the ones they contradict."""
    if not placed.added:
        return
    fresh = {entry.id: candidate for candidate, entry in placed.added}
    done = consolidate({MEMORY: placed.documents[MEMORY]}, archive="", fresh=fresh, is_reversed=is_reversed)
    held = _outranked(done, fresh)
    placed.documents[MEMORY] = done.documents[MEMORY].without_entries(held)
    placed.proposed += [
        (replace(fresh[entry.id], item=replace(fresh[entry.id].item, doubt=held[entry.id])), entry)
        for _, entry in placed.added
        if entry.id in held
    ]
    placed.superseded = done.superseded
    placed.undecided = tuple(link for link in done.undecided if done.documents[MEMORY].entry(link.newer))
    now = {entry.id: entry for entry in placed.documents[MEMORY].entries()}
    merged_links = [link for link in done.merged if link.newer not in fresh]
    known = {entry.id for _, entry in placed.merged}
    placed.merged += [(fresh[link.older], now[link.newer]) for link in merged_links if link.newer not in known]
    placed.merged = [(candidate, now.get(entry.id, entry)) for candidate, entry in placed.merged]
    placed.added = [(candidate, now[entry.id]) for candidate, entry in placed.added if entry.id in now]


def _outranked(done: Consolidation, fresh: Mapping[str, PromotionCandidate]) -> dict[str, str]:
    """Return why a person decides about fresh entries that contradict the user, by id.

    An entry that git verified, or that took the place of another one, stays.
    """
    linked = {link.newer for link in (*done.superseded, *done.merged)}
    return {
        link.newer: f"it contradicts {link.older}, which a more trusted speaker said"
        for link in done.outranked
        if link.newer in fresh and link.newer not in linked and fresh[link.newer].evidence.state != "verified"
    }


def _index(documents: Mapping[str, Document]) -> dict[tuple[str, str], tuple[str, Entry]]:
    """Index the entries in force by prefix and statement. A live entry wins over an archived one."""
    found: dict[tuple[str, str], tuple[str, Entry]] = {}
    for path in sorted(documents, key=lambda name: (name != MEMORY, name)):
        for key, entry in statements_of(documents[path].render()).items():
            found.setdefault(key, (path, entry))
    return found


def _entry(candidate: PromotionCandidate, entry_id: str, address: str) -> Entry:
    fields = {
        "Evidence": candidate.evidence.render(address) if candidate.evidence != UNCHECKED else "",
        "Sources": ", ".join(dict.fromkeys((*candidate.item.sources, *candidate.item.context))),
        "Origin": candidate.origin,
    }
    return Entry(
        id=entry_id,
        date=candidate.date,
        title=candidate.item.told,
        detail=f"{INSTEAD_OF}{candidate.item.replaces}" if candidate.item.replaces else "",
        fields={name: value for name, value in fields.items() if value},
    )
