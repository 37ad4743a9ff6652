"""What ``memory guard scan`` shows of what is there already: places and kinds, never a text."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ..frame import Frame
from .sync import meter

if TYPE_CHECKING:
    from agent_home.screening.full_scan import Sighting, Survey
    from guard import GuardSettings

__all__ = ["show_history", "show_paths"]


def show_history(frame: Frame) -> bool:
    """Print every finding in the home's files and in its git history; whether there is one."""
    from agent_home.screening.full_scan import survey_history, survey_home, survey_of

    home, say = frame.home, meter()
    look = survey_of(home)
    found = chain(survey_home(home, look, progress=say), survey_history(home, look, progress=say))
    return _show(frame, look, found)


def show_paths(frame: Frame, paths: Iterable[Path], settings: GuardSettings) -> bool:
    """Print every finding in those files and folders; whether there is one."""
    from agent_home.screening.full_scan import Survey, survey_paths

    look = Survey(settings)
    return _show(frame, look, survey_paths(paths, look))


def _show(frame: Frame, look: Survey, found: Iterable[Sighting]) -> bool:
    start = time.perf_counter()
    rows = list(found)
    seconds = time.perf_counter() - start
    data = {
        "findings": [dataclasses.asdict(row) for row in rows],
        "texts": look.texts,
        "bytes": look.size,
        "seconds": round(seconds, 3),
    }
    frame.show(data, _lines(rows, look, seconds))
    return bool(rows)


def _lines(rows: list[Sighting], look: Survey, seconds: float) -> Iterator[str]:
    yield from (f"{row.layer:10} {row.rule} ({row.kind})  {row.place}  {row.digest}" for row in rows)
    rate = look.size / 1e6 / seconds if seconds else 0.0
    yield f"{len(rows)} findings in {look.texts} texts, {look.size / 1e6:.1f} MB, {seconds:.1f} s ({rate:.1f} MB/s)"
