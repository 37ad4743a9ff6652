"""Ask a person about texts that recovery set aside, and carry out the answers.

To accept such a text merges what its file lacks, entry by entry, through the gateway and the guard. To reject it
removes it. The decision and its row in a ledger are one commit, and then the text is removed.
:func:`settle_recovered` removes it when the process was killed between the two.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime

from agent_home import storage
from agent_home.documents.check import entry_files, holds_entries
from agent_home.documents.document import Document, parse
from agent_home.documents.document_merge import merge_texts
from agent_home.errors import DocumentInvalid
from agent_home.home import Home
from agent_home.screening.review_ledger import APPROVED, REJECTED, decisions
from agent_home.store import set_aside
from agent_home.store.gateway import transaction
from agent_home.store.machine_state import hold_home
from agent_home.store.set_aside import SetAside

from ..errors import NoSuchProposal, NotPlaceable
from .quarantine_review import Acceptance

__all__ = ["accept_recovered", "difference", "plan_recovered", "reject_recovered", "settle_recovered"]

#: Files that are merged by their sections or lines: closings alone write them.
_LOGS = ("DailyActivity/", "Archive/DailyActivity/", "ledger/")
_MAX_NAMED = 5


def difference(home: Home, item: SetAside) -> str:
    """Say in a few words what the text has that memory lacks."""
    if not item.path or not item.text.strip():
        return "it cannot be read, or its name does not tell where it belongs"
    present = _present(home, item.path)
    if holds_entries(item.path):
        wanted = [entry.id for entry in _wanted(home, item, present).entries()]
        more = f" and {len(wanted) - _MAX_NAMED} more" if len(wanted) > _MAX_NAMED else ""
        named = f"{', '.join(wanted[:_MAX_NAMED])}{more}"
        return f"entries that are missing or say something else: {named}" if wanted else "no entry of it is missing"
    lines = Counter(item.text.splitlines()) - Counter(present.splitlines())
    count = sum(number for line, number in lines.items() if line.strip())
    return f"lines that are missing: {count}" if count else "nothing of it is missing"


def accept_recovered(home: Home, item_id: str, *, person: str, now: datetime) -> Acceptance:
    """Write what the file lacks, in one commit in the name of *person*, and remove the text that was set aside.

    Raises:
        NotPlaceable: the file cannot be merged.
        NoSuchProposal: somebody else decided meanwhile.
        HomeError: see :func:`agent_home.store.gateway.transaction`.
    """
    item = _find(home, item_id)
    message = f"Merge what was set aside for {item.path or item.name}"
    with transaction(home, actor=person, message=message, now=now) as edits:
        _find(home, item_id)
        acceptance = _plan(home, item, edits.text(item.path) if item.path else "")
        edits.write(item.path, acceptance.after)
        edits.append(APPROVED, [_row(item, person, now)])
    _discard(home, item)
    return replace(acceptance, commit=edits.outcome.commit)


def plan_recovered(home: Home, item_id: str) -> Acceptance:
    """Return what :func:`accept_recovered` would write now. It raises the same errors, except those of a write."""
    item = _find(home, item_id)
    return _plan(home, item, _present(home, item.path))


def reject_recovered(home: Home, item_id: str, *, person: str, now: datetime) -> str | None:
    """Remove a text that was set aside, and record who decided that. Return the commit."""
    item = _find(home, item_id)
    message = f"Drop what was set aside for {item.path or item.name}"
    with transaction(home, actor=person, message=message, source="user", now=now) as edits:
        _find(home, item_id)
        edits.append(REJECTED, [_row(item, person, now)])
    _discard(home, item)
    return edits.outcome.commit


def settle_recovered(home: Home) -> list[SetAside]:
    """Return the texts that wait, and remove those that are decided."""
    found = set_aside.waiting(home)
    decided = decisions(home) if found else None
    done = {item.id for item in found if decided and decided.settled(item.id)}
    for item in found:
        if item.id in done:
            _discard(home, item)
    return [item for item in found if item.id not in done]


def _plan(home: Home, item: SetAside, before: str) -> Acceptance:
    """Plan the acceptance.

    Raises:
        NotPlaceable: the file is none of entries, closings or JSON lines, or a block in it is never closed.
    """
    if not item.path or not item.text.strip():
        raise NotPlaceable(item.id, f"{item.name} cannot be read, or does not tell where it belongs")
    try:
        if item.path.endswith(".jsonl"):
            known = set(before.splitlines())
            after = before + "".join(f"{line}\n" for line in item.text.splitlines() if line not in known)
        elif holds_entries(item.path):
            after = merge_texts("", before, _wanted(home, item, before).render(), item.path).text
        elif item.path.startswith(_LOGS):
            after = merge_texts("", before, item.text, item.path).text
        else:
            problem = f"{item.path} has no entries. Copy what is missing from {home.machine / 'recovered' / item.name}"
            raise NotPlaceable(item.id, problem)
    except DocumentInvalid as error:
        raise NotPlaceable(item.id, str(error)) from error
    return Acceptance(id=item.id, path=item.path, section="", text=item.text, before=before, after=after)


def _wanted(home: Home, item: SetAside, present: str) -> Document:
    """Return the headings of the text, and its entries that are in no file or say something else in this one."""
    here = {entry.id: entry for entry in parse(present).entries()}
    others = (path for path in entry_files(home) if path != item.path)
    elsewhere = {entry.id for path in others for entry in parse(_present(home, path)).entries()}
    document = parse(item.text)
    blocks = [
        block
        for block in document.blocks
        if block.kind in {"heading", "blank"}
        or (
            block.entry is not None
            and block.entry.id not in elsewhere
            and (block.entry.id not in here or here[block.entry.id].render() != block.entry.render())
        )
    ]
    return document.with_blocks(blocks)


def _present(home: Home, path: str) -> str:
    try:
        return storage.read_text(home.path(path)) if path else ""
    except (DocumentInvalid, OSError):
        return ""


def _find(home: Home, item_id: str) -> SetAside:
    waiting = set_aside.waiting(home)
    found = next((item for item in waiting if item.id == item_id), None)
    if found is None:
        raise NoSuchProposal(item_id, [item.id for item in waiting])
    return found


def _discard(home: Home, item: SetAside) -> None:
    with hold_home(home):
        set_aside.discard(home, item)


def _row(item: SetAside, person: str, now: datetime) -> dict[str, object]:
    return {"ts": now.isoformat(), "kind": "recovered", "id": item.id, "by": person, "digests": []}
