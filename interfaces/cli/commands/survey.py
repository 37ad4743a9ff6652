"""Own the output of ``memory guard scan`` for folders and for the whole home: places and kinds, never a text."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ..invocation import Invocation
from ..progress import ProgressMeter

if TYPE_CHECKING:
    from agent_home.screening.scan.full_scan import FullScan, ScannedFinding
    from guard import GuardSettings

__all__ = ["show_history", "show_paths"]


def show_history(invocation: Invocation) -> bool:
    """Print every finding in the home's files and in its git history. Return whether there is one."""
    from agent_home.screening.scan.full_scan import scan_history, scan_home, scan_of

    home, progress = invocation.home, ProgressMeter()
    scan = scan_of(home)
    found = chain(scan_home(home, scan, progress=progress), scan_history(home, scan, progress=progress))
    return _show(invocation, scan, found)


def show_paths(invocation: Invocation, paths: Iterable[Path], settings: GuardSettings) -> bool:
    """Print every finding in *paths*, which are files or folders. Return whether there is one."""
    from agent_home.screening.scan.full_scan import FullScan, scan_paths

    scan = FullScan(settings)
    return _show(invocation, scan, scan_paths(paths, scan))


def _show(invocation: Invocation, scan: FullScan, found: Iterable[ScannedFinding]) -> bool:
    start = time.perf_counter()
    rows = list(found)
    seconds = time.perf_counter() - start
    data = {
        "findings": [dataclasses.asdict(row) for row in rows],
        "texts": scan.texts,
        "bytes": scan.size,
        "seconds": round(seconds, 3),
    }
    invocation.show(data, _lines(rows, scan, seconds))
    return bool(rows)


def _lines(rows: list[ScannedFinding], scan: FullScan, seconds: float) -> Iterator[str]:
    yield from (f"{row.layer:10} {row.rule} ({row.kind})  {row.place}  {row.digest}" for row in rows)
    rate = scan.size / 1e6 / seconds if seconds else 0.0
    yield f"{len(rows)} findings in {scan.texts} texts, {scan.size / 1e6:.1f} MB, {seconds:.1f} s ({rate:.1f} MB/s)"
