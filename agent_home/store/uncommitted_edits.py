"""Edits that people made by hand in files of the home and did not commit.

The gateway commits them separately, before its own commit, so that each commit has one purpose. An edit that fails the
guard is neither committed nor hidden: a committed secret would stay in history. A write to that file is refused, and
the error names the place. Writes to other files go on, and ``memory doctor`` names the edits that wait. Only
``memory forget`` writes such a file anyway, and leaves it uncommitted: one secret must not keep another on the disk.
"""

from __future__ import annotations

from collections.abc import Mapping

from .. import storage
from ..errors import DocumentInvalid, GuardRefused
from ..git import history
from ..home import Home
from ..screening.personal_text import LocatedFinding
from ..screening.service import ScreeningService
from ..settings import MANIFEST
from ..sharing.folders import own_markdown_files

__all__ = ["failing_edits", "failing_paths", "refuse_failing"]


def refuse_failing(home: Home, committed: Mapping[str, str], present: Mapping[str, str]) -> None:
    """Refuse a write to files with an edit by hand that fails the guard. The texts are by path.

    Raises:
        GuardRefused: an edit fails. The error names the first one.
    """
    screening = ScreeningService(home)
    for path, text in sorted(present.items()):
        failing = [finding for finding in screening.findings_in_edit(path, committed[path], text) if finding.fails]
        if failing:
            first, more = failing[0], f" and {len(failing) - 1} more places" if len(failing) > 1 else ""
            raise GuardRefused(
                path,
                f"an edit by hand that is not committed has {first.name} in line {first.line}{more}."
                " Remove it, or commit it yourself",
            )


def failing_paths(home: Home, committed: Mapping[str, str], present: Mapping[str, str]) -> list[str]:
    """Return the files with an edit by hand that fails the guard, ordered by path. The texts are by path."""
    screening = ScreeningService(home)
    return [
        path
        for path, text in sorted(present.items())
        if any(finding.fails for finding in screening.findings_in_edit(path, committed[path], text))
    ]


def failing_edits(home: Home) -> list[LocatedFinding]:
    """Return the findings that make uncommitted edits by hand fail, ordered by file and line.

    Raises:
        HistoryError: git is absent or refused.
    """
    paths = sorted({*own_markdown_files(home), MANIFEST})
    screening = ScreeningService(home)
    found: list[LocatedFinding] = []
    for path in sorted(history.dirty(home.root, paths)):
        try:
            text = storage.read_text(home.path(path))
        except (DocumentInvalid, OSError):  # `memory check` names such files
            continue
        committed = history.text_at(home.root, "HEAD", path) if history.head(home.root) else ""
        found += [finding for finding in screening.findings_in_edit(path, committed, text) if finding.fails]
    return found
