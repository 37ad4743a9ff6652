"""Drop outputs that are old or too many, unless a text of the home or a status file refers to them."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from .. import storage
from ..home import Home
from .blobs import blobs, drop_unused, is_idle, leftovers
from .entry import OutputDamaged, record_path
from .reading import outputs
from .status_references import noted_status_texts

__all__ = ["PrunedOutputs", "prune_outputs"]

#: An id in a text.
_NAMED = re.compile(r"\bmem-\d{8}-\d{6}-[0-9a-f]{8}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedOutputs:
    """Outputs that a prune drops, newest first, how many are kept only because something refers to them, and bytes."""

    ids: tuple[str, ...]
    referenced: int
    bytes: int
    applied: bool


def prune_outputs(
    home: Home,
    *,
    now: datetime,
    keep_days: int | None = None,
    keep_entries: int | None = None,
    named: Collection[str] = (),
    apply: bool,
) -> PrunedOutputs:
    """Drop outputs older than *keep_days* days, and those beyond the newest *keep_entries*. References keep an output.

    So do the ids *named*.

    Without *apply*, only say which. Contents that no record names any more are deleted, too.
    """
    before = now - timedelta(days=keep_days) if keep_days is not None else None
    dropped: list[str] = []
    kept_digests: set[str] = set()
    kept = kept_by_reference = 0
    referenced = _referenced(home) | set(named)
    damaged: list[OutputDamaged] = []
    found = outputs(home, on_damaged=damaged.append)
    stored = sorted(((output.moment, output.id, output.digest) for output in found), reverse=True)
    for moment, name, digest in stored:
        due = (before is not None and moment < before) or (keep_entries is not None and kept >= keep_entries)
        if due and name not in referenced:
            dropped.append(name)
            continue
        kept += 1
        kept_by_reference += bool(due)
        kept_digests.add(digest)
    freed = sum(_size(home.root / record_path(name)) for name in dropped)
    unused = [path for path in blobs(home) if path.stem not in kept_digests and is_idle(path)]
    if damaged:  # nobody knows which contents their records name
        unused = []
    freed += sum(map(_size, unused))
    if apply:
        for path in (*(home.root / record_path(name) for name in dropped), *leftovers(home)):
            path.unlink(missing_ok=True)
        for path in unused:
            drop_unused(home, path)
    return PrunedOutputs(ids=tuple(dropped), referenced=kept_by_reference, bytes=freed, applied=apply)


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _referenced(home: Home) -> set[str]:
    """Return the ids of outputs that Markdown files of the home and remembered status files name."""
    found = {name for text in noted_status_texts(home) for name in _NAMED.findall(text)}
    for path in home.root.rglob("*.md"):
        if not any(part.startswith(".") for part in path.relative_to(home.root).parts):
            with suppress(OSError):
                found.update(_NAMED.findall(storage.read_bytes(path).decode("utf-8", "replace")))
    return found
