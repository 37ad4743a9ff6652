"""Scan everything that a home already holds: its files, and git's history.

Nothing is changed, and no finding holds the text that it is about. A passage is screened once, however many versions of
a file repeat it, so that a history of thousands of commits takes seconds. In files every place is named. In history a
finding has the oldest commit and path that hold it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from guard import Action, Destination, GuardSettings, Source
from guard.lazy_regex import lazy_regex

from ... import storage
from ...forgetting.erasure import home_files
from ...git.objects import BlobOrigin, GitObject, blob_origins, object_kinds, objects
from ...home import Home
from ...settings import MANIFEST
from ..ruleset import destination_of
from ..verdicts import Verdicts, guard_settings
from .binary import is_binary, readable

__all__ = ["FullScan", "ScannedFinding", "scan_history", "scan_home", "scan_of", "scan_paths"]

#: ``progress(what, done, total)``.
Progress = Callable[[str, int, int], None]
#: Texts with such a start are judged whole, not cut into passages.
_WHOLE = lazy_regex(r"-----BEGIN|<\s{0,4}private", re.IGNORECASE)
_HEADING = lazy_regex(r"#{1,6}[ \t]+")
_MAX_CHARS = 60_000
#: Verdicts that are remembered, so that a passage is screened once however many versions of a file repeat it.
_CAPACITY = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedFinding:
    """A finding at a place: ``PATH:LINE``, or ``COMMIT:PATH:LINE``. Line 0 is the file's name.

    *digest* is salted. Equal texts have equal digests.
    """

    layer: str
    rule: str
    kind: str
    place: str
    digest: str


class FullScan:
    """State of one scan. *texts* and *size* count the texts and the bytes that were read."""

    def __init__(self, settings: GuardSettings) -> None:
        self.texts = 0
        self.size = 0
        self._verdicts = Verdicts(settings, capacity=_CAPACITY)

    def findings(self, path: str, data: bytes) -> Iterator[tuple[int, ScannedFinding]]:
        """Yield ``(line, finding)`` for the content of a file. The findings have no place yet."""
        self.texts += 1
        self.size += len(data)
        destination = destination_of(path)
        binary = is_binary(data)
        text = readable(data) if binary else data.decode("utf-8", "replace")
        for line, passage, source in _passages("binary" if binary else path, text):
            for within, found in self._judged(passage, source, destination):
                if not binary:
                    yield line + within, found
                elif found.layer == "secret":  # other findings in binary data are noise
                    yield 1, found

    def named(self, path: str) -> tuple[str, list[ScannedFinding]]:
        """Return *path* with a note in place of each name in it that is a secret, and the findings on those names."""
        parts: list[str] = []
        found: list[ScannedFinding] = []
        for part in path.split("/"):
            judged = self._judged(part, Source.AGENT, Destination.MEMORY)
            secrets = [finding for _, finding in judged if finding.layer == "secret"]
            found += secrets
            parts.append(f"[REDACTED:{secrets[0].kind}]" if secrets else part)
        return "/".join(parts), found

    def _judged(self, passage: str, source: str, destination: str) -> list[tuple[int, ScannedFinding]]:
        """Return ``(line within the passage, finding)`` for all findings but notes."""
        return [
            (
                passage.count("\n", 0, item.start),
                ScannedFinding(layer=item.layer, rule=item.rule, kind=item.kind, place="", digest=item.digest),
            )
            for item in self._verdicts.to_store(passage, source, destination).findings
            if item.action > Action.ALLOW
        ]


def scan_home(home: Home, scan: FullScan, *, progress: Progress | None = None) -> Iterator[ScannedFinding]:
    """Yield every finding in the home's files, by path and line."""
    files = list(home_files(home))
    for done, relative in enumerate(files, 1):
        if progress:
            progress("files", done, len(files))
        yield from _of_file(scan, relative, relative, storage.read_bytes(home.absolute(relative)))


def scan_paths(paths: Iterable[Path], scan: FullScan) -> Iterator[ScannedFinding]:
    """Yield every finding in the files *paths*, and in all files below those of *paths* that are folders.

    Hidden folders are skipped. A file that lies in a home is judged by its place there: a transcript is not memory.
    """
    for path in paths:
        below = sorted(file for file in path.rglob("*") if file.is_file() and not _hidden(file.relative_to(path)))
        for file in below if path.is_dir() else [path]:
            yield from _of_file(scan, str(file), _name_in_home(file), storage.read_bytes(file))


def scan_history(home: Home, scan: FullScan, *, progress: Progress | None = None) -> Iterator[ScannedFinding]:
    """Yield every finding in git's objects once, at its oldest place. Objects that no ref reaches come last.

    Raises:
        HistoryError: the history cannot be read.
    """
    first, all_kinds = blob_origins(home.root), object_kinds(home.root)
    order = [oid for oid in first if oid in all_kinds]
    order += [oid for oid, kind in all_kinds.items() if oid not in first and kind != "tree"]
    seen: set[tuple[str, str]] = set()
    for done, item in enumerate(objects(home.root, order), 1):
        if progress and (done % 50 == 0 or done == len(order)):
            progress("objects", done, len(order))
        for where, path, data in _texts(item, first.get(item.id)):
            for found in _of_file(scan, where, path, data):
                if (found.rule, found.digest) not in seen:
                    seen.add((found.rule, found.digest))
                    yield found


def scan_of(home: Home) -> FullScan:
    """Return a scan with the home's own guard settings.

    Raises:
        GuardError, SettingsInvalid: see :func:`agent_home.screening.verdicts.guard_settings`.
    """
    return FullScan(guard_settings(home))


def _texts(item: GitObject, origin: BlobOrigin | None) -> Iterator[tuple[str, str, bytes]]:
    """Yield ``(place, path, content)`` for the text of a git object: a file's content, or a commit's message."""
    if item.kind == "blob":
        where = f"{origin.commit[:12]}:{origin.path}" if origin else f"unreachable {item.id[:12]}"
        yield where, origin.path if origin else "", item.data
    else:
        yield f"{item.id[:12]}:message", "MEMORY.md", item.data.partition(b"\n\n")[2]


def _of_file(scan: FullScan, where: str, path: str, data: bytes) -> Iterator[ScannedFinding]:
    """Yield every finding in the name and the content of the file *path* at the place *where*."""
    shown, in_name = scan.named(path)
    if in_name:
        where = where.removesuffix(path) + shown if where.endswith(path) else shown
    yield from _placed(where, [(0, finding) for finding in in_name])
    yield from _placed(where, scan.findings(path, data))


def _placed(where: str, found: Iterable[tuple[int, ScannedFinding]]) -> Iterator[ScannedFinding]:
    for line, finding in found:
        yield ScannedFinding(
            layer=finding.layer, rule=finding.rule, kind=finding.kind, place=f"{where}:{line}",
            digest=finding.digest,
        )  # fmt: skip


def _passages(path: str, text: str) -> Iterator[tuple[int, str, str]]:
    """Yield ``(first line, passage, source)`` for each part of *text* that is judged alone."""
    if path.endswith(".jsonl"):
        for number, line in enumerate(text.split("\n"), 1):
            yield from ((number, said, source) for said, source in _said(line))
        return
    whole = path.endswith(".json") or _WHOLE.search(text)
    source = Source.TOOL if path.startswith("outputs/") else Source.AGENT
    at = 1
    for passage in _short([text] if whole else _cut(text)):
        words = _HEADING.sub("", passage, count=1) if passage.startswith("#") else passage
        if words.strip():
            yield at, words, source
        at += passage.count("\n")


def _cut(text: str) -> list[str]:
    """Cut *text* roughly into list items, headings and paragraphs.

    A regular expression takes half of the scan's time.
    """
    return text.replace("\n- ", "\n\0- ").replace("\n#", "\n\0#").replace("\n\n", "\n\n\0").split("\0")


def _short(passages: Iterable[str]) -> Iterator[str]:
    """Yield *passages*, cut between lines where they are longer than the guard reads at once."""
    for passage in passages:
        if len(passage) <= _MAX_CHARS:
            yield passage
            continue
        lines: list[str] = []
        size = 0
        for line in passage.splitlines(keepends=True):
            if size + len(line) > _MAX_CHARS and lines:
                yield "".join(lines)
                lines, size = [], 0
            lines.append(line)
            size += len(line)
        yield "".join(lines)


@lru_cache(maxsize=50_000)
def _said(line: str) -> tuple[tuple[str, str], ...]:
    """Return the texts in a JSON line, once each, with their source."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return ((line, Source.USER),) if line.strip() else ()
    source = row.get("source") if isinstance(row, dict) else None
    author = source if source in set(Source) else Source.USER
    return tuple((text, author) for text in dict.fromkeys(_strings(row)) if text.strip())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _name_in_home(file: Path) -> str:
    """Return the file's path in the home around it, or its own name outside of any home."""
    whole = file.absolute()
    home = next((folder for folder in whole.parents if (folder / MANIFEST).is_file()), whole.parent)
    return whole.relative_to(home).as_posix()


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
