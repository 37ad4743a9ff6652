"""Tell from their form which names of files the guard need not read, and which files a catalogue lists.

This module does not load the guard: a prompt whose names are plain does without it.
"""

from __future__ import annotations

import re

__all__ = ["CATALOGUES", "is_plain_path", "listed_path"]

#: Names that hold nothing: one short word, with a suffix, or a date.
_WORD = re.compile(r"\.?[A-Za-z]{1,20}(?:\.[a-z]{1,5})?")
_DATE = re.compile(r"\d{4}(?:-\d{2}){0,2}(?:\.md)?|\d{2}")
#: More of them may be the words of a sentence.
_MOST_WORDS = 2
#: The context files that list documents, and a line of theirs.
CATALOGUES = frozenset({"KNOWLEDGE.md", "PROJECTS.md"})
_LISTED = re.compile(r"- `(?P<path>.+?\.md)`(?= |$)")


def is_plain_path(path: str) -> bool:
    """Return whether the bundled rules need not read *path*, because its names are a word or two and dates."""
    words = [part for part in path.split("/") if not _DATE.fullmatch(part)]
    return len(words) <= _MOST_WORDS and all(_WORD.fullmatch(part) for part in words)


def listed_path(line: str) -> str:
    """Return the path that this *line* of a catalogue lists, or an empty text."""
    found = _LISTED.match(line)
    return found["path"] if found else ""
