"""Render a commit as numbered lines for a language model, within a limit of tokens.

The message and the changed files always stand there. Of a long patch, the hunks that share most words with the reports
stand there, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from agent_home.tokens import count_tokens
from guard.lazy_regex import lazy_regex
from recall.text.stems import stem

from .repository import CommitInfo
from .wording import parts_of

__all__ = ["CommitExcerpt", "ExcerptLine", "excerpt", "parsed"]

_MAX_LINE_CHARS = 240
_MAX_MESSAGE_LINES = 30
_MAX_FILES = 40
_MAX_PATCH_LINES = 20_000
#: A longer hunk is split, so that a part of it can be shown.
_MAX_HUNK_LINES = 40
_STATES = {"A": "added", "D": "deleted", "M": "changed", "T": "changed"}
_NUMBERED = lazy_regex(r"(?P<id>[a-z]\d+)(?P<sign>[-+ =]) ?(?P<text>.*)")
_WORD = lazy_regex(r"[A-Za-z_][A-Za-z0-9_]*|\d+(?:\.\d+)*|[\u4e00-\u9fff]", re.ASCII)


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """A numbered line. *sign* is + or - for a changed line, a blank for one beside it, and = for message and files."""

    id: str
    sign: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitExcerpt:
    """A commit as a prompt shows it: its letter, and its lines by their ids."""

    letter: str
    lines: dict[str, ExcerptLine] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n".join(_rendered(line) for line in self.lines.values())


@dataclass(slots=True)
class _Hunk:
    """A hunk of a patch with the name of its file. *words* are those of its changed lines."""

    path: str
    lines: list[tuple[str, str]]
    words: set[str] = field(default_factory=set)


def excerpt(letter: str, commit: CommitInfo, patch: str, words: Collection[str], room: int) -> CommitExcerpt:
    """Return the lines of *commit* that fit into *room* tokens. *words* are stems of the reports that read it."""
    hunks = list(_hunks(patch))
    for hunk in hunks:
        hunk.words = _stems(" ".join(text for _, text in hunk.lines)) | _stems(hunk.path)
    head = _head(commit, hunks)
    room -= sum(count_tokens(text) + 4 for _, text in head)
    kept: set[int] = set()
    order = sorted(range(len(hunks)), key=lambda at: (-len(hunks[at].words & set(words)), at))
    for at in order:
        cost = sum(count_tokens(text) + 4 for _, text in hunks[at].lines) + 8
        if cost <= room:
            kept.add(at)
            room -= cost
    found: dict[str, ExcerptLine] = {}
    for sign, text in (*head, *_body(hunks, kept)):
        name = f"{letter}{len(found) + 1}"
        found[name] = ExcerptLine(name, sign, text)
    return CommitExcerpt(letter=letter, lines=found)


def parsed(letter: str, text: str) -> CommitExcerpt:
    """Return the lines of a rendered commit, of which the guard may have changed some.

    >>> parsed("a", "a1= Add a cache\\na2+ cache = {}").lines["a2"].text
    'cache = {}'
    """
    rows = (match for line in text.split("\n") if (match := _NUMBERED.fullmatch(line)) is not None)
    lines = {row["id"]: ExcerptLine(row["id"], row["sign"], row["text"]) for row in rows}
    return CommitExcerpt(letter=letter, lines={name: line for name, line in lines.items() if name[0] == letter})


def _rendered(line: ExcerptLine) -> str:
    return f"{line.id}{line.sign} {line.text}"


def _head(commit: CommitInfo, hunks: Sequence[_Hunk]) -> list[tuple[str, str]]:
    rows = [("=", line) for line in commit.message.splitlines()[:_MAX_MESSAGE_LINES] if line.strip()]
    for change in commit.changes[:_MAX_FILES]:
        signs = [sign for hunk in hunks if hunk.path == change.path for sign, _ in hunk.lines]
        counts = f"{signs.count('+')} lines added, {signs.count('-')} removed"
        rows.append(("=", f"file {change.path}: {_STATES.get(change.status, 'changed')}, {counts}"))
    return [(sign, _plain(text)) for sign, text in rows]


def _body(hunks: Sequence[_Hunk], kept: Collection[int]) -> Iterator[tuple[str, str]]:
    path, left = "", 0
    for at, hunk in enumerate(hunks):
        if at not in kept:
            left += len(hunk.lines)
            continue
        if left:
            yield "=", f"({left} lines are left out here)"
            left = 0
        if hunk.path != path:
            path = hunk.path
            yield "=", f"in {path}"
        yield from hunk.lines
    if left:
        yield "=", f"({left} lines are left out here)"


def _hunks(patch: str) -> Iterator[_Hunk]:
    """Yield the hunks of a patch in git's format, with their context."""
    old = path = ""
    hunk: _Hunk | None = None
    for line in patch.splitlines()[:_MAX_PATCH_LINES]:
        if line.startswith("diff --git "):
            if hunk is not None:
                yield hunk
            hunk, old, path = None, "", ""
        elif hunk is None and line.startswith("--- "):
            old = line[6:].rstrip("\t") if not line.endswith("/dev/null") else ""
        elif hunk is None and line.startswith("+++ "):
            path = line[6:].rstrip("\t") if not line.endswith("/dev/null") else old
        elif line.startswith("@@"):
            if hunk is not None:
                yield hunk
            hunk = _Hunk(path, [])
            if heading := line.rpartition("@@")[2].strip():
                hunk.lines.append((" ", _plain(f"@@ {heading}")))
        elif hunk is not None and line[:1] in {"+", "-", " "}:
            if len(hunk.lines) >= _MAX_HUNK_LINES:
                yield hunk
                hunk = _Hunk(path, [])
            hunk.lines.append((line[0], _plain(line[1:])))
    if hunk is not None:
        yield hunk


def _plain(text: str) -> str:
    """Return *text* as one printable line of limited length."""
    text = "".join(char if char.isprintable() else " " for char in text.rstrip())
    return text[:_MAX_LINE_CHARS].replace("</commit", "< /commit").replace("</report", "< /report")


def _stems(text: str) -> set[str]:
    found: set[str] = set()
    for token in _WORD.findall(text):
        found.add(stem(token.lower()))
        found.update(stem(part) for part in parts_of(token))
    return found
