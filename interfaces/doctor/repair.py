"""Repair what can be repaired safely, for ``memory doctor --fix``: nothing that a person wrote is lost by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from agent_home import clock
from agent_home.errors import HomeError, Locked
from agent_home.git import packing
from agent_home.git.commits import drop_broken_branch
from agent_home.git.hook import hook_state, install_hook
from agent_home.git.merge_driver import driver_state, install_driver
from agent_home.home import Home
from agent_home.lock import hold
from agent_home.screening import originals
from agent_home.store import losses, machine_state, proposals, recovery

from ..counts import counted

__all__ = ["Repair", "repair"]


@dataclass(frozen=True, slots=True)
class Repair:
    """One repair: what was done, or with *done* false, why it could not be."""

    what: str
    done: bool = True


def repair(home: Home, now: datetime) -> list[Repair]:
    """Repair *home* and return what was repaired, and what could not be.

    Raises:
        Locked: another process writes.
    """
    repairs: tuple[Callable[[Home], Iterator[str]], ...] = (
        _leftovers, _interrupted, _losses, _proposals, _hook, _driver, _permissions,
        lambda home: _originals(home, now),
    )  # fmt: skip
    found: list[Repair] = []
    with machine_state.hold_home(home):
        for one in repairs:
            try:
                found += map(Repair, one(home))
            except (HomeError, OSError) as error:
                found.append(Repair(" ".join(str(error).split()), done=False))
    return found


def _leftovers(home: Home) -> Iterator[str]:
    removed = recovery.remove_git_leftovers(home)
    with suppress(Locked), hold(home.machine / "packing.lock", 0):
        removed += packing.remove_unfinished(home)
    if removed:
        yield f"removed {', '.join(removed[:5])} in .git, which a killed command of ours left"


def _interrupted(home: Home) -> Iterator[str]:
    if recovery.recover(home):
        yield "completed a write that was interrupted"


def _losses(home: Home) -> Iterator[str]:
    ledgers = losses.deleted_ledgers(home)
    for loss in losses.restore(home, clock.now()):
        yield f"brought back {len(loss.entries)} entries of {loss.path}. `memory review show {loss.id}` asks about them"
    if ledgers and not losses.deleted_ledgers(home):
        yield f"brought back {', '.join(ledgers[:5])}"


def _proposals(home: Home) -> Iterator[str]:
    for name in proposals.broken(home):
        with recovery.marked_git(home):
            drop_broken_branch(home.root, proposals.branch_of(name))
        yield f"removed the proposal {name}, which git could not read"


def _hook(home: Home) -> Iterator[str]:
    if not hook_state(home).works and install_hook(home).works:
        yield "installed the commit hook"


def _driver(home: Home) -> Iterator[str]:
    if driver_state(home).state in {"absent", "outdated"}:
        install_driver(home)
        yield "installed the merge driver"


def _originals(home: Home, now: datetime) -> Iterator[str]:
    if dropped := originals.expire(home, now):
        yield f"dropped {counted(dropped, 'expired original')} of messages that lost personal data"


def _permissions(home: Home) -> Iterator[str]:
    closed = machine_state.close_modes(home)
    if closed:
        yield f"closed {counted(len(closed), 'file or folder', 'files and folders')} to other users"
