"""List the names that a home's structure consists of: folders, files, sections and fields.

A text inside such a name cannot be removed without breaking the home. Names that people choose are not structural:
those of sessions and projects, and of files in ``Knowledge/`` and ``outputs/``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..documents.entry import FIELDS, SECTIONS
from ..home import Home
from ..settings import MANIFEST
from .erasure import home_files
from .text_matcher import Phrase

__all__ = ["structural_name"]

_FOLDERS = ("Archive", "DailyActivity", "Knowledge", "Projects", "ledger", "outputs", "sessions")
#: Number of structural parts of a path in these folders. Elsewhere the whole path is structural.
_OWN_PARTS = {"Knowledge": 1, "Projects": 1, "outputs": 1, "sessions": 3}
#: Words of the line in a daily log that records how far a closing came, see ``agent_home.documents.daily_log``.
_WATERMARK = ("Session", "messages", "bytes")


def structural_name(home: Home, phrase: Phrase) -> str:
    """Return the first structural name that contains *phrase*, or an empty string."""
    return next((name for name in _names(home) if phrase.occurs_in(name)), "")


def _names(home: Home) -> Iterator[str]:
    yield from (rule.title for rule in SECTIONS)
    yield from FIELDS
    yield from _WATERMARK
    yield from _FOLDERS
    yield MANIFEST
    yield from (file.file for file in home.manifest.context)
    for path in home_files(home):
        parts = path.split("/")
        if len(parts) > 1 and parts[0] in _FOLDERS:
            yield "/".join(parts[: _OWN_PARTS.get(parts[0], len(parts))])
