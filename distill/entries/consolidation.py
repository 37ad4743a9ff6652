"""Entries that say the same become one, and an entry that a newer one contradicts is marked as superseded.

A pure function over parsed documents: nothing is read, written or embedded here, and doing it again changes nothing.
Nothing is lost either: an entry that another one takes in leaves for the archive with a link to it, and a superseded
one stays where it is, linked both ways; prompts leave it out. Whether two statements agree or contradict each other is
said by ``distill.statements.contradiction``; here is said which entries may have to do with each other at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_home.documents.document import Document, parse
from agent_home.documents.entry import ENTRY_ID, Entry, section_of, superseded_by
from agent_home.documents.provenance import least_trusted
from agent_home.home import MEMORY
from recall.embedding.embedder import Embedder, Vector

from ..statements.contradiction import SAME_COSINE, Relation, relation
from ..statements.statement_parser import parse_statement

__all__ = ["Consolidation", "Link", "consolidate", "embed_entries", "merge_entries", "relate_entries"]

#: Sections whose entries hold until further notice.
_LASTING = frozenset({"KD", "SP", "CO"})
#: Whose entries an entry of a section may replace. Threads are resolved, never replaced; a conclusion overturns no
#: decision, and a lesson only another lesson.
_MAY_REPLACE: Mapping[str, frozenset[str]] = {
    "CO": frozenset({"CO", "KD", "LL", "RC"}),
    "KD": frozenset({"KD", "RC"}),
    "SP": frozenset({"SP"}),
    "LL": frozenset({"LL"}),
    "RC": frozenset({"RC"}),
}
#: A word that more entries hold leads to none of them: looking stays linear in what is there.
_COMMON = 40
#: The only reason that counts across sections: what is no correction stands among corrections too (root causes).
_ACROSS = "names what it replaces"
_INSTEAD = "Instead of: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """*older* gave way to *newer*; of two that say the same, *newer* is the one that stays. *reason* names the rule."""

    older: str
    newer: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """The documents as they should be, and what was done, in chronological order of the newer entry.

    *merged*: one entry for both, the older id. *superseded*: both stand, linked. *unchanged* when neither happened.
    """

    documents: Mapping[str, Document]
    merged: tuple[Link, ...] = ()
    superseded: tuple[Link, ...] = ()

    @property
    def unchanged(self) -> bool:
        return not (self.merged or self.superseded)


def consolidate(
    documents: Mapping[str, Document],
    *,
    archive: str,
    vectors: Mapping[str, Vector] | None = None,
    fresh: Collection[str] | None = None,
) -> Consolidation:
    """Unite and supersede the live entries of ``MEMORY.md``.

    Args:
        documents: by path; ``MEMORY.md`` and, where there is one, the archive file.
        archive: path of the archive file for entries that another one takes in.
        vectors: unit vectors of ``Entry.text`` by id; entries without one are compared by their words alone.
        fresh: ids that nobody has seen yet: only pairs with one of them are compared, and one of them that says what an
            older entry says leaves no trace but its sources. ``None`` compares all.
    """
    memory = documents[MEMORY]
    unseen = None if fresh is None else frozenset(fresh)
    shelf = _Shelf(list(memory.entries()), vectors or {})
    merged: list[Link] = []
    superseded: list[Link] = []
    for newer in list(shelf.order):
        for older in shelf.before(newer):
            if newer not in shelf.live:
                break
            if older not in shelf.live or (unseen is not None and unseen.isdisjoint((older, newer))):
                continue
            found = relate_entries(shelf.live[older], shelf.live[newer], cosine=shelf.cosine(older, newer))
            if found.kind == "same":
                shelf.unite(older, newer)
                merged.append(Link(older=newer, newer=older, reason=found.reason))
            elif found.kind == "replaced":
                shelf.supersede(older, newer)
                superseded.append(Link(older=older, newer=newer, reason=found.reason))
    gone = {link.older: link.newer for link in merged}
    edited = memory.without_entries(gone).with_entries([], [e for e in shelf.changed.values() if e.id not in gone])
    result = {**documents, MEMORY: edited}
    kept = [memory.entry(one) for one in gone if one not in (fresh or ())]
    moved = [_linked(entry, gone[entry.id]) for entry in kept if entry is not None]
    if moved:
        target = documents.get(archive) or parse(_head(archive))
        result[archive] = target.with_entries([(_title(entry), entry) for entry in moved])
    return Consolidation(documents=result, merged=tuple(merged), superseded=tuple(superseded))


def relate_entries(older: Entry, newer: Entry, *, cosine: float | None = None) -> Relation:
    """What *newer* is to *older*, by their words and by what entries may do to each other.

    A protected entry, and one of whom a more trusted one spoke, is replaced by nothing; without a date nothing is
    older. A correction that names the sentence it corrects replaces the entry that says it.
    """
    if not _may_meet(older, newer):
        return Relation(kind="different", reason="of kinds that have nothing to do with each other")
    found = relation(
        _said(older), _said(newer), cosine=cosine,
        lasting=older.prefix in _LASTING and newer.prefix in _LASTING, apart=not _sessions(older) & _sessions(newer),
    )  # fmt: skip
    if found.kind == "different" and any(relation(_said(older), line).kind == "same" for line in _instead_of(newer)):
        found = Relation(kind="replaced", reason=_ACROSS)
    if found.kind == "same" and (older.prefix != newer.prefix or newer.protected):
        return Relation(kind="different", reason="the same, in another section or protected")
    if found.kind == "replaced" and not _may_replace(older, newer, found):
        return Relation(kind="different", reason="may not be replaced by it")
    return found


def merge_entries(kept: Entry, other: Entry) -> Entry:
    """*kept* with the sources of both, the newer date, the less trusted origin, and evidence where one has it."""
    fields = dict(kept.fields)
    sources = [*_list(kept.fields.get("Sources", "")), *_list(other.fields.get("Sources", ""))]
    if sources:
        fields["Sources"] = ", ".join(dict.fromkeys(sources))
    theirs = other.fields.get("Evidence", "")
    if theirs.startswith("verified") and not fields.get("Evidence", "").startswith("verified"):
        fields["Evidence"] = theirs
    origin = least_trusted([_origin(kept), _origin(other)])
    if origin != "user" or "Origin" in fields:
        fields["Origin"] = origin
    date = max(kept.date, other.date)
    if fields == dict(kept.fields) and date == kept.date:
        return kept
    return kept.changed(fields=fields, date=date)


def embed_entries(entries: Sequence[Entry], embedder: Embedder) -> dict[str, Vector]:
    """The unit vector of what each entry says, by id.

    Raises:
        ModelError: see :meth:`recall.embedding.embedder.Embedder.embed`.
    """
    if not entries:
        return {}
    found = embedder.embed([_said(entry) for entry in entries])
    return {entry.id: vector for entry, vector in zip(entries, found, strict=True)}


class _Shelf:
    """The live entries, oldest first, found by the words they share."""

    def __init__(self, entries: Sequence[Entry], vectors: Mapping[str, Vector]) -> None:
        self._all = entries
        replaced = superseded_by(entries)
        standing = [entry for entry in reversed(entries) if entry.id not in replaced and section_of(entry.prefix)]
        standing.sort(key=lambda entry: (entry.date, entry.prefix == "CO"))
        self.live = {entry.id: entry for entry in standing}
        self.order = {one: place for place, one in enumerate(self.live)}
        self.changed: dict[str, Entry] = {}
        self._vectors = vectors
        self._keys = {one: frozenset(parse_statement(_said(entry)).keys) for one, entry in self.live.items()}
        self._holding: dict[str, list[str]] = {}
        for one, keys in self._keys.items():
            for key in (*keys, self._whole(one)):
                self._holding.setdefault(key, []).append(one)

    def before(self, newer: str) -> Iterator[str]:
        """The older entries that share a word that is not common, or a direction, with *newer*; newest first."""
        place = self.order[newer]
        rare = [found for key in self._keys[newer] if len(found := self._holding[key]) <= _COMMON]
        shared = {
            one for found in (*rare, self._holding[self._whole(newer)]) for one in found if self.order[one] < place
        }
        if newer in self._vectors:
            shared |= {
                one for one, at in self.order.items() if at < place and (self.cosine(one, newer) or 0) >= SAME_COSINE
            }
        yield from sorted(shared, key=lambda one: self.order[one], reverse=True)

    def _whole(self, one: str) -> str:
        """A key for all words of an entry together; no single word is spelled like it."""
        return " ".join(sorted(self._keys[one])) + "\n"

    def cosine(self, one: str, other: str) -> float | None:
        if one not in self._vectors or other not in self._vectors:
            return None
        return float(self._vectors[one] @ self._vectors[other])

    def unite(self, kept: str, gone: str) -> None:
        entry = merge_entries(self.live[kept], self.live[gone])
        # What the one that goes had replaced, the one that stays has replaced now.
        links = list(dict.fromkeys([*_ids(entry, "Supersedes"), *_ids(self.live[gone], "Supersedes")]))
        if links != _ids(entry, "Supersedes"):
            entry = entry.changed(fields={**entry.fields, "Supersedes": ", ".join(links)})
        for known in self._all:
            older = self.changed.get(known.id, known)
            if gone in _ids(older, "Superseded-By"):
                self.changed[older.id] = _linked(older, kept)
        self.live[kept] = self.changed[kept] = entry
        del self.live[gone]

    def supersede(self, older: str, newer: str) -> None:
        entry = self.live[newer]
        links = [*_ids(entry, "Supersedes"), older]
        self.live[newer] = self.changed[newer] = entry.changed(fields={**entry.fields, "Supersedes": ", ".join(links)})
        self.changed[older] = _linked(self.live.pop(older), newer)


def _may_meet(older: Entry, newer: Entry) -> bool:
    return older.prefix == newer.prefix or older.prefix in _MAY_REPLACE.get(newer.prefix, frozenset())


def _may_replace(older: Entry, newer: Entry, found: Relation) -> bool:
    """Whether *newer* may take the place of *older*, which it contradicts."""
    if older.prefix not in _MAY_REPLACE.get(newer.prefix, frozenset()) or older.protected:
        return False
    if not older.date or not newer.date or older.date > newer.date:
        return False
    if older.prefix != newer.prefix and found.reason != _ACROSS:
        return False
    return least_trusted([_origin(older), _origin(newer)]) == _origin(older)


def _said(entry: Entry) -> str:
    """What an entry says; not what it was said instead of."""
    lines = [line for line in entry.detail.splitlines() if not line.startswith(_INSTEAD)]
    return entry.changed(detail="\n".join(lines)).text


def _instead_of(entry: Entry) -> list[str]:
    return [line.removeprefix(_INSTEAD) for line in entry.detail.splitlines() if line.startswith(_INSTEAD)]


def _sessions(entry: Entry) -> set[str]:
    return {source.partition("#")[0] for source in _list(entry.fields.get("Sources", ""))}


def _origin(entry: Entry) -> str:
    return entry.fields.get("Origin") or "user"


def _list(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def _ids(entry: Entry, name: str) -> list[str]:
    return ENTRY_ID.findall(entry.fields.get(name, ""))


def _linked(entry: Entry, newer: str) -> Entry:
    return entry.changed(fields={**entry.fields, "Superseded-By": newer})


def _title(entry: Entry) -> str:
    rule = section_of(entry.prefix)
    return rule.title if rule else "Entries"


def _head(path: str) -> str:
    month = path.removesuffix(".md")[-7:]
    return f"# Memory archived in {month}\n\nEntries that left memory. `memory restore ID` brings one back.\n"
