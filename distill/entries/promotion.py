"""From a session's items to entries of ``MEMORY.md``.

Says which items earn an entry, in which section, with which fields; unites what says exactly the same, in the section
or in the archive, and lets ``distill.entries.consolidation`` look at the new entries beside the live ones. Nothing here
writes: the caller passes documents in and writes the ones it gets back. Two items are the same only when their own
words are: provenance never counts, so unrelated items stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

from agent_home.documents.document import Document, parse
from agent_home.documents.entry import Entry, SectionRule, section_of
from agent_home.documents.provenance import least_trusted
from agent_home.home import MEMORY

from ..evidence.status import UNCHECKED, Evidence
from ..statements.sentences import split_title
from ..statements.statement_parser import parse_statement as particulars
from ..summary.cues import ItemKind
from ..summary.extraction import Item, normalised
from .consolidation import Link, consolidate, merge_entries
from .recurrence import EarlierMention

__all__ = [
    "PREFIXES",
    "Placement",
    "PromotionCandidate",
    "find_candidates",
    "item_origins",
    "normalised_statement",
    "place_candidates",
]

#: Kinds that earn an entry, and the prefix of its section. A fact stays in the daily log until its topic comes back.
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
#: Where a fact stands that another session spoke of as well.
_RECURRING = "RC"

#: Characters of an item that a tool printed by chance as well.
_LEAST_REPEATED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionCandidate:
    """An item on its way to *section*, with what git said and who answers for its words."""

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
        proposed: new entries that a person reviews first.
        superseded: links from older entries to the new ones that supersede them.
        left_in_log: number of items beyond the limit of their section.
        refused: number of entries that the caller's *refused* rejected.
    """

    documents: dict[str, Document]
    added: list[tuple[PromotionCandidate, Entry]] = field(default_factory=list)
    merged: list[tuple[PromotionCandidate, Entry]] = field(default_factory=list)
    proposed: list[tuple[PromotionCandidate, Entry]] = field(default_factory=list)
    superseded: tuple[Link, ...] = ()
    left_in_log: int = 0
    refused: int = 0


def find_candidates(
    items: Sequence[Item],
    evidence: Mapping[Item, Evidence],
    origins: Mapping[str, str],
    date: str,
    heard: str = "",
    *,
    seen: Mapping[Item, EarlierMention] = MappingProxyType({}),
    recurring: Collection[str] = (),
) -> list[PromotionCandidate]:
    """The items that earn an entry, in their order. *origins* maps a turn's source to who said it.

    *heard* is what tools printed, normalised: what the agent only repeats from there is the tool's, not its own.
    *seen* says where another session had an item's topic: that earns a fact its entry, and one of the sections titled
    in *recurring*.

    What git contradicts, and what a later turn corrected, stays in the daily log; of deliverables only those that
    git was asked about are work. *date* stands in for a turn without a time.
    """
    found = []
    answering = item_origins(items, evidence, origins, heard)
    stated = {particulars(item.text).keys for item in items if item.kind != "fact"}
    for item in items:
        said, before = evidence.get(item), seen.get(item)
        if item.kind == "fact" and particulars(item.text).keys in stated:
            continue  # it stands among the items of its kind already
        prefix = PREFIXES.get(item.kind) or (_RECURRING if item.kind == "fact" and before else None)
        section = section_of(prefix) if prefix else None
        if section is None or item.corrected or (said is not None and said.state == "contradicted"):
            continue
        if (item.kind == "deliverable" and said is None) or (section.title in recurring and before is None):
            continue
        origin = least_trusted([answering[item], before.origin]) if before else answering[item]
        sources = (*before.sources, *item.sources) if before else item.sources
        found.append(
            PromotionCandidate(
                item=replace(item, sources=tuple(dict.fromkeys(sources))), section=section,
                evidence=said or UNCHECKED, origin=origin, date=item.ts[:10] or date,
            )
        )  # fmt: skip
    return found


def item_origins(
    items: Sequence[Item], evidence: Mapping[Item, Evidence], origins: Mapping[str, str], heard: str
) -> dict[Item, str]:
    """Who answers for the words of each item; *origins* and *heard* as in :func:`find_candidates`.

    Work that git confirms is the agent's, although a tool printed the commit.
    """
    found = {}
    for item in items:
        said_by = [origins.get(source, "agent") for source in item.sources]
        words = normalised(item.text)
        own = "user" in said_by or (item in evidence and evidence[item].state == "verified")
        repeated = not own and len(words) >= _LEAST_REPEATED and words in heard
        found[item] = least_trusted([*said_by, "tool"] if repeated else said_by)
    return found


def place_candidates(
    found: Sequence[PromotionCandidate],
    documents: Mapping[str, Document],
    *,
    new_id: Callable[[str, str], str],
    address: str,
    title_chars: int,
    max_per_section: int = 50,
    proposed_sections: Collection[str] = (),
    refused: Callable[[Entry], bool] = lambda _: False,
) -> Placement:
    """Put *found* into ``MEMORY.md``, newest on top, or unite each with the older entry that says the same.

    *documents* are ``MEMORY.md`` and the archive files by their paths; *address* is the daily section that evidence
    points at. Each section gains at most *max_per_section* entries, those said first; the rest is counted. New entries
    of *proposed_sections* are not put into the document, and those that are *refused* nowhere.
    """
    placed = Placement(documents=dict(documents))
    index = _index(documents)
    rooms = dict.fromkeys((candidate.section.title for candidate in found), max_per_section)
    made: dict[str, tuple[PromotionCandidate, Entry]] = {}
    gained: dict[str, tuple[str, PromotionCandidate, Entry]] = {}
    for candidate in found:
        key = (candidate.section.prefix, normalised(candidate.item.text))
        known = index.get(key)
        if known is not None:
            path, older = known
            entry = merge_entries(older, _entry(candidate, older.id, address, title_chars))
            if entry.id in made:
                made[entry.id] = (made[entry.id][0], entry)
            else:
                gained[entry.id] = (path, gained[entry.id][1] if entry.id in gained else candidate, entry)
            index[key] = (path, entry)
            continue
        if rooms[candidate.section.title] == 0:
            placed.left_in_log += 1
            continue
        # From the turn and its words alone: a closing that is run again names its entries alike.
        entry_id = new_id(candidate.section.prefix, f"{candidate.item.sources[-1]}\0{candidate.item.text}")
        entry = _entry(candidate, entry_id, address, title_chars)
        if refused(entry):
            placed.refused += 1
            continue
        rooms[candidate.section.title] -= 1
        made[entry_id] = (candidate, entry)
        index[key] = (MEMORY, entry)
    placed.added = [pair for pair in made.values() if pair[0].section.title not in proposed_sections]
    placed.proposed = [pair for pair in made.values() if pair[0].section.title in proposed_sections]
    placed.merged = [(candidate, entry) for _, candidate, entry in gained.values()]
    for path, document in documents.items():
        added = [(candidate.section.title, entry) for candidate, entry in placed.added] if path == MEMORY else []
        changed = [entry for where, _, entry in gained.values() if where == path]
        placed.documents[path] = document.with_entries(added, changed)
    _consolidate(placed)
    return placed


def _consolidate(placed: Placement) -> None:
    """Look at the added entries beside the live ones: they may say in other order what is there, or contradict it."""
    if not placed.added:
        return
    fresh = {entry.id: candidate for candidate, entry in placed.added}
    done = consolidate({MEMORY: placed.documents[MEMORY]}, archive="", fresh=fresh)
    placed.documents[MEMORY] = done.documents[MEMORY]
    placed.superseded = done.superseded
    now = {entry.id: entry for entry in placed.documents[MEMORY].entries()}
    taken_in = [link for link in done.merged if link.newer not in fresh]
    known = {entry.id for _, entry in placed.merged}
    placed.merged += [(fresh[link.older], now[link.newer]) for link in taken_in if link.newer not in known]
    placed.merged = [(candidate, now.get(entry.id, entry)) for candidate, entry in placed.merged]
    placed.added = [(candidate, now[entry.id]) for candidate, entry in placed.added if entry.id in now]


def normalised_statement(entry: Entry) -> str:
    """What an entry says, normalised; not what it was said instead of."""
    lines = [line for line in entry.detail.splitlines() if not line.startswith(_INSTEAD)]
    return normalised(entry.changed(detail="\n".join(lines)).text)


_INSTEAD = "Instead of: "


def _index(documents: Mapping[str, Document]) -> dict[tuple[str, str], tuple[str, Entry]]:
    """The entries by prefix and statement, live ones before archived; superseded ones say nothing any more."""
    found: dict[tuple[str, str], tuple[str, Entry]] = {}
    for path in sorted(documents, key=lambda name: (name != MEMORY, name)):
        for key, entry in _statements(documents[path].render()).items():
            found.setdefault(key, (path, entry))
    return found


@lru_cache(maxsize=64)
def _statements(text: str) -> Mapping[tuple[str, str], Entry]:
    """The entries of one file that stand; kept, because the archive is the same for one closing after the other."""
    found: dict[tuple[str, str], Entry] = {}
    for entry in parse(text).entries():
        if not entry.fields.get("Superseded-By"):
            found.setdefault((entry.prefix, normalised_statement(entry)), entry)
    return found


def _entry(candidate: PromotionCandidate, entry_id: str, address: str, title_chars: int) -> Entry:
    title, body = split_title(candidate.item.text, title_chars)
    fields = {
        "Evidence": candidate.evidence.render(address) if candidate.evidence != UNCHECKED else "",
        "Sources": ", ".join(candidate.item.sources),
        "Origin": candidate.origin,
    }
    return Entry(
        id=entry_id,
        date=candidate.date,
        title=title.rstrip("*"),
        body=body,
        detail=f"{_INSTEAD}{candidate.item.replaces}" if candidate.item.replaces else "",
        fields={name: value for name, value in fields.items() if value},
    )
