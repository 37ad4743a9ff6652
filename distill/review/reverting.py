"""Undoing what the last commit did to one entry, and to that entry alone.

`git revert` takes a whole commit back: a closing's other entries and its daily section with it. Here the rest of the
commit stays. Undoing is a commit like any other, so it can be undone the same way.

Where an entry goes away, older ones no longer say that it took their place: for the sake of an entry that is nowhere
they would be left out of every prompt. Where it comes back, they say it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from agent_home import storage
from agent_home.documents.check import entry_files
from agent_home.documents.document import Block, Document, parse
from agent_home.documents.entry import ENTRY_ID, Entry, normalise_id, parse_entry
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

from ..errors import NotRevertable

__all__ = ["EntryRevert", "RelinkedEntry", "plan_revert", "revert"]

_BY = "Superseded-By"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelinkedEntry:
    """An older entry of the file *path*, as it stands in *before* and *after* its word about who superseded it."""

    path: str
    before: Entry
    after: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRevert:
    """What undoing does, or did.

    *undoes* is the commit whose work on the entry goes, *change* what that work was. *linked* are the entries that it
    took the place of: no longer, where it goes away, and again, where it comes back. *commit* is ``None`` while it is
    only planned.
    """

    id: str
    undoes: Event
    change: EntryChange
    linked: tuple[RelinkedEntry, ...] = ()
    commit: str | None = None


def plan_revert(home: Home, spelled: str) -> EntryRevert:
    """What :func:`revert` would do now.

    Raises:
        NoSuchEntry: git knows no entry of that id.
        NotRevertable: the entry was changed since by hand, or the commit changed nothing that can be undone.
    """
    entry_id = normalise_id(spelled)
    events = history.entry_history(home.root, entry_id)
    if not events:
        raise NoSuchEntry(entry_id)
    last = events[-1]
    parents = history.ask(home.root, "rev-list", "--parents", "-n", "1", last.commit).split()[1:]
    changes = compare(home, parents[0] if parents else None, last.commit).entries
    change = next((change for change in changes if change.id == entry_id), None)
    if change is None:
        raise NotRevertable(entry_id, f"commit {last.commit[:7]} names it without changing it")
    if any(changed.id == entry_id for changed in compare(home, last.commit, None).entries):
        raise NotRevertable(
            entry_id, f"it was changed by hand since commit {last.commit[:7]}; commit or undo that first"
        )
    linked: Iterable[RelinkedEntry] = ()
    if not (change.before and change.after):
        linked = _bound(home, entry_id, changes) if change.before else _freed(home, entry_id)
    return EntryRevert(id=entry_id, undoes=last, change=change, linked=tuple(linked))


def revert(home: Home, spelled: str, *, now: datetime, actor: str = "revert") -> EntryRevert:
    """Give the entry the text and the file that it had before its last commit.

    Raises:
        NoSuchEntry, NotRevertable: see :func:`plan_revert`.
        HomeError: see :func:`agent_home.store.gateway.transaction`; nothing was written.
    """
    entry_id = normalise_id(spelled)
    with transaction(home, actor=actor, message=f"Revert {entry_id} to what it was before", now=now) as edits:
        planned = plan_revert(home, entry_id)
        _refuse_held_back(home, planned)
        edits.trailer("Reverts", planned.undoes.commit)
        _undo(edits, planned)
    return replace(planned, commit=edits.outcome.commit)


def _refuse_held_back(home: Home, planned: EntryRevert) -> None:
    """Stop before the guard takes what is written out of the file, and the entry with it."""
    change = planned.change
    texts = [(change.id, change.old_path, change.before)] if change.action in {"changed", "removed"} else []
    texts += [(link.after.id, link.path, link.after.render()) for link in planned.linked]
    known = decisions(home)
    for entry_id, path, text in texts:
        verdict = None if known.approves(text) else ScreeningService(home).verdict(path, text, "agent")
        if verdict is not None and not verdict.stored:
            whose = "it" if entry_id == change.id else entry_id
            raise NotRevertable(change.id, f"the guard does not pass what {whose} said before ({reason_of(verdict)})")


def _undo(edits: Transaction, planned: EntryRevert) -> None:
    change = planned.change
    before = parse_entry(change.before) if change.before else None
    names = [(f"{planned.undoes.commit}^", path) for path in (change.path, change.old_path)]
    old, origin = (parse(text) for text in history.texts_at(edits.home.root, names))
    for link in planned.linked:
        edits.write(link.path, edits.read(link.path).with_entry_changed(link.after))
    document = edits.read(change.path)
    if before is None:
        edits.write(change.path, _like(old, document.without_entry(change.id)))
    elif change.action == "changed":
        edits.write(change.path, _like(old, document.with_entry_changed(before)))
    else:
        if change.after:
            edits.write(change.path, _like(old, document.without_entry(change.id)))
        put_back = _put_back(edits.read(change.old_path), before, origin, change.old_section)
        edits.write(change.old_path, _like(origin, put_back))


def _like(old: Document, result: Document) -> Document:
    """*old* itself where *result* says the same: then undoing gives the file back to the letter."""
    said = [[block.raw for block in document.blocks if block.kind != "blank"] for document in (old, result)]
    return old if said[0] == said[1] else result


def _put_back(document: Document, entry: Entry, old: Document, section: str) -> Document:
    """*entry* behind the entry that it stood behind in *old*, or before the one that it stood before."""
    ids = [other.id for other in old.section_entries(section)]
    at = ids.index(entry.id) if entry.id in ids else 0
    here = {block.entry.id: index for index, block in enumerate(document.blocks) if block.entry is not None}
    block = Block(kind="entry", raw=entry.render(), entry=entry)
    for neighbour, offset in ((ids[at - 1] if at else "", 1), (ids[at + 1] if at + 1 < len(ids) else "", 0)):
        if neighbour in here and document.entry(neighbour) in document.section_entries(section):
            index = here[neighbour] + offset
            if index and not document.blocks[index - 1].raw.endswith("\n"):  # the end of a file without a line end
                continue
            return document.with_blocks([*document.blocks[:index], block, *document.blocks[index:]])
    return insert_text(document, entry.render(), section=section)


def _freed(home: Home, entry_id: str) -> Iterator[RelinkedEntry]:
    """The entries that name *entry_id* as what superseded them, without that; what else they name stays."""
    for path, entry in _standing(home):
        if _names(entry, entry_id):
            others = ", ".join(one for one in ENTRY_ID.findall(entry.fields[_BY]) if one != entry_id)
            after = entry.changed(fields={**entry.fields, _BY: others}) if others else _without_word(entry)
            yield RelinkedEntry(path=path, before=entry, after=after)


def _bound(home: Home, entry_id: str, changes: Iterable[EntryChange]) -> Iterator[RelinkedEntry]:
    """The entries that named *entry_id* until the commit of *changes*, as they were; those that changed since stay."""
    left = {change.id: change for change in changes if change.before and change.after}
    for path, entry in _standing(home):
        change = left.get(entry.id)
        if change is None or change.after != entry.raw or change.path != path:
            continue
        before = parse_entry(change.before)
        if before is not None and _without_word(before) == _without_word(entry) and _names(before, entry_id):
            yield RelinkedEntry(path=path, before=entry, after=before)


def _standing(home: Home) -> Iterator[tuple[str, Entry]]:
    """Every entry behind the path of its file."""
    for path in entry_files(home):
        entries: dict[str, Entry] = {}
        for entry in parse(storage.read_text(home.path(path))).entries():
            entries.setdefault(entry.id, entry)  # of an id that stands twice an edit changes the first
        yield from ((path, entry) for entry in entries.values())


def _names(entry: Entry, entry_id: str) -> bool:
    return entry_id in ENTRY_ID.findall(entry.fields.get(_BY, ""))


def _without_word(entry: Entry) -> Entry:
    return entry.changed(fields={name: value for name, value in entry.fields.items() if name != _BY})
