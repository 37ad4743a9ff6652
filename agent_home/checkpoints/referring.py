"""Find the outputs that a checkpoint refers to, and those that were stored for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from ..home import Home
from ..outputs.entry import OutputDamaged, StoredOutput
from ..outputs.reading import NoSuchOutput, OutputFilter, find_output, outputs
from .checkpoint import LATEST, NoSuchCheckpoint, find_checkpoint

__all__ = ["outputs_of_checkpoint"]


def outputs_of_checkpoint(
    home: Home, name: str, *, limit: int, on_damaged: Callable[[OutputDamaged], object] = lambda _error: None
) -> Iterator[StoredOutput]:
    """Yield the outputs of the checkpoint *name*, newest first. One that was pruned meanwhile is left out.

    An output may be stored for a name that is no checkpoint yet. *on_damaged* gets the error of each record that is
    damaged, once.

    Raises:
        NoSuchCheckpoint: there is no such checkpoint, and no output was stored for that name.
        CheckpointDamaged: its record cannot be read.
    """
    found: dict[str, StoredOutput] = {}
    damaged: dict[str, OutputDamaged] = {}
    problem: NoSuchCheckpoint | None = None
    try:
        checkpoint = find_checkpoint(home, name)
    except NoSuchCheckpoint as error:
        problem = error
    else:
        name = checkpoint.id
        for reference in checkpoint.references:
            try:
                found[reference.output] = find_output(home, reference.output)
            except NoSuchOutput:
                continue
            except OutputDamaged as error:
                damaged[error.name] = error
    if name != LATEST:
        others: list[OutputDamaged] = []
        stored = outputs(home, OutputFilter(checkpoint=name), limit=limit, on_damaged=others.append)
        found |= {output.id: output for output in stored}
        damaged |= {other.name: other for other in others}
    for each in damaged.values():
        on_damaged(each)
    if not found and problem is not None:
        raise problem
    newest_first = sorted(found.values(), key=lambda output: (output.moment, output.id), reverse=True)
    return islice(newest_first, limit)
