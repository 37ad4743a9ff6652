"""Hold what one commit says and does in a form that a report is compared with: words, names and numbers by place.

Lines of code count before lines of prose where both have a name, because a changelog names what it says was removed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from guard.lazy_regex import lazy_regex
from recall.text.stems import stem

from .repository import CommitInfo
from .wording import Stems, parts_of

__all__ = ["CommitView", "RepositoryWords", "Sides", "is_prose", "view_of"]

_TOKEN = lazy_regex(r"[A-Za-z_][A-Za-z0-9_]*|\d+(?:\.\d+)*", re.ASCII)
_NUMBER = lazy_regex(r"(?<![\d.])\d+(?:\.\d+)*(?:-?(?:dev|rc|alpha|beta|pre)(?:\.?\d+)?(?![A-Za-z]))?", re.ASCII)
_CHINESE = lazy_regex(r"[\u4e00-\u9fff]+")
_PROSE = lazy_regex(r"\.(?:md|mdx|rst|txt)$|(?:^|/)(?:CHANGE|NEWS|README|HISTORY)[^/]*$", re.IGNORECASE)
#: Most characters of one line, and most lines of one commit, that are read.
_MAX_LINE_CHARS = 1000
_MAX_LINES = 6000


@dataclass(slots=True)
class Sides:
    """Counts of added and of removed lines with something, of code and of prose."""

    code: tuple[int, int] = (0, 0)
    prose: tuple[int, int] = (0, 0)

    @property
    def balance(self) -> tuple[int, int]:
        """Return the counts of code, or those of prose when code does not have it."""
        return self.code if any(self.code) else self.prose

    @property
    def found(self) -> bool:
        return any(self.code) or any(self.prose)


@dataclass
class CommitView:
    """One commit. *lines* are its changed lines, *paths* all files that it touches, with their old names."""

    info: CommitInfo
    lines: Sequence[tuple[int, str, str]] = ()
    paths: tuple[str, ...] = ()
    headers: str = ""
    _raw: dict[int, Counter[str]] = field(default_factory=dict)

    @cached_property
    def subject(self) -> frozenset[str]:
        return _stems(self.info.subject)

    @cached_property
    def message(self) -> frozenset[str]:
        return _stems(self.info.message)

    @cached_property
    def path_words(self) -> frozenset[str]:
        return frozenset(word for path in self.paths for word in _stems(path))

    @cached_property
    def header_words(self) -> frozenset[str]:
        return _stems(self.headers)

    @cached_property
    def chinese(self) -> str:
        """All Chinese text of message and changed lines."""
        text = " ".join((self.info.message, *(line for _, _, line in self.lines)))
        return " ".join(_CHINESE.findall(text))

    @cached_property
    def words(self) -> frozenset[str]:
        """The stems of all changed lines."""
        return frozenset(self._words[0])

    @cached_property
    def names(self) -> frozenset[str]:
        """All identifiers in lower case: of lines, message, paths and hunk headers, with letters and digits only."""
        texts = [self.info.message, self.headers, *self.paths]
        found = {token.lower() for text in texts for token in _TOKEN.findall(text)}
        found |= {word.lower() for word in self._tokens}
        found |= {re.sub(r"[^a-z0-9]", "", word) for word in found}
        compact = (re.sub(r"[^A-Za-z0-9]", "", part) for path in self.paths for part in re.split(r"[/.]", path))
        return frozenset(found | {part.lower() for part in compact})

    @cached_property
    def message_numbers(self) -> frozenset[str]:
        return _numbers(f"{self.info.message} {' '.join(self.paths)}")

    def sides(self, word: str) -> Sides:
        """Return where the identifier or number *word* stands in changed lines."""
        return self._tokens.get(word) or self._numbers.get(word) or Sides()

    def stem_sides(self, stem_: str) -> Sides:
        """Return where words of that stem stand in changed lines."""
        return self._words[0].get(stem_, Sides())

    def lines_with_number(self, number: str) -> list[frozenset[str]]:
        """Return the stems of each line, message lines included, that has *number*."""
        found = [stems for stems, numbers in self._line_words if number in numbers]
        said = (line for line in self.info.message.splitlines() if number in _numbers(line))
        return [*found, *map(_stems, said)]

    def numbers_beside(self, stems: Stems) -> frozenset[str]:
        """Return the numbers of all changed lines that have a number and all *stems*."""
        found = (numbers for words, numbers in self._line_words if all(one in words for one in stems))
        return frozenset(number for numbers in found for number in numbers)

    @cached_property
    def subject_names(self) -> frozenset[str]:
        return frozenset(_TOKEN.findall(self.info.subject))

    def subject_holds(self, stems: Stems) -> bool:
        """Return whether the subject has all *stems*."""
        return all(one in self.subject for one in stems)

    def spells(self, name: str) -> bool:
        """Return whether message or lines have the parts of *name* next to each other: «file-like» for FileLike."""
        pattern = re.compile(r"[\W_]{0,2}".join(map(re.escape, parts_of(name))), re.IGNORECASE)
        return pattern.search(self.info.message) is not None or any(pattern.search(text) for _, _, text in self.lines)

    def joined_sides(self, name: str) -> Sides:
        """Return where the parts of *name* stand next to each other in changed lines."""
        pattern = re.compile(r"[\W_]{0,2}".join(map(re.escape, parts_of(name))), re.IGNORECASE)
        found = _count((sign, path, [name] if pattern.search(text) else []) for sign, path, text in self.lines)
        return found.get(name, Sides())

    @cached_property
    def growth(self) -> dict[str, int]:
        """The added lines of each path less its removed ones."""
        found: dict[str, int] = {}
        for sign, path, _ in self.lines:
            found[path] = found.get(path, 0) + sign
        return found

    def touches(self, name: str) -> bool:
        """Return whether a changed path is *name*, ends in it or lies under it."""
        return any(f"/{name.strip('/')}/" in f"/{path}/" for path in self.paths)

    @cached_property
    def added_and_removed(self) -> tuple[int, int]:
        return sum(sign > 0 for sign, _, _ in self.lines), sum(sign < 0 for sign, _, _ in self.lines)

    @cached_property
    def _tokens(self) -> dict[str, Sides]:
        return _count((sign, path, _TOKEN.findall(text)) for sign, path, text in self.lines)

    @cached_property
    def _numbers(self) -> dict[str, Sides]:
        return _count((sign, path, _numbers(text)) for sign, path, text in self.lines)

    @cached_property
    def _words(self) -> tuple[dict[str, Sides]]:
        found: dict[str, Sides] = {}
        for token, sides in self._tokens.items():
            for part in {stem(part) for part in parts_of(token)} | {stem(token.lower())}:
                old = found.get(part, Sides())
                found[part] = Sides(_plus(old.code, sides.code), _plus(old.prose, sides.prose))
        return (found,)

    @cached_property
    def _line_words(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        return [(_stems(text), numbers) for _, _, text in self.lines if (numbers := _numbers(text))]


@dataclass(frozen=True, slots=True)
class RepositoryWords:
    """Counts of words in the subjects of a repository's commits and in its paths at HEAD."""

    documents: int
    counts: Counter[str]

    @staticmethod
    def of(subjects: Iterable[str], paths: Iterable[str]) -> RepositoryWords:
        counts: Counter[str] = Counter()
        documents = 0
        for text in (*subjects, *paths):
            counts.update(_stems(text))
            documents += 1
        return RepositoryWords(documents, counts)

    def rarity(self, stems: Stems) -> float:
        """Return 1 for stems that nothing has, down to 0 for those that everything has."""
        most = math.log(self.documents + 2)
        return max((math.log((self.documents + 2) / (self.counts[one] + 1)) for one in stems), default=most) / most

    def knows(self, stems: Stems) -> bool:
        return bool(stems) and all(self.counts[one] for one in stems)


def view_of(info: CommitInfo, patch: str) -> CommitView:
    """Return the view of a commit from its patch in git's format."""
    lines: list[tuple[int, str, str]] = []
    paths: dict[str, None] = dict.fromkeys(change.path for change in info.changes)
    headers: list[str] = []
    old, path, inside = "", "", False
    for line in patch.splitlines():
        if line.startswith("diff --git "):
            old, path, inside = "", "", False
        elif not inside and line.startswith(("rename from ", "rename to ")):
            paths.setdefault(line.split(" ", 2)[2])
        elif not inside and line.startswith("--- "):
            old = _patch_path(line)
        elif not inside and line.startswith("+++ "):
            path = _patch_path(line) or old
            paths.update(dict.fromkeys(name for name in (old, path) if name))
        elif line.startswith("@@"):
            inside = True
            headers.append(line.rpartition("@@")[2][:_MAX_LINE_CHARS])
        elif inside and line[:1] in {"+", "-"} and len(lines) < _MAX_LINES:
            lines.append((1 if line[0] == "+" else -1, path, line[1 : _MAX_LINE_CHARS + 1]))
    return CommitView(info=info, lines=lines, paths=tuple(paths), headers="\n".join(headers))


def _patch_path(line: str) -> str:
    name = line[4:].rstrip("\t")
    return "" if name == "/dev/null" else name[2:]


def _count(lines: Iterable[tuple[int, str, Iterable[str]]]) -> dict[str, Sides]:
    found: dict[str, Sides] = {}
    for sign, path, words in lines:
        prose = is_prose(path)
        for word in words:
            sides = found.setdefault(word, Sides())
            step = (1, 0) if sign > 0 else (0, 1)
            if prose:
                sides.prose = _plus(sides.prose, step)
            else:
                sides.code = _plus(sides.code, step)
    return found


def is_prose(path: str) -> bool:
    """Return whether a file is read by people: documentation, a changelog."""
    return _PROSE.search(path) is not None


def _plus(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _numbers(text: str) -> frozenset[str]:
    """Return the numbers of *text*: versions whole, and those inside identifiers."""
    return frozenset(_NUMBER.findall(text))


def _stems(text: str) -> frozenset[str]:
    tokens = set(_TOKEN.findall(text))
    found = {stem(part) for token in tokens for part in parts_of(token)} | {stem(token.lower()) for token in tokens}
    return frozenset(found)
