"""Consolidation of entries: duplicates are merged, and an entry that a newer one contradicts is marked as superseded.

A pure and idempotent function over parsed documents. Nothing is lost: the archive keeps a merged entry with a link to
the one that remains. A superseded entry stays in its place, is linked both ways, and is left out of prompts.
``distill.statements.contradiction`` compares two statements. This module decides which entries are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_home.documents.document import Document, parse
from agent_home.documents.entry import ENTRY_ID, Entry, section_of, superseded_by
from agent_home.documents.provenance import least_trusted, origin_of_restated
from agent_home.home import MEMORY
from guard.lazy_regex import lazy_regex
from recall.embedding.embedder import Embedder, Vector

from ..reading.vital_facts import leaves_health_out
from ..statements.contradiction import SAID_CHANGE, SAME_CHANGE, SAME_COSINE, Relation, relation
from ..statements.standalone import speaks_of_self, split_speaker
from ..statements.statement_parser import parse_statement
from ..statements.value_exchange import exchanges_value, sets_another_value
from .carried import (
    INSTEAD_OF,
    is_of_another_talk,
    lost_words,
    replaces_unknown_part,
    says_more_than,
    stated_text,
    with_kept_words,
)
from .withheld import has_placeholder

__all__ = [
    "Consolidation",
    "IsReversed",
    "Link",
    "consolidate",
    "embed_entries",
    "merge_entries",
    "relate_entries",
]

IsReversed = Callable[[Entry, Entry], bool]
#: Prefixes of sections whose entries hold until further notice.
_LASTING = frozenset({"KD", "SP", "CO"})
#: Those of them that give an object a value.
_VALUED = frozenset({"KD", "SP"})
#: Prefixes that an entry of a section may supersede. A thread that is done is resolved instead, but an appointment
#: moves. A conclusion overturns no decision, and a lesson only another lesson.
_MAY_REPLACE: Mapping[str, frozenset[str]] = {
    "CO": frozenset({"CO", "KD", "LL", "OT", "RC", "SP"}),
    "KD": frozenset({"KD", "OT", "RC"}),
    "SP": frozenset({"RC", "SP"}),
    "LL": frozenset({"LL"}),
    "RC": frozenset({"OT", "RC"}),
    "OT": frozenset({"OT", "RC"}),
}
#: Sections in the order in which they keep a statement that one session made an entry of in two of them.
_RANKS = ("SP", "KD", "CO", "OT", "LL", "RC")
#: A word in more entries selects no pairs, so that the number of pairs stays linear.
_MAX_POSTINGS = 40
_NAMES_REPLACED = "names what it replaces"
#: Statements of less weight say too little without the question behind the speaker.
_SAYS_LITTLE = 3.0
#: Whom the speaker addressed, behind the speaker's name.
_LISTENER = lazy_regex(r"^ \(to [^)\n]*\)")
_OTHER_VALUE = "another value of the same object"
#: The only reasons that count between sections, because the section of corrections also holds root causes.
_EXPLICIT = frozenset({_NAMES_REPLACED, SAID_CHANGE, _OTHER_VALUE})
_ELSEWHERE = "the same text in another section"
_SAID_TWICE = "the same change in another section"
_UNDECIDED = "the newer entry replaces a part of the older one, and the words do not tell which"
_OUTRANKED = "a contradiction, but the older entry has a more trusted origin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link from *older* to the entry that superseded it, or that it was merged into. *reason* names the rule."""

    older: str
    newer: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """The edited documents with the links made, in chronological order of the newer entry.

    *merged*: one entry remains, with the older id. *superseded*: both entries remain, linked. *outranked*: a fresh
    entry contradicts an older one of a more trusted origin, and both remain as they are. *undecided*: a fresh entry
    replaces a part of an older one, nobody can tell which, and both remain as they are.
    """

    documents: Mapping[str, Document]
    merged: tuple[Link, ...] = ()
    superseded: tuple[Link, ...] = ()
    outranked: tuple[Link, ...] = ()
    undecided: tuple[Link, ...] = ()

    @property
    def unchanged(self) -> bool:
        """True when nothing was merged or superseded."""
        return not (self.merged or self.superseded)


def consolidate(
    documents: Mapping[str, Document],
    *,
    archive: str,
    vectors: Mapping[str, Vector] | None = None,
    fresh: Collection[str] | None = None,
    is_reversed: IsReversed = lambda _older, _newer: False,
) -> Consolidation:
    """Merge and supersede the live entries of ``MEMORY.md``.

    Args:
        documents: ``MEMORY.md`` and, where it exists, the archive file, by path.
        archive: path of the archive file for merged entries.
        vectors: unit vectors of ``Entry.text`` by id. Entries without a vector are compared by their words alone.
        fresh: ids of entries that were not committed yet. Only pairs with one of them are compared. A fresh entry that
            is merged leaves nothing but its sources. ``None`` compares all pairs.
        is_reversed: returns whether the second of two entries of one day was said before the first. It is asked only
            where the answer matters. Without it, fresh entries count as the newer ones, and corrections as the last.
    """
    memory = documents[MEMORY]
    fresh_ids = None if fresh is None else frozenset(fresh)
    live = _LiveEntries(list(memory.entries()), vectors or {}, fresh_ids or frozenset())
    merged: list[Link] = []
    superseded: list[Link] = []
    left: dict[str, list[Link]] = {_OUTRANKED: [], _UNDECIDED: []}
    for newer in list(live.order):
        for older in live.related_before(newer):
            if newer not in live.entries:
                break
            if older not in live.entries or (fresh_ids is not None and fresh_ids.isdisjoint((older, newer))):
                continue
            found, first, last = _related(live, older, newer, is_reversed)
            if found.kind == "same":
                live.merge(older, newer)
                merged.append(Link(older=newer, newer=older, reason=found.reason))
            elif found.kind == "replaced":
                live.supersede(first, last)
                superseded.append(Link(older=first, newer=last, reason=found.reason))
            elif found.reason in left and fresh_ids is not None and last in fresh_ids:
                left[found.reason].append(Link(older=first, newer=last, reason=found.reason))
            elif kept := _kept_elsewhere(found.reason, older, newer, fresh_ids or frozenset()):
                other = newer if kept == older else older
                live.merge(kept, other)
                merged.append(Link(older=other, newer=kept, reason=found.reason))
    successors = {link.older: link.newer for link in merged}
    changed = [entry for entry in live.changed.values() if entry.id not in successors]
    result = {**documents, MEMORY: memory.without_entries(successors).with_entries([], changed)}
    committed = [memory.entry(entry_id) for entry_id in successors if entry_id not in (fresh or ())]
    moved = [_linked(entry, successors[entry.id]) for entry in committed if entry is not None]
    if moved:
        target = documents.get(archive) or parse(_archive_heading(archive))
        result[archive] = target.with_entries([(_title(entry), entry) for entry in moved])
    return Consolidation(
        documents=result, merged=tuple(merged), superseded=tuple(superseded), outranked=tuple(left[_OUTRANKED]),
        undecided=tuple(left[_UNDECIDED]),
    )  # fmt: skip


def _related(live: _LiveEntries, older: str, newer: str, is_reversed: IsReversed) -> tuple[Relation, str, str]:
    """Return how two entries are related, and their ids in the order in which they were said."""
    found = relate_entries(live.entries[older], live.entries[newer], cosine=live.cosine(older, newer))
    if found.kind != "same" and live.entries[older].date == live.entries[newer].date:
        back = relate_entries(live.entries[newer], live.entries[older], cosine=live.cosine(older, newer))
        decides = "replaced" in {found.kind, back.kind}
        if decides and is_reversed(live.entries[older], live.entries[newer]):
            return back, newer, older
    return found, older, newer


def _kept_elsewhere(reason: str, older: str, newer: str, fresh: frozenset[str]) -> str:
    """Return which of two entries in two sections stays where one session says the same, or says a change twice."""
    if reason == _ELSEWHERE and fresh >= {older, newer}:
        return min(older, newer, key=lambda entry_id: _RANKS.index(entry_id[:2]))
    return older if reason == _SAID_TWICE and newer in fresh else ""


def relate_entries(older: Entry, newer: Entry, *, cosine: float | None = None) -> Relation:
    """Relate *newer* to *older* by their words and by the rules of their sections.

    A protected entry, one of a more trusted origin, and one of another participant are never replaced. An entry
    without a date is neither older nor newer. A correction that names the sentence it corrects replaces the entry with
    that sentence.
    """
    if not _are_comparable(older, newer):
        return Relation(kind="different", reason="sections that are not compared")
    compared = _compared_words(older, newer)
    if compared is None:
        return Relation(kind="different", reason="two people about themselves")
    found = relation(
        *compared, cosine=cosine,
        lasting=older.prefix in _LASTING and newer.prefix in _LASTING, apart=not _sessions(older) & _sessions(newer),
    )  # fmt: skip
    if found.kind == "same" and found.reason != SAME_CHANGE and _adds_words(*compared, cosine=cosine):
        found = Relation(kind="different", reason="it says more")
    if found.kind == "different" and exchanges_value(*compared):
        found = Relation(kind="replaced", reason=_NAMES_REPLACED)
    if found.kind == "different" and _are_of_one_kind(older, newer) and sets_another_value(*compared):
        found = Relation(kind="replaced", reason=_OTHER_VALUE)
    if found.kind == "different" and any(
        relation(stated_text(older), line).kind == "same" for line in _instead_of(newer)
    ):
        found = Relation(kind="replaced", reason=_NAMES_REPLACED)
    if found.kind == "same" and older.prefix != newer.prefix:
        return Relation(kind="different", reason=_SAID_TWICE if found.reason == SAME_CHANGE else _ELSEWHERE)
    if found.kind == "same" and newer.protected:
        return Relation(kind="different", reason="the same text, but protected")
    reason = _reason_to_stand(older, newer, found) if found.kind == "replaced" else ""
    return Relation(kind="different", reason=reason) if reason else found


def merge_entries(kept: Entry, other: Entry) -> Entry:
    """Return *kept* with the sources of both, the newer date, the evidence of either, and the origin of both."""
    fields = dict(kept.fields)
    sources = [*_list(kept.fields.get("Sources", "")), *_list(other.fields.get("Sources", ""))]
    if sources:
        fields["Sources"] = ", ".join(dict.fromkeys(sources))
    evidence = other.fields.get("Evidence", "")
    if evidence.startswith("verified") and not fields.get("Evidence", "").startswith("verified"):
        fields["Evidence"] = evidence
    origin = origin_of_restated([_origin(kept), _origin(other)])
    if origin != "user" or "Origin" in fields:
        fields["Origin"] = origin
    date = max(kept.date, other.date)
    if fields == dict(kept.fields) and date == kept.date:
        return kept
    return kept.changed(fields=fields, date=date)


def embed_entries(entries: Sequence[Entry], embedder: Embedder) -> dict[str, Vector]:
    """Embed the statements of *entries*. Return unit vectors by id.

    Raises:
        ModelError: see :meth:`recall.embedding.embedder.Embedder.embed`.
    """
    if not entries:
        return {}
    vectors = embedder.embed([stated_text(entry) for entry in entries])
    return {entry.id: vector for entry, vector in zip(entries, vectors, strict=True)}


def _compared_words(older: Entry, newer: Entry) -> tuple[str, str] | None:
    """Return the statements without their speakers, or ``None`` when two people speak of themselves.

    A question or a sentence in brackets behind the speaker is nobody's statement. It stays where an answer says too
    little without it.
    """
    texts = stated_text(older), stated_text(newer)
    (one, first), (other, second) = (split_speaker(text) for text in texts)
    if one and other and one != other and all(map(speaks_of_self, texts)):
        return None
    heads = [_LISTENER.sub("", text[len(name) : len(text) - len(body)]).strip(": \uff1a") for text, name, body in (
        (texts[0], one, first), (texts[1], other, second),
    )]  # fmt: skip
    if heads[0] != heads[1] and min(parse_statement(body).weight for body in (first, second)) < _SAYS_LITTLE:
        return f"{heads[0]} {first}".strip(), f"{heads[1]} {second}".strip()
    return first, second


class _LiveEntries:
    """Live entries in chronological order, with an index of their words."""

    def __init__(self, entries: Sequence[Entry], vectors: Mapping[str, Vector], fresh: Collection[str]) -> None:
        self._all, self._fresh = entries, fresh
        replaced = superseded_by(entries)
        ordered = [
            entry
            for entry in reversed(entries)
            if entry.id not in replaced and not entry.retired and section_of(entry.prefix)
        ]
        ordered.sort(key=lambda entry: (entry.date, entry.id in fresh, entry.prefix == "CO"))
        self.entries = {entry.id: entry for entry in ordered}
        self.order = {entry_id: place for place, entry_id in enumerate(self.entries)}
        self.changed: dict[str, Entry] = {}
        self._vectors = vectors
        self._words = {
            entry_id: frozenset(parse_statement(stated_text(entry)).keys) for entry_id, entry in self.entries.items()
        }
        self._postings: dict[str, list[str]] = {}
        for entry_id, words in self._words.items():
            for word in (*words, self._all_words(entry_id)):
                self._postings.setdefault(word, []).append(entry_id)

    def related_before(self, newer: str) -> Iterator[str]:
        """Yield older entries that share a rare word or all words with *newer* or have a near vector, newest first."""
        place = self.order[newer]
        rare = [found for word in self._words[newer] if len(found := self._postings[word]) <= _MAX_POSTINGS]
        related = {
            entry_id
            for found in (*rare, self._postings[self._all_words(newer)])
            for entry_id in found
            if self.order[entry_id] < place
        }
        if newer in self._vectors:
            related |= {
                entry_id
                for entry_id, older_place in self.order.items()
                if older_place < place and (self.cosine(entry_id, newer) or 0) >= SAME_COSINE
            }
        yield from sorted(related, key=lambda entry_id: self.order[entry_id], reverse=True)

    def _all_words(self, entry_id: str) -> str:
        """Return a key for all words of an entry together, which no single word is spelled like."""
        return " ".join(sorted(self._words[entry_id])) + "\n"

    def cosine(self, first: str, second: str) -> float | None:
        if first not in self._vectors or second not in self._vectors:
            return None
        return float(self._vectors[first] @ self._vectors[second])

    def merge(self, kept: str, removed: str) -> None:
        entry = merge_entries(self.entries[kept], self.entries[removed])
        # The entry that remains takes over the links of the one that goes.
        links = list(dict.fromkeys([*_ids(entry, "Supersedes"), *_ids(self.entries[removed], "Supersedes")]))
        if links != _ids(entry, "Supersedes"):
            entry = entry.changed(fields={**entry.fields, "Supersedes": ", ".join(links)})
        for known in self._all:
            older = self.changed.get(known.id, known)
            if removed in _ids(older, "Superseded-By"):
                self.changed[older.id] = _linked(older, kept)
        self.entries[kept] = self.changed[kept] = entry
        del self.entries[removed]

    def supersede(self, older: str, newer: str) -> None:
        entry = with_kept_words(self.entries[older], self.entries[newer], reworded=newer in self._fresh)
        links = [*_ids(entry, "Supersedes"), older]
        entry = entry.changed(fields={**entry.fields, "Supersedes": ", ".join(links)})
        self.entries[newer] = self.changed[newer] = entry
        self.changed[older] = _linked(self.entries.pop(older), newer)


def _are_comparable(older: Entry, newer: Entry) -> bool:
    """Return whether either may replace the other, or both stand in one section."""
    prefixes = (older.prefix, newer.prefix)
    return prefixes[0] == prefixes[1] or any(
        one in _MAY_REPLACE.get(other, frozenset()) for one, other in (prefixes, prefixes[::-1])
    )


def _are_of_one_kind(older: Entry, newer: Entry) -> bool:
    """Return whether both are wishes or both decisions, or the newer one corrects such an entry, in two sessions."""
    alike = newer.prefix in {older.prefix, "CO"}
    return alike and older.prefix in _VALUED and not _sessions(older) & _sessions(newer)


def _may_replace(older: Entry, newer: Entry, found: Relation) -> bool:
    """Return whether *newer* may take the place of *older*, which it contradicts."""
    if older.prefix not in _MAY_REPLACE.get(newer.prefix, frozenset()) or older.protected:
        return False
    if has_placeholder(older.text) or has_placeholder(newer.text):
        return False  # nobody knows which values are compared
    if not older.date or not newer.date or older.date > newer.date:
        return False
    return older.prefix == newer.prefix or found.reason in _EXPLICIT


def _reason_to_stand(older: Entry, newer: Entry, found: Relation) -> str:
    """Return why *older* stands although *newer* contradicts it, or an empty string."""
    if not _may_replace(older, newer, found):
        return "a contradiction, but the older entry may not be replaced"
    if least_trusted([_origin(older), _origin(newer)]) != _origin(older):
        return _OUTRANKED
    if _are_of_two_participants(older, newer):
        return "a contradiction of two participants"
    return _UNDECIDED if _is_doubtful(older, newer) else ""


def _are_of_two_participants(older: Entry, newer: Entry) -> bool:
    """Return whether both are told by participants, and not by the same one. None speaks for another."""
    if {_origin(older), _origin(newer)} != {"participant"}:
        return False
    return split_speaker(stated_text(older))[0] != split_speaker(stated_text(newer))[0]


def _adds_words(older: str, newer: str, *, cosine: float | None) -> bool:
    """Return whether *newer* says more than *older*. Near vectors allow each a few plain words of its own."""
    if not says_more_than(older, newer):
        return False
    known = set(parse_statement(older).keys)
    own = [token for token in parse_statement(newer).tokens if token.key not in known]
    near = cosine is not None and cosine >= SAME_COSINE and says_more_than(newer, older)
    return not near or any(token.kind != "word" for token in own)


def _is_doubtful(older: Entry, newer: Entry) -> bool:
    """Return whether the words leave open what *newer* replaces, or health that it does not name would be lost."""
    if replaces_unknown_part(older, newer) or is_of_another_talk(older, newer):
        return True
    return leaves_health_out(lost_words(older, newer), stated_text(newer))


def _instead_of(entry: Entry) -> list[str]:
    return [line.removeprefix(INSTEAD_OF) for line in entry.detail.splitlines() if line.startswith(INSTEAD_OF)]


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


def _archive_heading(path: str) -> str:
    month = path.removesuffix(".md")[-7:]
    return f"# Memory archived in {month}\n\nEntries that left memory. `memory restore ID` brings one back.\n"
