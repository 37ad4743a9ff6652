"""Undoing what the last commit did to one entry, and to that entry alone.

`git revert` takes a whole commit back: a closing's other entries and its daily section with it. Here the rest of the
commit stays. Undoing is a commit like any other, so it can be undone the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from agent_home import history, storage
from agent_home.changes import EntryChange, compare
from agent_home.check import entry_files
from agent_home.document import Block, Document, parse
from agent_home.entry import Entry, meant_id, parse_entry
from agent_home.errors import NoSuchEntry
from agent_home.gateway import Transaction, transaction
from agent_home.history import Event
from agent_home.home import Home
from agent_home.placement import placed
from agent_home.reviewed import decisions
from agent_home.screening import reason_of, screened_text

from .errors import NotRevertable

__all__ = ["Reverted", "planned_revert", "revert"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reverted:
    """What undoing does, or did.

    *undoes* is the commit whose work on the entry goes, *change* what that work was. *linked* are the entries that say
    that this one took their place, where it goes away. *commit* is ``None`` while it is only planned.
    """

    id: str
    undoes: Event
    change: EntryChange
    linked: tuple[str, ...] = ()
    commit: str | None = None


def planned_revert(home: Home, spelled: str) -> Reverted:
    """What :func:`revert` would do now.

    Raises:
        NoSuchEntry: git knows no entry of that id.
        NotRevertable: the entry was changed since by hand, or the commit changed nothing that can be undone.
    """
    entry_id = meant_id(spelled)
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
    linked = () if change.before else tuple(_linked(home, entry_id))
    return Reverted(id=entry_id, undoes=last, change=change, linked=linked)


def revert(home: Home, spelled: str, *, now: datetime, actor: str = "revert") -> Reverted:
    """Give the entry the text and the file that it had before its last commit.

    Raises:
        NoSuchEntry, NotRevertable: see :func:`planned_revert`.
        HomeError: see :func:`agent_home.gateway.transaction`; nothing was written.
    """
    entry_id = meant_id(spelled)
    with transaction(home, actor=actor, message=f"Revert {entry_id} to what it was before", now=now) as edits:
        planned = planned_revert(home, entry_id)
        _refuse_held_back(home, planned.change)
        edits.trailer("Reverts", planned.undoes.commit)
        _undo(edits, planned)
    return replace(planned, commit=edits.outcome.commit)


def _refuse_held_back(home: Home, change: EntryChange) -> None:
    """Stop before the guard takes what the entry said before out of the file, and the entry with it."""
    if change.action not in {"changed", "removed"} or decisions(home).approves(change.before):
        return
    verdict = screened_text(home, change.old_path, change.before, "agent")
    if not verdict.stored:
        raise NotRevertable(change.id, f"the guard does not pass what it said before ({reason_of(verdict)})")


def _undo(edits: Transaction, planned: Reverted) -> None:
    change = planned.change
    before = parse_entry(change.before) if change.before else None
    names = [(f"{planned.undoes.commit}^", path) for path in (change.path, change.old_path)]
    old, origin = (parse(text) for text in history.texts_at(edits.home.root, names))
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
    return placed(document, entry.render(), section=section)


def _linked(home: Home, entry_id: str) -> list[str]:
    """The entries that *entry_id* took the place of, by their own word."""
    documents = (parse(storage.read_text(home.path(path))) for path in entry_files(home))
    entries = (entry for document in documents for entry in document.entries())
    return [entry.id for entry in entries if entry_id in entry.fields.get("Superseded-By", "")]
