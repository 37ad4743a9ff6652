"""Own the output of ``memory guard scan`` for folders and for the whole home: places and kinds, never a text."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ..invocation import Invocation
from .sync import meter

if TYPE_CHECKING:
    from agent_home.screening.full_scan import Sighting, Survey
    from guard import GuardSettings

__all__ = ["show_history", "show_paths"]


def show_history(invocation: Invocation) -> bool:
    """Print every finding in the home's files and in its git history. Return whether there is one."""
    from agent_home.screening.full_scan import survey_history, survey_home, survey_of

    home, progress = invocation.home, meter()
    survey = survey_of(home)
    found = chain(survey_home(home, survey, progress=progress), survey_history(home, survey, progress=progress))
    return _show(invocation, survey, found)


def show_paths(invocation: Invocation, paths: Iterable[Path], settings: GuardSettings) -> bool:
    """Print every finding in *paths*, which are files or folders. Return whether there is one."""
    from agent_home.screening.full_scan import Survey, survey_paths

    survey = Survey(settings)
    return _show(invocation, survey, survey_paths(paths, survey))


def _show(invocation: Invocation, survey: Survey, found: Iterable[Sighting]) -> bool:
    start = time.perf_counter()
    rows = list(found)
    seconds = time.perf_counter() - start
    data = {
        "findings": [dataclasses.asdict(row) for row in rows],
        "texts": survey.texts,
        "bytes": survey.size,
        "seconds": round(seconds, 3),
    }
    invocation.show(data, _lines(rows, survey, seconds))
    return bool(rows)


def _lines(rows: list[Sighting], survey: Survey, seconds: float) -> Iterator[str]:
    yield from (f"{row.layer:10} {row.rule} ({row.kind})  {row.place}  {row.digest}" for row in rows)
    rate = survey.size / 1e6 / seconds if seconds else 0.0
    yield f"{len(rows)} findings in {survey.texts} texts, {survey.size / 1e6:.1f} MB, {seconds:.1f} s ({rate:.1f} MB/s)"
