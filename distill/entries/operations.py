"""Operations on the live entries of ``MEMORY.md``: resolve, retract, supersede and revise.

A pure function over parsed documents decides which operations hold and applies them. The turns that an operation cites
decide who asked for it. A text of a tool or of a stranger never touches an entry of the user or the agent. Nobody but
the user takes back or replaces what the user said. A changed entry names the turn in its field ``State``, ``Sources``
or ``Superseded-By``. ``distill.close`` calls this in its transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent_home.documents.document import Document
from agent_home.documents.entry import Entry, section_of, superseded_by
from agent_home.documents.provenance import TRUST, least_trusted
from agent_home.home import MEMORY
from recall.text.identity import identity_key

from ..statements.operation import Operation, OperationKind
from ..statements.restatement import OriginOf, nobody
from ..statements.sentences import shorten
from .carried import ended_part, narrowed, replaced_part, replaces_unknown_part, stated_text, with_kept_words
from .withheld import has_placeholder

__all__ = [
    "RESOLVABLE",
    "AppliedOperation",
    "AppliedOperations",
    "Operation",
    "OperationKind",
    "PossibleEnding",
    "RefusedOperation",
    "apply_operations",
    "operation_origin",
    "possible_endings",
    "retired",
]

#: Prefixes of what may come to an end: threads, and facts and wishes such as "Bruno wants to sell the piano".
RESOLVABLE = frozenset({"OT", "RC", "SP"})
#: Longest remark about why an entry is resolved or retracted, in characters.
_MAX_REMARK_CHARS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedOperation:
    """An *operation* that was applied. *entry* is the changed entry, *successor* the new id after ``supersede``.

    *ended* is the clause that came to an end where *entry* keeps the other ones. The operation is a revision then.
    """

    operation: Operation
    entry: Entry
    successor: str = ""
    ended: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedOperation:
    """An *operation* that was not applied, with the *reason*."""

    operation: Operation
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedOperations:
    """The edited *documents*, and what was *applied* and *refused*, in the order of the operations."""

    documents: Mapping[str, Document]
    applied: tuple[AppliedOperation, ...] = ()
    refused: tuple[RefusedOperation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleEnding:
    """An end of the entry *older* that nobody is sure of.

    *newer* is the entry as *operation* would change it, or the entry that would supersede it. *origin* is the least
    trusted origin of the turns that say so. *gone* is what the end takes from an entry that says several things.
    """

    operation: Operation
    older: Entry
    newer: Entry
    origin: str
    gone: str = ""


@dataclass(slots=True)
class _Edits:
    """The entries of ``MEMORY.md`` by id while operations are applied, and the new ones."""

    entries: dict[str, Entry]
    superseded: Mapping[str, str]
    #: Entries in memory only gain lines, because a person may have read them.
    reworded: bool = True
    changed: dict[str, Entry] = field(default_factory=dict)
    added: list[Entry] = field(default_factory=list)


def apply_operations(
    documents: Mapping[str, Document],
    operations: Sequence[Operation],
    origins: Mapping[str, str],
    *,
    date: str,
    new_id: Callable[[str, str], str],
    origin_of: OriginOf = nobody,
) -> AppliedOperations:
    """Apply *operations* to ``MEMORY.md``, one after the other. An operation that may not be applied is refused.

    Args:
        documents: ``MEMORY.md`` and other files, by path. Only ``MEMORY.md`` is edited.
        operations: what a reader proposes. One that is unsure is refused, because a person decides about it.
        origins: the origin of each turn, by its source. An operation must cite turns that are there.
        date: the day of the session, ISO 8601.
        new_id: returns an unused id for a prefix and a seed.
        origin_of: the origin of a sentence that restates what others said.
    """
    entries = list(documents[MEMORY].entries())
    edits = _Edits(entries={entry.id: entry for entry in entries}, superseded=superseded_by(entries))
    applied: list[AppliedOperation] = []
    refused: list[RefusedOperation] = []
    for proposed in operations:
        operation = _as_replacement(proposed, edits)
        origin = operation_origin(operation, origins, origin_of)
        carried = _carrying_successor(operation, edits)
        target = operation if carried is None else operation.about(carried.id)
        reason = _refusal(target, edits, origins, origin)
        if carried is not None and not reason:
            applied += _take_from(carried, operation, edits, origin, date, new_id)
            continue
        if not reason and _ends_unknown_part(operation, edits.entries[operation.target]):
            operation, reason = replace(operation, unsure=True), "the words do not tell which part of it ends"
        if reason:
            refused.append(RefusedOperation(operation=operation, reason=reason))
            continue
        applied.append(_apply(operation, edits, origin, date, new_id))
    document = documents[MEMORY].with_entries(
        [(_section_title(entry), edits.changed.get(entry.id, entry)) for entry in edits.added],
        [entry for entry_id, entry in edits.changed.items() if entry_id not in {new.id for new in edits.added}],
    )
    return AppliedOperations(
        documents={**documents, MEMORY: document}, applied=tuple(applied), refused=tuple(refused)
    )  # fmt: skip


def possible_endings(
    documents: Mapping[str, Document],
    operations: Sequence[Operation],
    origins: Mapping[str, str],
    *,
    date: str,
    new_id: Callable[[str, str], str],
    origin_of: OriginOf = nobody,
) -> list[PossibleEnding]:
    """Return what the unsure ones among *operations* would change, as far as a person may agree to it.

    A person may end any entry, and not only a thread. The other rules hold as in :func:`apply_operations`.
    """
    entries = list(documents[MEMORY].entries())
    found = []
    for unsure in operations:
        edits = _Edits(
            entries={entry.id: entry for entry in entries}, superseded=superseded_by(entries), reworded=False
        )
        operation = replace(_as_replacement(unsure, edits), unsure=False)
        origin = operation_origin(operation, origins, origin_of)
        if not unsure.unsure or _refusal(operation, edits, origins, origin, resolvable=None):
            continue
        older = edits.entries[operation.target]
        applied = _apply(operation, edits, origin, date, new_id)
        newer = edits.entries[applied.successor] if applied.successor else applied.entry
        gone = older.text if _ends_unknown_part(operation, older) else applied.ended
        found.append(
            PossibleEnding(operation=applied.operation, older=older, newer=newer, origin=origin, gone=gone)
        )  # fmt: skip
    return found


def operation_origin(operation: Operation, origins: Mapping[str, str], origin_of: OriginOf = nobody) -> str:
    """Return the least trusted origin of the turns that *operation* cites, or of those whose words they restate."""
    speakers = [origins.get(source, "agent") for source in operation.sources]
    restated = origin_of(operation.text, operation.sources[0]) if set(speakers) == {"agent"} else ""
    return least_trusted([*speakers, restated] if restated else speakers)


def retired(entry: Entry, kind: OperationKind, date: str, source: str, remark: str = "") -> Entry:
    """Return *entry* as resolved or retracted on *date* by the turn *source*, with a short *remark*."""
    word = "retracted" if kind == "retract" else "resolved"
    state = ", ".join(part for part in (f"{word} {date}", source) if part)
    remark = shorten(" ".join(remark.split()), _MAX_REMARK_CHARS)
    return entry.changed(fields={**entry.fields, "State": f"{state}: {remark}" if remark else state})


def _carrying_successor(operation: Operation, edits: _Edits) -> Entry | None:
    """Return the entry of the same session that superseded the target and carries on the part that *operation* ends.

    A session may replace two parts of one entry, each with a sentence of its own.
    """
    older = edits.entries.get(operation.target)
    newer = edits.entries.get(edits.superseded.get(operation.target, ""))
    if older is None or newer is None or operation.kind not in {"supersede", "retract"} or not operation.sources:
        return None
    sessions = {source.strip().partition("#")[0] for source in newer.fields.get("Sources", "").split(",")}
    if operation.sources[-1].partition("#")[0] not in sessions:
        return None
    part = replaced_part(newer, operation.text)
    gone = part.gone.rstrip(" .!\u3002\uff01")
    return newer if part.certain and part.kept and gone and gone in stated_text(older) else None


def _take_from(
    carried: Entry, operation: Operation, edits: _Edits, origin: str, date: str, new_id: Callable[[str, str], str]
) -> list[AppliedOperation]:
    """End the part of *carried* that *operation* is about. A new statement gets an entry of its own."""
    older, source = edits.entries[operation.target], operation.sources[-1]
    part = replaced_part(carried, operation.text)
    state = f"{'retracted' if operation.kind == 'retract' else 'superseded'} {date}, {source}"
    entry = narrowed(carried, part, state, source)
    edits.entries[entry.id] = edits.changed[entry.id] = entry
    done = [AppliedOperation(operation=operation.about(entry.id, "revise"), entry=entry, ended=part.gone)]
    key = identity_key(operation.text)
    if operation.kind == "retract" or any(identity_key(known.text) == key for known in edits.entries.values()):
        return done
    text = " ".join(operation.text.split())
    fields = {"Sources": ", ".join(operation.sources), "Origin": origin}
    added = Entry(id=new_id(older.prefix, f"{source}\0{text}"), date=date, title=text, fields=fields)
    edits.added.append(added)
    edits.entries[added.id] = edits.changed[added.id] = added
    return [*done, AppliedOperation(operation=operation, entry=older, successor=added.id)]


def _as_replacement(operation: Operation, edits: _Edits) -> Operation:
    """Return an unsure end of a decision as a replacement where the sentence that ends it became a decision itself.

    Only threads and facts come to an end by themselves.
    """
    entry = edits.entries.get(operation.target)
    if entry is None or not operation.unsure or operation.kind != "resolve" or entry.prefix in RESOLVABLE:
        return operation
    key = identity_key(operation.text)
    for newer in edits.entries.values():
        said_so = operation.sources[-1] in newer.fields.get("Sources", "").split(", ")
        if said_so and newer.prefix == entry.prefix and newer.id != entry.id and key in identity_key(newer.text):
            return replace(operation, kind="supersede", text=newer.text)
    return operation


def _refusal(
    operation: Operation,
    edits: _Edits,
    origins: Mapping[str, str],
    origin: str,
    *,
    resolvable: frozenset[str] | None = RESOLVABLE,
) -> str:
    """Return why *operation* may not be applied, or an empty string.

    Only entries with a prefix in *resolvable* are resolved. ``None`` means all.
    """
    entry = edits.entries.get(operation.target)
    if entry is None:
        return f"MEMORY.md has no entry {operation.target}"
    if operation.unsure:
        return "the reader is not sure"
    if not operation.sources or not all(source in origins for source in operation.sources):
        return "it cites a turn that the session does not have"
    if entry.retired or entry.id in edits.superseded:
        return f"{entry.id} is resolved, retracted or superseded already"
    if entry.protected:
        return f"{entry.id} is protected"
    if has_placeholder(operation.text) or (operation.kind in {"supersede", "revise"} and not operation.text.strip()):
        return "a part of its words was withheld" if operation.text else "it has no new statement"
    if operation.kind == "resolve" and resolvable is not None and entry.prefix not in resolvable:
        return f"{entry.id} is no open thread"
    own = entry.fields.get("Origin") or "user"
    trusted = TRUST.index(origin) <= (TRUST.index(own) if own in TRUST else TRUST.index("agent"))
    if operation.kind == "resolve" and origin == "agent":
        trusted = True  # the agent may report that it finished what the user asked for
    return "" if trusted else f"a text of origin {origin} may not change an entry of origin {own}"


def _ends_unknown_part(operation: Operation, entry: Entry) -> bool:
    """Return whether *entry* says several things, and the words do not tell which of them *operation* ends."""
    if operation.kind == "supersede":
        return replaces_unknown_part(entry, entry.changed(title=operation.text, body="", detail=""))
    return _may_end_in_part(operation, entry) and not ended_part(entry, operation.text).certain


def _may_end_in_part(operation: Operation, entry: Entry) -> bool:
    own = (entry.fields.get("Origin") or "user") == "user"
    return bool(operation.text) and (operation.kind == "resolve" or (operation.kind == "retract" and own))


def _apply(
    operation: Operation, edits: _Edits, origin: str, date: str, new_id: Callable[[str, str], str]
) -> AppliedOperation:
    entry = edits.entries[operation.target]
    successor = ended = ""
    if operation.kind in {"resolve", "retract"}:
        part = ended_part(entry, operation.text) if _may_end_in_part(operation, entry) else None
        done = retired(entry, operation.kind, date, operation.sources[-1], operation.text)
        if part is not None and part.certain and part.kept:
            entry, ended = narrowed(entry, part, done.fields["State"], operation.sources[-1]), part.gone
            operation = replace(operation, kind="revise")
        else:
            entry = done
    elif operation.kind == "revise":
        entry = _revised(entry, operation, origin, date)
    else:
        newer = _successor(entry, operation, edits, origin, date, new_id)
        successor = newer.id
        edits.entries[successor] = edits.changed[successor] = newer
        entry = entry.changed(fields={**entry.fields, "Superseded-By": successor})
        edits.superseded = {**edits.superseded, entry.id: successor}
    edits.entries[entry.id] = edits.changed[entry.id] = entry
    return AppliedOperation(operation=operation, entry=entry, successor=successor, ended=ended)


def _revised(entry: Entry, operation: Operation, origin: str, date: str) -> Entry:
    """Return *entry* with the statement of *operation*, the sources of both and the less trusted origin."""
    sources = [part.strip() for part in entry.fields.get("Sources", "").split(",") if part.strip()]
    fields = {**entry.fields, "Sources": ", ".join(dict.fromkeys([*sources, *operation.sources]))}
    fields.pop("Evidence", None)  # it was about the old statement
    own = entry.fields.get("Origin") or "user"
    if own != "user" or origin != "user" or "Origin" in fields:
        fields["Origin"] = least_trusted([own, origin])
    return entry.changed(
        title=" ".join(operation.text.split()), body="", detail="", date=max(entry.date, date), fields=fields
    )  # fmt: skip


def _successor(
    entry: Entry, operation: Operation, edits: _Edits, origin: str, date: str, new_id: Callable[[str, str], str],
) -> Entry:  # fmt: skip
    """Return the entry with the new statement: one that says the same, or a new one in the same section.

    An entry that says the same stands in that section, or cites the turn that says so.
    """
    text = " ".join(operation.text.split())
    key = identity_key(text)
    for known in edits.entries.values():
        said_so = operation.sources[-1] in known.fields.get("Sources", "").split(", ")
        if (known.prefix == entry.prefix or said_so) and known.id != entry.id and identity_key(known.text) == key:
            older = [part.strip() for part in known.fields.get("Supersedes", "").split(",") if part.strip()]
            kept = with_kept_words(entry, known, reworded=said_so and edits.reworded)
            return kept.changed(fields={**kept.fields, "Supersedes": ", ".join(dict.fromkeys([*older, entry.id]))})
    fields = {"Sources": ", ".join(operation.sources), "Origin": origin}
    added = Entry(
        id=new_id(entry.prefix, f"{operation.sources[-1]}\0{text}"), date=date, title=text,
        fields=fields,
    )  # fmt: skip
    added = with_kept_words(entry, added)
    added = added.changed(fields={**added.fields, "Supersedes": entry.id})
    edits.added.append(added)
    return added


def _section_title(entry: Entry) -> str:
    rule = section_of(entry.prefix)
    return rule.title if rule else "Entries"
