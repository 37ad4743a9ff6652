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
from agent_home.document import Document, parse
from agent_home.entry import Entry, meant_id, parse_entry
from agent_home.errors import NoSuchEntry
from agent_home.gateway import Transaction, transaction
from agent_home.history import Event
from agent_home.home import Home
from agent_home.placement import placed

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
        edits.trailer("Reverts", planned.undoes.commit)
        _undo(edits, planned.change)
    if edits.outcome.quarantined:
        raise NotRevertable(entry_id, "the guard holds back what it said before; see `memory review list`")
    return replace(planned, commit=edits.outcome.commit)


def _undo(edits: Transaction, change: EntryChange) -> None:
    before = parse_entry(change.before) if change.before else None
    document = edits.read(change.path)
    if before is None:
        edits.write(change.path, document.without_entry(change.id))
    elif change.action == "changed":
        edits.write(change.path, document.with_entry_changed(before))
    else:
        if change.after:
            edits.write(change.path, document.without_entry(change.id))
        edits.write(change.old_path, _put_back(edits.read(change.old_path), before, change.old_section))


def _put_back(document: Document, entry: Entry, section: str) -> Document:
    return placed(document, entry.render(), section=section)


def _linked(home: Home, entry_id: str) -> list[str]:
    """The entries that *entry_id* took the place of, by their own word."""
    documents = (parse(storage.read_text(home.path(path))) for path in entry_files(home))
    entries = (entry for document in documents for entry in document.entries())
    return [entry.id for entry in entries if entry_id in entry.fields.get("Superseded-By", "")]
