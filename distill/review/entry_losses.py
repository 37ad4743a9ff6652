"""Ask a person about large losses of entries, and carry out the answers.

The entries are back in their file already (``agent_home.store.losses``). To accept a loss removes them in one commit.
To reject it keeps them. The decision and its row in a ledger are one commit, and then the record is removed.
:func:`settle_losses` removes it when the process was killed between the two.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.home import Home
from agent_home.screening.review_ledger import APPROVED, REJECTED, decisions
from agent_home.store import losses
from agent_home.store.gateway import prepare, transaction
from agent_home.store.losses import Loss
from agent_home.store.machine_state import hold_home

from ..errors import NoSuchProposal
from .quarantine_review import Acceptance

__all__ = ["accept_loss", "plan_loss", "reject_loss", "settle_losses"]


def accept_loss(home: Home, loss_id: str, *, person: str, now: datetime) -> Acceptance:
    """Remove the entries of a loss, in one commit in the name of *person*. Entries that changed since stay.

    Raises:
        NoSuchProposal: somebody else decided meanwhile.
        HomeError: see :func:`agent_home.store.gateway.transaction`.
    """
    loss = _find(home, loss_id)
    message = f"Remove {len(loss.entries)} entries from {loss.path}, as a person did by hand"
    with transaction(home, actor=person, message=message, source="user", now=now) as edits:
        _find(home, loss_id)
        acceptance = _plan(loss, edits.text(loss.path))
        edits.write(loss.path, acceptance.after)
        edits.append(APPROVED, [_row(loss, person, now)])
    _discard(home, loss)
    return replace(acceptance, commit=edits.outcome.commit)


def plan_loss(home: Home, loss_id: str) -> Acceptance:
    """Return what :func:`accept_loss` would do now."""
    loss = _find(home, loss_id)
    return _plan(loss, storage.read_text(home.path(loss.path)))


def reject_loss(home: Home, loss_id: str, *, person: str, now: datetime) -> str | None:
    """Keep the entries of a loss, and record who decided that. Return the commit."""
    loss = _find(home, loss_id)
    message = f"Keep {len(loss.entries)} entries in {loss.path}"
    with transaction(home, actor=person, message=message, source="user", now=now) as edits:
        _find(home, loss_id)
        edits.append(REJECTED, [_row(loss, person, now)])
    _discard(home, loss)
    return edits.outcome.commit


def settle_losses(home: Home, now: datetime) -> list[Loss]:
    """Bring back what is lost now, and return the losses that wait. The write of a process that died is completed.

    The record of a loss goes when it is decided, or when none of its entries is in its file any more.
    """
    prepare(home, now)
    found = losses.waiting(home)
    decided = decisions(home) if found else None
    restored = not losses.pending(home) if found else True
    left = []
    for loss in found:
        if (decided and decided.settled(loss.id)) or (restored and not losses.lost_entries(home, loss)):
            _discard(home, loss)
        else:
            left.append(loss)
    return left


def _plan(loss: Loss, before: str) -> Acceptance:
    document = parse(before)
    removed = losses.entries_of(loss, before)
    for entry in removed:
        document = document.without_entry(entry.id)
    text = "".join(entry.render() for entry in removed)
    return Acceptance(
        id=loss.id, path=loss.path, section="", text=text, before=before, after=document.render()
    )  # fmt: skip


def _find(home: Home, loss_id: str) -> Loss:
    waiting = losses.waiting(home)
    found = next((loss for loss in waiting if loss.id == loss_id), None)
    if found is None:
        raise NoSuchProposal(loss_id, [loss.id for loss in waiting])
    return found


def _discard(home: Home, loss: Loss) -> None:
    with hold_home(home):
        losses.discard(home, loss)


def _row(loss: Loss, person: str, now: datetime) -> dict[str, object]:
    return {"ts": now.isoformat(), "kind": "loss", "id": loss.id, "by": person, "digests": []}
