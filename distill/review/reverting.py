"""Undo the last change of one entry and nothing else.

`git revert` undoes a whole commit, with the other entries and the daily section of a closing. Here the rest of the
commit stays. Undoing is a commit like any other, so it can be undone in the same way.

When an added entry is removed again, older entries lose their links to it: with a link to a missing entry they would be
left out of every prompt. When a removed entry returns, the links are restored. The same holds for a change that added
or removed a link: both entries name each other or neither does, because either link is enough to supersede one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from agent_home import storage
from agent_home.documents.check import entry_files
from agent_home.documents.document import Block, Document, parse
from agent_home.documents.entry import ENTRY_ID, Entry, normalise_id, parse_entry, superseded_by
from agent_home.documents.placement import insert_text
from agent_home.errors import NoSuchEntry
from agent_home.git import history
from agent_home.git.entry_diff import EntryChange, compare
from agent_home.git.history import Event
from agent_home.home import Home
from agent_home.screening.review_ledger import decisions
from agent_home.screening.service import ScreeningService
from agent_home.screening.write_policy import reason_of
from agent_home.store.gateway import Transaction, transaction

from ..errors import NotRevertable, StillSuperseded

__all__ = ["EntryRevert", "RelinkedEntry", "plan_revert", "revert"]

_LINK, _BACK_LINK = "Superseded-By", "Supersedes"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelinkedEntry:
    """An entry of the file *path*, before and after the change of its link to the reverted entry."""

    path: str
    before: Entry
    after: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRevert:
    """A planned or completed revert of one entry.

    *undoes* is the commit with the *change* that is undone. *linked* has the older entries that lose their link
    ``Superseded-By``, or get it back. *successors* has the newer entries that lose their link ``Supersedes``, or get it
    back. *superseded_by* is the entry that supersedes the reverted one afterwards, or empty. *commit* is ``None`` for a
    plan.
    """

    id: str
    undoes: Event
    change: EntryChange
    linked: tuple[RelinkedEntry, ...] = ()
    successors: tuple[RelinkedEntry, ...] = ()
    superseded_by: str = ""
    commit: str | None = None


def plan_revert(home: Home, spelled: str) -> EntryRevert:
    """Return what :func:`revert` would do now.

    Raises:
        NoSuchEntry: git knows no entry with that id.
        NotRevertable: the entry was changed by hand since, or the commit did not change it.
        StillSuperseded: the commit superseded the entry, and another entry supersedes it as well.
    """
    entry_id = normalise_id(spelled)
    events = history.entry_history(home.root, entry_id)
    if not events:
        raise NoSuchEntry(entry_id)
    last = events[-1]
    parents = history.query(home.root, "rev-list", "--parents", "-n", "1", last.commit).split()[1:]
    changes = compare(home, parents[0] if parents else None, last.commit).entries
    change = next((change for change in changes if change.id == entry_id), None)
    if change is None:
        raise NotRevertable(entry_id, f"commit {last.commit[:7]} does not change it")
    if any(changed.id == entry_id for changed in compare(home, last.commit, None).entries):
        raise NotRevertable(
            entry_id, f"it was changed by hand since commit {last.commit[:7]}. Commit or undo that change first"
        )
    older, newer = parse_entry(change.before), parse_entry(change.after)
    linked = _relinked(home, _LINK, entry_id, changes, older, newer)
    successors: tuple[RelinkedEntry, ...] = ()
    if older is not None and newer is not None:
        successors = _relinked(home, _BACK_LINK, entry_id, changes, older, newer)
    plan = EntryRevert(id=entry_id, undoes=last, change=change, linked=linked, successors=successors)
    return replace(plan, superseded_by=_remaining_successor(home, plan, older, newer))


def revert(home: Home, spelled: str, *, now: datetime, actor: str = "revert") -> EntryRevert:
    """Restore the text and the file that the entry had before its last commit.

    Raises:
        NoSuchEntry, NotRevertable, StillSuperseded: see :func:`plan_revert`.
        HomeError: see :func:`agent_home.store.gateway.transaction`. Nothing was written.
    """
    entry_id = normalise_id(spelled)
    with transaction(home, actor=actor, message=f"Revert {entry_id} to what it was before", now=now) as edits:
        plan = plan_revert(home, entry_id)
        _refuse_quarantined(home, plan)
        edits.trailer("Reverts", plan.undoes.commit)
        _undo(edits, plan)
    return replace(plan, commit=edits.outcome.commit)


def _refuse_quarantined(home: Home, plan: EntryRevert) -> None:
    """Raise ``NotRevertable`` when the guard would quarantine a restored text, which would remove its entry."""
    change = plan.change
    texts = [(change.id, change.old_path, change.before)] if change.action in {"changed", "removed"} else []
    texts += [(link.after.id, link.path, link.after.render()) for link in (*plan.linked, *plan.successors)]
    known = decisions(home)
    for entry_id, path, text in texts:
        verdict = None if known.approves(text) else ScreeningService(home).verdict(path, text, "agent")
        if verdict is not None and not verdict.stored:
            subject = "it" if entry_id == change.id else entry_id
            raise NotRevertable(
                change.id, f"the guard does not allow the earlier text of {subject} ({reason_of(verdict)})"
            )


def _undo(edits: Transaction, plan: EntryRevert) -> None:
    change = plan.change
    before = parse_entry(change.before) if change.before else None
    names = [(f"{plan.undoes.commit}^", path) for path in (change.path, change.old_path)]
    old, origin = (parse(text) for text in history.texts_at(edits.home.root, names))
    for link in (*plan.linked, *plan.successors):
        edits.write(link.path, edits.read(link.path).with_entry_changed(link.after))
    document = edits.read(change.path)
    if before is None:
        edits.write(change.path, _prefer_old(old, document.without_entry(change.id)))
    elif change.action == "changed":
        edits.write(change.path, _prefer_old(old, document.with_entry_changed(before)))
    else:
        if change.after:
            edits.write(change.path, _prefer_old(old, document.without_entry(change.id)))
        document = _reinsert(edits.read(change.old_path), before, origin, change.old_section)
        edits.write(change.old_path, _prefer_old(origin, document))


def _prefer_old(old: Document, result: Document) -> Document:
    """Return *old* when its blocks equal those of *result*, so that the file gets its old blank lines back."""
    blocks = [[block.raw for block in document.blocks if block.kind != "blank"] for document in (old, result)]
    return old if blocks[0] == blocks[1] else result


def _reinsert(document: Document, entry: Entry, old: Document, section: str) -> Document:
    """Insert *entry* after its predecessor in *old*, or before its successor, or first in *section*."""
    ids = [other.id for other in old.section_entries(section)]
    at = ids.index(entry.id) if entry.id in ids else 0
    here = {block.entry.id: index for index, block in enumerate(document.blocks) if block.entry is not None}
    block = Block(kind="entry", raw=entry.render(), entry=entry)
    for neighbour, offset in ((ids[at - 1] if at else "", 1), (ids[at + 1] if at + 1 < len(ids) else "", 0)):
        if neighbour in here and document.entry(neighbour) in document.section_entries(section):
            index = here[neighbour] + offset
            if index and not document.blocks[index - 1].raw.endswith("\n"):  # the last line has no line end
                continue
            return document.with_blocks([*document.blocks[:index], block, *document.blocks[index:]])
    return insert_text(document, entry.render(), section=section)


def _relinked(
    home: Home, link: str, entry_id: str, changes: Iterable[EntryChange], older: Entry | None, newer: Entry | None
) -> tuple[RelinkedEntry, ...]:
    """Return the other entries whose field *link* must change with the revert of *newer* to *older*.

    An entry that only one of the two versions names loses its link, or gets it back. When one version is missing,
    every entry with a link to *entry_id* counts as named.
    """
    if older is None or newer is None:
        return tuple(_with_links(home, link, entry_id, changes) if older else _without_links(home, link, entry_id))
    own = _BACK_LINK if link == _LINK else _LINK
    before, after = _linked_ids(older, own), _linked_ids(newer, own)
    removed = (found for found in _without_links(home, link, entry_id) if found.after.id in after - before)
    restored = (found for found in _with_links(home, link, entry_id, changes) if found.after.id in before - after)
    return (*removed, *restored)


def _remaining_successor(home: Home, plan: EntryRevert, older: Entry | None, newer: Entry | None) -> str:
    """Return the entry that supersedes the reverted one after the revert, or an empty string.

    Raises:
        StillSuperseded: the undone commit superseded the entry, so a person expects it to hold again.
    """
    if older is None:
        return ""
    reverted = {link.after.id: link.after for link in (*plan.linked, *plan.successors)} | {plan.id: older}
    entries = {entry.id: reverted.get(entry.id, entry) for _, entry in _all_entries(home)} | {plan.id: older}
    successor = superseded_by(entries.values()).get(plan.id, "")
    if successor and newer is not None and _linked_ids(newer, _LINK) - _linked_ids(older, _LINK):
        raise StillSuperseded(plan.id, successor)
    return successor


def _without_links(home: Home, link: str, entry_id: str) -> Iterator[RelinkedEntry]:
    """Yield the entries whose field *link* names *entry_id*, with that link removed and other links kept."""
    for path, entry in _all_entries(home):
        if entry_id in _linked_ids(entry, link):
            others = ", ".join(other_id for other_id in ENTRY_ID.findall(entry.fields[link]) if other_id != entry_id)
            after = entry.changed(fields={**entry.fields, link: others}) if others else _without_link(entry, link)
            yield RelinkedEntry(path=path, before=entry, after=after)


def _with_links(home: Home, link: str, entry_id: str, changes: Iterable[EntryChange]) -> Iterator[RelinkedEntry]:
    """Yield the entries that lost their link to *entry_id* in the commit, with the link. Entries changed since stay."""
    changes_by_id = {change.id: change for change in changes if change.before and change.after}
    for path, entry in _all_entries(home):
        change = changes_by_id.get(entry.id)
        if change is None or change.after != entry.raw or change.path != path:
            continue
        before = parse_entry(change.before)
        if before is None or entry_id not in _linked_ids(before, link):
            continue
        if _without_link(before, link) == _without_link(entry, link):
            yield RelinkedEntry(path=path, before=entry, after=before)


def _all_entries(home: Home) -> Iterator[tuple[str, Entry]]:
    """Yield every entry with the path of its file before it."""
    for path in entry_files(home):
        entries: dict[str, Entry] = {}
        for entry in parse(storage.read_text(home.path(path))).entries():
            entries.setdefault(entry.id, entry)  # an edit of a repeated id changes the first entry
        yield from ((path, entry) for entry in entries.values())


def _linked_ids(entry: Entry, link: str) -> set[str]:
    return set(ENTRY_ID.findall(entry.fields.get(link, "")))


def _without_link(entry: Entry, link: str) -> Entry:
    return entry.changed(fields={name: value for name, value in entry.fields.items() if name != link})
