"""The words that a home itself is made of: names of its folders and files, titles of its sections, names of fields.

A text that stands in one of them cannot be taken out of the home without taking the home apart. Names that people give
are no part of it: those of sessions, of projects, and of what lies in ``Knowledge/`` and ``outputs/``.
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
#: How many parts of a path are the home's own, where it is not the whole path.
_OWN_PARTS = {"Knowledge": 1, "Projects": 1, "outputs": 1, "sessions": 3}
#: The line of a daily log by which a closing knows how far it came, see ``agent_home.documents.daily_log``.
_WATERMARK = ("Session", "messages", "bytes")


def structural_name(home: Home, phrase: Phrase) -> str:
    """The first of the home's own names in which *phrase* stands; empty when it stands in none."""
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
