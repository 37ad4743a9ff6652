"""Undo a decision about a waiting text: what it changed is taken back, and the text waits again.

The change of its commit is reversed by blocks, so that what was written since stays. The decision's rows stay in the
ledgers, and a further row says that they count no more. A message that was appended to its transcript stays there:
a transcript only grows, so that acceptance cannot be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.document_merge import merge_texts
from agent_home.errors import HistoryError
from agent_home.events.recording import record_event
from agent_home.git import commits, history
from agent_home.home import Home
from agent_home.screening.review_ledger import APPROVED, REJECTED, UNDO, decisions, rows_of
from agent_home.sharing.folders import shared_folder, submodules
from agent_home.store import proposals
from agent_home.store.gateway import Transaction, transaction
from agent_home.store.machine_state import hold_home
from agent_home.store.recovery import marked_git, recover

from ..errors import NotUndoable
from .decided_items import DecidedItem, drop_decided, drop_old, undoable
from .deciders import require_person

__all__ = ["Undone", "is_undoable", "settle_undone", "undo", "undo_last"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """Result of :func:`undo`. *commit* is ``None`` for an edit, which was on a branch alone."""

    item: DecidedItem
    person: str
    commit: str | None = None


def undo_last(home: Home, *, person: str, now: datetime) -> Undone:
    """Undo the newest decision of this machine that can be undone.

    Raises:
        NotUndoable: there is none, or see :func:`undo`.
        NotAllowed: *person* may not decide.
    """
    found = undoable(home, now)
    if not found:
        raise NotUndoable("", "no decision of the last day is left to undo")
    return undo(home, found[0].id, person=person, now=now)


def undo(home: Home, item_id: str, *, person: str, now: datetime) -> Undone:
    """Take the decision about the text with that id back, in one commit that names *person*. The text waits again.

    Raises:
        NotUndoable: no such decision is kept, or what it wrote was changed since.
        NotAllowed: *person* may not decide.
        HomeError: see :func:`agent_home.store.gateway.transaction`. Nothing was changed.
    """
    person = require_person(home, person)
    item = _find(home, item_id, now)
    commit = None if item.action == "edited" else _take_back(home, item, person=person, now=now)
    _wait_again(home, item)
    record_event(home, "review", now=now, item=item.id, kind=item.kind, action="undone")
    return Undone(item=item, person=person, commit=commit)


def settle_undone(home: Home, now: datetime) -> None:
    """Let texts wait again whose decisions a killed process undid and left incomplete. Forget old decisions."""
    drop_old(home, now)
    for item in undoable(home, now):
        if item.action != "edited" and _is_taken_back(home, item):
            with suppress(NotUndoable):
                _wait_again(home, item)


def is_undoable(home: Home, item: DecidedItem) -> bool:
    """Return whether a decision can be undone: it wrote neither a transcript nor a shared folder."""
    if item.action == "edited":
        return True
    if item.action == "accepted" and item.kind == "quarantine" and item.path.startswith("sessions/"):
        return False
    return shared_folder(home, item.path, submodules(home)) is None


def _find(home: Home, item_id: str, now: datetime) -> DecidedItem:
    folded_id = item_id.strip().strip("[]").casefold()
    found = next((item for item in undoable(home, now) if item.id.casefold() == folded_id), None)
    if found is None:
        raise NotUndoable(item_id, "no decision about it is left to undo. A decision is kept for a day")
    return found


def _take_back(home: Home, item: DecidedItem, *, person: str, now: datetime) -> str | None:
    """Reverse the change of the decision's commit, and return the new one."""
    try:
        paths = history.query(home.root, "diff-tree", "--no-commit-id", "--name-only", "-r", "-z", item.commit)
        changed = [path for path in paths.split("\0") if path]
        versions = history.texts_at(home.root, [(f"{item.commit}{at}", path) for path in changed for at in ("^", "")])
    except HistoryError as error:
        raise NotUndoable(item.id, f"git has its commit {item.commit[:7]} no more") from error
    with transaction(home, actor=person, message=f"Undo the decision about {item.id}", source="user", now=now) as edits:
        edits.trailer("Reverts", item.commit)
        for number, path in enumerate(changed):
            before, after = versions[2 * number : 2 * number + 2]
            if path in (APPROVED, REJECTED):
                edits.append(path, _undoing_rows(item, before, after, person, now))
            elif path.endswith(".md"):
                edits.write(path, _reversed(item, edits, path, before, after))
    return edits.outcome.commit


def _reversed(item: DecidedItem, edits: Transaction, path: str, before: str, after: str) -> str:
    """Return the text of *path* without the change from *before* to *after*.

    Raises:
        NotUndoable: what the decision wrote was changed since.
    """
    present, was = ({entry.id: entry for entry in parse(text).entries()} for text in (edits.text(path), before))
    made = [entry for entry in parse(after).entries() if was.get(entry.id) != entry]
    changed = [entry.id for entry in made if present.get(entry.id) != entry]
    merged = merge_texts(after, edits.text(path), before, path)
    if changed := [*changed, *merged.flagged]:
        raise NotUndoable(item.id, f"{', '.join(changed)} in {path} was changed since. Edit it by hand")
    return merged.text


def _undoing_rows(item: DecidedItem, before: str, after: str, person: str, now: datetime) -> Sequence[dict[str, Any]]:
    made = {row.digest for row in rows_of(after)} - {row.digest for row in rows_of(before)}
    row = {"ts": now.isoformat(), "kind": UNDO, "id": item.id, "by": person, "digests": sorted(made), "commit": ""}
    return [row] if made else []


def _is_taken_back(home: Home, item: DecidedItem) -> bool:
    """Return whether the rows of the decision count no more."""
    decided = decisions(home)
    return not any(row.id == item.id for row in (*decided.approved, *decided.rejected))


def _wait_again(home: Home, item: DecidedItem) -> None:
    """Put the text back to where it waited, and forget the decision. Doing it again changes nothing."""
    with hold_home(home):
        recover(home)
        for path, text in item.files.items():
            storage.stage(home.machine / "staging" / "undo.tmp", text.encode("utf-8", "surrogateescape"))
            storage.replace(home.machine / "staging" / "undo.tmp", home.machine / path)
        if item.waited:
            with marked_git(home):
                _restore_branch(home, item)
        drop_decided(home, item)


def _restore_branch(home: Home, item: DecidedItem) -> None:
    present = proposals.find(home, item.id)
    if present is not None and present.commit not in {item.edited, item.waited}:
        raise NotUndoable(item.id, "it was changed since, and waits")
    try:
        commits.set_branch(home.root, proposals.branch_of(item.id), item.waited)
    except HistoryError as error:
        raise NotUndoable(item.id, f"git has the commit {item.waited[:7]} of the proposal no more") from error
