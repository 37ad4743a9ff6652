"""Validate the files of a home and report problems with file, line and rule.

:func:`text_problems` validates one Markdown text. The gateway refuses an edit that adds a problem. Problems in files
that people edited are only reported. This module changes no file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path

from guard.lazy_regex import lazy_regex

from .. import storage
from ..errors import DocumentInvalid, SettingsInvalid
from ..home import ARCHIVED_DAILY, MEMORY, Home, is_text
from ..settings import MANIFEST, load_manifest
from .document import Block, Document, parse
from .entry import SECTIONS, section_of

__all__ = [
    "RULES",
    "UNCLOSED_RULES",
    "Problem",
    "conflict_marker",
    "entry_files",
    "holds_entries",
    "is_json_object",
    "markdown_files",
    "problems",
    "text_problems",
]

#: Every rule, with the advice for a person.
RULES = {
    "not-a-file": "restore the file from git, or let `memory init` create it",
    "outside-home": "replace the link by the file itself",
    "unreadable": "give yourself the right to read it",
    "too-large": "restore it from git, or move a part elsewhere",
    "name-not-utf8": "rename the file",
    "not-utf8": "save the file as UTF-8",
    "bad-manifest": "correct agent.toml",
    "duplicate-id": "give one of the two entries another id. `memory archive --apply` does so where one is archived",
    "malformed-entry": "write it as - **[KD-7F3A]** 2026-11-20 Text",
    "bad-date": "write a date that exists, like 2026-11-20",
    "outside-section": "move the entry under its ## heading",
    "wrong-section": "move the entry under the heading of its prefix",
    "duplicate-section": "join the two sections",
    "broken-heading": "put a space after the #",
    "unclosed-fence": "close the code block",
    "unclosed-comment": "close the comment with -->",
    "unclosed-html": "close the tag",
    "forged-marker": "remove the marker: only the assembler writes it, into prompts",
    "conflict-marker": "resolve the merge conflict",
    "control-character": "remove the character",
    "not-json": "remove or correct the line",
    "link-not-agreed": "allow it with `memory share add`, or put the folder itself there",
    "shared-folder": "closings leave this folder alone until then, and go on elsewhere",
}

#: Rules about blocks that are never closed and therefore contain the rest of the file.
UNCLOSED_RULES = frozenset({"unclosed-fence", "unclosed-comment", "unclosed-html"})
_ENTRY_FILES = (MEMORY, "EVOLUTION.md")
#: A list item that begins like an entry. Without bold type it needs a hyphen and a digit: ``- [todo]`` is no id.
_ENTRY_LIKE = lazy_regex(
    r"[ \t]*[-*+][ \t]+"
    r"(?:\*\*\[[A-Za-z]{2,3}-?[0-9A-Za-z]{1,8}|\[[A-Za-z]{2,3}-(?=[A-Za-z]*[0-9])[0-9A-Za-z]{1,8})\](?![(\[])"
)
_DATE_LIKE = lazy_regex(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)")
_BROKEN_HEADING = lazy_regex(r"#{2,6}[^#\s]")
_MARKER = lazy_regex(
    r"</?agent-home(?:-\w+)*\b|<!--\s*agent-home\b|<\|(?:im_start|im_end|system|user|assistant)\|>", re.IGNORECASE
)
_CONFLICT_SIGNS = ("<" * 7, "|" * 7, "=" * 7, ">" * 7)
_CONFLICT = lazy_regex(r"(?:<{7} |\|{7} |={7}$|>{7} )")
_LINE_END = lazy_regex(r"\r\n|\r|\n")
_LAST_LINE_END = lazy_regex(r"(?:\r\n|\r|\n)\Z")
_FENCE = lazy_regex(r" {0,3}(`{3,}|~{3,})")
#: Start and end of HTML that reaches to the end of the file when it is not closed.
_HTML_TO_FILE_END = (
    (lazy_regex(r" {0,3}<!--"), lazy_regex(r"-->")),
    (lazy_regex(r" {0,3}<\?"), lazy_regex(r"\?>")),
    (lazy_regex(r" {0,3}<!\[CDATA\["), lazy_regex(r"\]\]>")),
    (lazy_regex(r" {0,3}<![A-Za-z]"), lazy_regex(r">")),
    (
        lazy_regex(r" {0,3}<(?:script|pre|style|textarea)(?:[\s>]|$)", re.IGNORECASE),
        lazy_regex(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    ),
)
_CONTROL = lazy_regex(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A place in a file that breaks a rule. *line* counts from 1, and 0 stands for the whole file."""

    file: str
    line: int
    rule: str
    message: str


def problems(home: Home) -> list[Problem]:
    """Return all problems of the home's files, ordered by file and line."""
    found: list[Problem] = []
    first_uses: dict[str, tuple[str, str]] = {}
    for relative in dict.fromkeys([*markdown_files(home), *_required_files(home)]):
        text = _read_or_problem(home, relative)
        if isinstance(text, Problem):
            found.append(text)
            continue
        found += text_problems(relative, text)
        if holds_entries(relative):
            found += _ids_in_other_files(relative, parse(text), first_uses)
    found += _manifest_problems(home)
    for path in home.files("sessions", "**/*.jsonl") + sorted((home.root / "ledger").glob("*.jsonl")):
        if is_text(home.relative(path)):
            found += _jsonl_problems(home, path)
    found += _name_problems(home)
    return sorted(found, key=lambda problem: (problem.file, problem.line, problem.rule))


def text_problems(path: str, text: str) -> list[Problem]:
    """Return the problems of one Markdown text with the path *path*, in line order."""
    return list(_text_problems(path, text))


@lru_cache(maxsize=16)  # a write looks at the old text and the new one twice each
def _text_problems(path: str, text: str) -> tuple[Problem, ...]:
    document = parse(text)
    found = [
        Problem(file=path, line=line, rule=rule, message=message)
        for line, rule, message in (*_block_problems(document), *_entry_file_problems(path, document))
    ]
    return tuple(sorted(found, key=lambda problem: (problem.line, problem.rule)))


def conflict_marker(path: str, text: str) -> Problem | None:
    """Return the first conflict marker that git left in the file *path*, or ``None``. Code blocks do not count."""
    if not any(sign in text for sign in _CONFLICT_SIGNS if sign[0] in "<>"):
        return None
    if path.endswith(".md"):
        return next((problem for problem in text_problems(path, text) if problem.rule == "conflict-marker"), None)
    for number, line in enumerate(text.split("\n"), 1):
        if line[:1] in {"<", ">"} and (conflict := _CONFLICT.match(line)):
            message = f"conflict marker {conflict.group().strip()!r}"
            return Problem(file=path, line=number, rule="conflict-marker", message=message)
    return None


def markdown_files(home: Home) -> Iterator[str]:
    """Yield the path of every Markdown file, relative to the home and in order. Hidden folders are skipped."""
    tops = (home.root, *(home.root / place for place in home.links))  # a pattern does not enter links
    for path in sorted({path for top in tops for path in top.glob("**/*.md")}):
        relative = home.relative(path)
        hidden = any(part.startswith(".") for part in Path(relative).parts)
        if not hidden and is_text(relative) and path.is_file():
            yield relative


def holds_entries(path: str) -> bool:
    """Return whether list items in the file *path* can be entries. They cannot in archived daily logs."""
    return path in _ENTRY_FILES or (path.startswith("Archive/") and not path.startswith(ARCHIVED_DAILY))


def entry_files(home: Home) -> list[str]:
    """Return the existing files whose entries share one space of ids, live files before archived ones."""
    archived = (home.relative(path) for path in home.files("Archive", "**/*.md") if is_text(path.name))
    live = (file for file in _ENTRY_FILES if (home.root / file).exists())
    return [*live, *(file for file in archived if holds_entries(file))]


def _required_files(home: Home) -> list[str]:
    """Return ``MEMORY.md`` and the context files whose paths exist, even as a folder or a broken link."""
    try:
        named = [home.context_path(item.file) for item in home.manifest.context]
    except (SettingsInvalid, OSError):  # reported as a problem of its own
        named = []
    return [MEMORY, *(file for file in named if os.path.lexists(home.root / file))]


def _read_or_problem(home: Home, relative: str) -> str | Problem:
    """Return the file's text, or the problem that prevents reading it."""
    try:
        path = home.path(relative)
        if not path.is_file():
            state = "is a folder" if path.is_dir() else "is not a file" if os.path.lexists(path) else "does not exist"
            return Problem(file=relative, line=0, rule="not-a-file", message=state)
        return storage.read_text(path)
    except DocumentInvalid as error:
        return Problem(file=relative, line=error.line, rule=error.rule, message=error.problem)
    except (OSError, RuntimeError) as error:  # links in a circle are a RuntimeError
        return _unreadable(relative, error)


def _unreadable(relative: str, error: Exception) -> Problem:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Problem(file=relative, line=0, rule="unreadable", message=f"cannot be read: {reason}")


def _block_problems(document: Document) -> Iterator[tuple[int, str, str]]:
    in_conflict = False
    for block in document.blocks:
        if block.kind in {"code", "html"}:
            yield from _unclosed_problems(block)
        if block.kind == "code":
            continue
        for line, text in _lines(block) if any(sign in block.raw for sign in _CONFLICT_SIGNS) else ():
            conflict = _CONFLICT.match(text)
            # ======= alone underlines a heading. It separates two versions only below <<<<<<<.
            if conflict and (in_conflict or text[0] in "<>"):
                in_conflict = text[0] != ">"
                yield line, "conflict-marker", f"conflict marker {conflict.group().strip()!r}"
        for rule, pattern in (("control-character", _CONTROL), ("forged-marker", _MARKER)):
            line, counted = block.line, 0
            for match in pattern.finditer(block.raw):
                line += len(_LINE_END.findall(block.raw, counted, match.start()))
                counted = match.start()
                yield line, rule, f"{rule.replace('-', ' ')} {match.group().strip(' ')!r}"


def _unclosed_problems(block: Block) -> Iterator[tuple[int, str, str]]:
    """Yield a problem when the block is never closed and contains the rest of the file.

    The message counts the lines below the start, so that adding a line to the block is a new problem.
    """
    below = f"and is never closed, so it contains the {len(_lines(block)) - 1} lines below"
    if block.kind == "code":
        if _is_open_fence(block):
            yield block.line, "unclosed-fence", f"a code block starts here {below}"
    elif "<!--" in block.raw and "-->" not in block.raw:
        yield block.line, "unclosed-comment", f"a comment starts here {below}"
    elif any(begin.match(block.raw) and not end.search(block.raw) for begin, end in _HTML_TO_FILE_END):
        yield block.line, "unclosed-html", f"HTML starts here {below}"


def _entry_file_problems(path: str, document: Document) -> Iterator[tuple[int, str, str]]:
    if not holds_entries(path):
        return
    section, ids, titles = "", set[str](), set[str]()
    for block in document.blocks:
        if block.kind == "heading" and block.level <= 2:
            section = block.title if block.level == 2 else ""
            if block.level == 2 and section.casefold() in titles:
                yield block.line, "duplicate-section", f"the section {section!r} is used twice"
            titles.add(section.casefold())
        elif block.entry is not None:
            yield from _entry_problems(path, block, section)
            if block.entry.id in ids:
                yield block.line, "duplicate-id", f"the id {block.entry.id} is used by an entry above"
            ids.add(block.entry.id)
        yield from _misread_lines(block)


def _misread_lines(block: Block) -> Iterator[tuple[int, str, str]]:
    """Yield the lines that look like a heading or an entry but are part of another block."""
    if block.kind not in {"entry", "item", "text"} and (block.kind != "code" or _FENCE.match(block.raw)):
        return
    for line, text in _lines(block)[1 if block.entry else 0 :]:
        if _ENTRY_LIKE.match(text):
            yield line, "malformed-entry", f"looks like an entry but is not one: {text[:60]!r}"
        elif _BROKEN_HEADING.match(text):
            yield line, "broken-heading", f"is not a heading without a space after the #: {text[:60]!r}"


def _entry_problems(path: str, block: Block, section: str) -> Iterator[tuple[int, str, str]]:
    entry = block.entry
    if entry is None:
        return
    if entry.date and not _is_date(entry.date):
        yield block.line, "bad-date", f"{entry.id} has the date {entry.date}, which does not exist"
    if not entry.date and (almost := _DATE_LIKE.match(entry.title)):
        yield block.line, "bad-date", f"{entry.id} has the date {almost.group()}, which is not written YYYY-MM-DD"
    if not section:
        yield block.line, "outside-section", f"{entry.id} is under no ## heading"
        return
    rule = section_of(entry.prefix)
    if path == MEMORY and rule is not None and rule.title.casefold() != section.casefold():
        yield block.line, "wrong-section", f"{entry.id} is under {section!r}, but its prefix belongs to {rule.title!r}"
    if path == MEMORY and rule is None:
        known = ", ".join(item.prefix for item in SECTIONS)
        yield block.line, "wrong-section", f"{entry.id} has an unknown prefix, use one of {known}"


def _ids_in_other_files(path: str, document: Document, first_uses: dict[str, tuple[str, str]]) -> Iterator[Problem]:
    """Yield a problem for each id that another file has too. *first_uses* maps an id to its file and text.

    :func:`text_problems` finds ids that are used twice in one file. An entry with the same text in a live file and in
    the archive is no problem: a writer died while it moved the entry, or one machine archived an entry that another
    machine gave a new source. `memory distill` removes the second copy.
    """
    for block in document.blocks:
        if block.entry is None:
            continue
        content = block.entry.text
        other, text = first_uses.setdefault(block.entry.id, (path, content))
        is_moving = text == content and (other in _ENTRY_FILES) != (path in _ENTRY_FILES)
        if other != path and not is_moving:
            message = f"the id {block.entry.id} is used by an entry in {other}"
            yield Problem(file=path, line=block.line, rule="duplicate-id", message=message)


def _manifest_problems(home: Home) -> Iterable[Problem]:
    try:
        load_manifest(home.root / MANIFEST)
    except SettingsInvalid as error:
        place = re.search(r"at line (\d+)", error.problem)
        line = int(place[1]) if place else 0
        return [Problem(file=MANIFEST, line=line, rule="bad-manifest", message=error.problem)]
    except OSError as error:
        return [_unreadable(MANIFEST, error)]
    return []


def _name_problems(home: Home) -> Iterator[Problem]:
    """Yield the files and folders whose names are not UTF-8. Every other command leaves them out."""
    for folder, folders, files in os.walk(home.root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in (*folders, *files):
            if not is_text(name):
                shown = home.relative(Path(folder, name)).encode("utf-8", "surrogateescape")
                message = "its name is not UTF-8, so that it is left out everywhere"
                yield Problem(
                    file=shown.decode("utf-8", "backslashreplace"), line=0, rule="name-not-utf8", message=message
                )


def _jsonl_problems(home: Home, path: Path) -> Iterator[Problem]:
    """Yield the lines that are no JSON object. A half-written last line is allowed: the next append removes it."""
    relative = home.relative(path)
    try:
        path = home.path(relative)
        if not path.is_file():  # opening a pipe would wait for a writer
            yield Problem(file=relative, line=0, rule="not-a-file", message="is no regular file")
            return
        with storage.open_file(path) as file:
            for number, line in enumerate(file, 1):
                if line.endswith(b"\n") and not is_json_object(line):
                    yield Problem(file=relative, line=number, rule="not-json", message="the line is not a JSON object")
    except DocumentInvalid as error:
        yield Problem(file=relative, line=0, rule=error.rule, message=error.problem)
    except (OSError, RuntimeError) as error:
        yield _unreadable(relative, error)


def is_json_object(line: bytes | str) -> bool:
    """Return whether *line* is a JSON object."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _is_open_fence(block: Block) -> bool:
    opening = _FENCE.match(block.raw)
    if opening is None:
        return False
    lines = [text for _, text in _lines(block)]
    closing = re.compile(rf" {{0,3}}{re.escape(opening[1][0])}{{{len(opening[1])},}}[ \t]*$")
    return len(lines) < 2 or closing.match(lines[-1]) is None


def _lines(block: Block) -> list[tuple[int, str]]:
    """Return the block's lines without line ends, each with its number in the file."""
    return list(enumerate(_LINE_END.split(_LAST_LINE_END.sub("", block.raw)), block.line))


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
