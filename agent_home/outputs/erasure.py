"""Erase outputs that hold a text which is to be forgotten. Their contents are compressed, so they go as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ..forgetting.redaction_target import RedactionTarget
from ..home import Home
from .blobs import drop_content
from .entry import OutputDamaged, StoredOutput, record_path
from .reading import output_content, outputs

__all__ = ["drop_outputs", "outputs_with"]

#: Bytes that two chunks share: more than the longest text that a person types in to be forgotten.
_SHARED = 1 << 16


def outputs_with(home: Home, target: RedactionTarget) -> Iterator[StoredOutput]:
    """Yield the outputs whose compressed content or whose id has the target, newest first, but no damaged one."""
    for output in outputs(home):
        if target.occurs_in(output.id) or (output.inline is None and _occurs(home, output, target)):
            yield output


def drop_outputs(home: Home, target: RedactionTarget) -> list[str]:
    """Delete the outputs that :func:`outputs_with` yields, with their contents, and return their ids."""
    found = list(outputs_with(home, target))
    for output in found:
        (home.root / record_path(output.id)).unlink(missing_ok=True)
    used = {output.digest for output in outputs(home)}
    for digest in dict.fromkeys(output.digest for output in found if output.digest and output.digest not in used):
        drop_content(home, digest)
    return [output.id for output in found]


def _occurs(home: Home, output: StoredOutput, target: RedactionTarget) -> bool:
    shared = b""
    with suppress(OutputDamaged):
        for chunk in output_content(home, output):
            data = shared + chunk
            if target.may_occur_in(data) and target.occurs_in(data.decode("utf-8", "replace")):
                return True
            shared = data[-_SHARED:]
    return False
