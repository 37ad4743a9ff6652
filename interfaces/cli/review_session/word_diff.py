"""Show the difference of two texts, word by word, at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from interfaces.word_diff import word_diff

from ..columns import Span, Style

__all__ = ["diff_spans", "word_spans"]

#: Brackets around words, as in ``git diff --word-diff``, and how a terminal shows them.
_SIGNS: Mapping[str, tuple[str, str]] = {"removed": ("[-", "-]"), "added": ("{+", "+}")}
_LOOKS: Mapping[str, Style] = {"same": "plain", "removed": "removed", "added": "added"}


def word_spans(before: str, after: str, *, marked: bool) -> list[Span]:
    """Return the change from *before* to *after* as one text. *marked* puts brackets around words, as git does.

    >>> "".join(text for text, _ in word_spans("use MySQL 5", "use MariaDB 5", marked=True))
    'use [-MySQL-]{+MariaDB+} 5'
    """
    signs = _SIGNS if marked else {}
    return [
        (f"{signs.get(part.kind, ('', ''))[0]}{part.text}{signs.get(part.kind, ('', ''))[1]}", _LOOKS[part.kind])
        for part in word_diff(before, after)
    ]


def diff_spans(lines: Sequence[str], *, marked: bool) -> Iterator[list[Span]]:
    """Yield the lines of a unified diff. A line that took the place of another one is compared with it word by word."""
    at = 0
    while at < len(lines):
        gone = _run(lines, at, "-")
        come = _run(lines, at + len(gone), "+")
        if gone and len(gone) == len(come):
            for before, after in zip(gone, come, strict=True):
                yield [("~ ", "faint"), *word_spans(before[1:], after[1:], marked=marked)]
        else:
            for line in gone:
                yield [(line, "removed")]
            for line in come:
                yield [(line, "added")]
        at += len(gone) + len(come)
        if not gone and not come:
            yield [(lines[at], "faint" if lines[at].startswith(("---", "+++", "@@")) else "plain")]
            at += 1


def _run(lines: Sequence[str], at: int, sign: str) -> list[str]:
    """Return the lines from *at* on that begin with *sign* and are no head of a file."""
    found = []
    heads = (f"{sign * 3} a/", f"{sign * 3} b/")
    while at < len(lines) and lines[at].startswith(sign) and not lines[at].startswith(heads):
        found.append(lines[at])
        at += 1
    return found
