"""Own the checkpoints in the Python API: where the work stands, by reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agent_home.checkpoints.checkpoint import find_checkpoint
from agent_home.checkpoints.making import make_checkpoint
from agent_home.clock import now as present
from agent_home.events.recording import record_event

if TYPE_CHECKING:
    from agent_home.checkpoints.checkpoint import Checkpoint
    from agent_home.home import Home

__all__ = ["Checkpoints"]


class Checkpoints:
    """The checkpoints of a home."""

    def __init__(self, home: Callable[[], Home]) -> None:
        self._home = home

    def make(
        self,
        *,
        folder: Path | None = None,
        notes: str = "",
        phase: str = "",
        depends: Sequence[str] = (),
        session: str = "",
        now: datetime | None = None,
    ) -> Checkpoint:
        """Note where the work in *folder* stands, by reference, and return the checkpoint.

        Args:
            folder: the folder of the work. Without it, the working folder.
            notes: what to remember about it.
            phase: the phase of the work. Without it, that of the folder's ``STATUS.md``.
            depends: what the work rests on.
            session: the session in which it is made.
            now: when.

        Raises:
            GuardRefused: the guard refuses a text, or cannot run.
        """
        home = self._home()
        made = make_checkpoint(
            home, now=now or present(), folder=folder or Path.cwd(), notes=notes, phase=phase, depends=depends,
            session=session,
        )  # fmt: skip
        record_event(home, "checkpoint", session=session, now=now, checkpoint=made.id, outputs=made.outputs)
        return made

    def get(self, name: str = "") -> Checkpoint:
        """Return the checkpoint *name*, or the newest one. ``agent_home.checkpoints.rendering`` makes texts of it.

        Raises:
            NoSuchCheckpoint, CheckpointDamaged: there is none, or it cannot be read.
        """
        return find_checkpoint(self._home(), name)
