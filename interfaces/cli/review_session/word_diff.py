"""Compare two texts word by word."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

from guard.lazy_regex import lazy_regex

from ..columns import Span

__all__ = ["diff_spans", "word_diff"]

#: Words, single characters of scripts without blanks between words, blanks, and punctuation marks one by one.
_TOKEN = lazy_regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+|\s+|[^\w\s]", re.UNICODE)
#: Longer texts are shown as two, because comparing them takes seconds.
_MOST_TOKENS = 2000


def word_diff(before: str, after: str, *, marked: bool) -> list[Span]:
    """Return the change from *before* to *after* as one text. *marked* puts brackets around words, as git does.

    >>> "".join(text for text, _ in word_diff("use MySQL 5", "use MariaDB 5", marked=True))
    'use [-MySQL-]{+MariaDB+} 5'
    """
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if len(old) + len(new) > _MOST_TOKENS:
        return [_removed(before, marked=marked), _added(after, marked=marked)]
    spans: list[Span] = []
    for same, gone, come in _joined_changes(old, new):
        if same:
            spans.append((gone, "plain"))
            continue
        spans += [_removed(gone, marked=marked)] if gone else []
        spans += [_added(come, marked=marked)] if come else []
    return spans


def diff_spans(lines: Sequence[str], *, marked: bool) -> Iterator[list[Span]]:
    """Yield the lines of a unified diff. A line that took the place of another one is compared with it word by word."""
    at = 0
    while at < len(lines):
        gone = _run(lines, at, "-")
        come = _run(lines, at + len(gone), "+")
        if gone and len(gone) == len(come):
            for before, after in zip(gone, come, strict=True):
                yield [("~ ", "faint"), *word_diff(before[1:], after[1:], marked=marked)]
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


def _joined_changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[bool, str, str]]:
    """Return what is equal, and what became what. Two changes with a blank between them are one, which reads better."""
    found: list[tuple[bool, str, str]] = []
    for kind, start, end, new_start, new_end in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        same, was, now = kind == "equal", "".join(old[start:end]), "".join(new[new_start:new_end])
        if not same and len(found) > 1 and found[-1][0] and found[-1][1].isspace():
            blank, change = found.pop()[1], found.pop()
            was, now = change[1] + blank + was, change[2] + blank + now
        found.append((same, was, now))
    return found


def _removed(text: str, *, marked: bool) -> Span:
    return (f"[-{text}-]" if marked else text), "removed"


def _added(text: str, *, marked: bool) -> Span:
    return (f"{{+{text}+}}" if marked else text), "added"
