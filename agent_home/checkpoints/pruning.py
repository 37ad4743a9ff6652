"""Drop old outputs and checkpoints. The newest checkpoints keep what they refer to."""

from __future__ import annotations

from datetime import datetime, timedelta

from ..home import Home
from ..outputs.pruning import PrunedOutputs, prune_outputs
from .checkpoint import checkpoints, drop_checkpoint

__all__ = ["prune"]

#: Checkpoints that are never dropped, and whose references keep outputs.
_KEPT = 3


def prune(
    home: Home, *, now: datetime, keep_days: int | None = None, keep_entries: int | None = None, apply: bool
) -> PrunedOutputs:
    """Drop outputs and checkpoints that are too old or too many, and return which outputs these are.

    Args:
        home: the home.
        now: the present.
        keep_days: days for which outputs and checkpoints are kept.
        keep_entries: number of the newest outputs that are kept at most.
        apply: without it, nothing is changed.
    """
    found = list(checkpoints(home))
    named = {reference.output for item in found[:_KEPT] for reference in item.references}
    done = prune_outputs(home, now=now, keep_days=keep_days, keep_entries=keep_entries, named=named, apply=apply)
    if apply and keep_days is not None:
        before = now - timedelta(days=keep_days)
        for item in found[_KEPT:]:
            if item.moment < before:
                drop_checkpoint(home, item.id)
    return done
