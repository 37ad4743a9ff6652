"""Look at what a pull would bring, and prepare the texts that it may bring.

The texts of both sides are merged by entries, sections and JSON lines, as the merge driver does. Nothing is written and
no file of the other side reaches the disk. A file that memory cannot take as text, or whose place or content is none of
memory's, is *refused*: links, submodules, programs, machine state, transcripts, binary files, conflict markers.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import PurePosixPath

from .. import storage
from ..consent.agreed_links import is_place
from ..consent.settings_in_effect import settings_in_effect
from ..documents.check import RULES, conflict_marker, entry_files, holds_entries, text_problems
from ..documents.document import parse
from ..documents.document_merge import merge_texts
from ..documents.entry import Entry
from ..errors import DocumentInvalid, HistoryError, SettingsInvalid
from ..forgetting.tombstones import scrubber, tombstones
from ..git import history
from ..git.client import home_client
from ..git.merge_driver import ATTRIBUTES
from ..home import Home
from ..screening.personal_text import LocatedFinding
from ..screening.private_folders import IGNORE, uncovering_line
from ..screening.review_ledger import APPROVED, decisions_in
from ..screening.service import ScreeningService
from ..settings import MANIFEST, parse_manifest
from ..sharing.folders import shared_folders, submodules
from ..store.losses import is_large

__all__ = ["ChangedLines", "Incoming", "IncomingEntry", "IncomingFile", "look"]

_PLAIN, _LINK, _REPOSITORY = "100644", "120000", "160000"
#: Lines of two texts that are compared in time that grows with their product, and lines that a person is shown.
_MOST_COMPARED, _MOST_LINES, _LONGEST_LINE = 4_000, 60, 400
_ACTIONS = {"A": "added", "D": "removed", "M": "changed", "T": "changed"}
#: Folders and files that are no memory, compared without case.
_FOREIGN = frozenset({".git", ".memory", ".gitmodules"})
_LOCAL = frozenset({"sessions", "outputs"})
#: Attributes by which git is told to run programs, and the merge drivers that every home has.
_RUNS = ("filter=", "diff=", "working-tree-encoding=")
_DRIVERS = frozenset({"merge=agent-home", "merge=union", "merge=text", "merge=binary"})
#: Fields of an entry that say how far it can be trusted.
_CLAIMS = ("Origin", "Evidence", "Protected")
_MAX_FILE_BYTES = 4 << 20
#: Limits of one pull. A home has thousands of files with some kilobytes each. One object may stand under many names, so
#: a push of kilobytes can name any number of bytes.
_MAX_PATHS = 100_000
_MAX_TOTAL_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingFile:
    """A file that the other side changed since the common ancestor. *refused* says why it cannot be taken."""

    path: str
    action: str  # added, changed or removed
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingEntry:
    """An entry that the merge adds, changes or removes, and what its fields say about its trust."""

    id: str
    path: str
    action: str
    says: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedLines:
    """Lines of a file that the merge removes and adds, in order, each marked by ``-`` or ``+``.

    *more* counts those that are left out.
    """

    path: str
    lines: tuple[str, ...]
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """Result of looking at a pull from *commit*.

    *texts* are the merged files that would be written, by path and empty for a file that goes. *findings* are the texts
    in them that the guard holds back. *changes* are their lines as a person looks at them. *waiting* are settings that
    would wait for a person, and *foreign* approvals that would count for nothing. *forgotten* are entries and files
    that hold something again that was forgotten here. *submodules* are the commits of shared projects that the other
    side names, by place, where this side names the common ancestor's.
    """

    commit: str
    base: str
    commits: int
    forward: bool
    texts: Mapping[str, str]
    files: tuple[IncomingFile, ...] = ()
    entries: tuple[IncomingEntry, ...] = ()
    findings: tuple[LocatedFinding, ...] = ()
    changes: tuple[ChangedLines, ...] = ()
    waiting: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    submodules: Mapping[str, str] = field(default_factory=dict)

    @property
    def refused(self) -> tuple[IncomingFile, ...]:
        """The files that cannot be taken."""
        return tuple(file for file in self.files if file.refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChangedPath:
    """One changed path of the other side: its modes and contents at the ancestor, here and there.

    A file that is too *large* has no contents. *ids* are those of the objects at the ancestor and there.
    """

    path: str
    mode: str
    status: str
    ids: tuple[str, str]
    base: bytes = b""
    ours: bytes = b""
    theirs: bytes = b""
    large: bool = False


def look(home: Home, commit: str, *, accept_removals: bool = False) -> Incoming:
    """Return what a merge of *commit* would bring to HEAD.

    With *accept_removals*, a file that would lose many entries is not refused.

    Raises:
        HistoryError: git is absent or refused, or the two have no common ancestor.
    """
    git = home_client(home.root)
    head = history.head(home.root)
    base = git.text("merge-base", head, commit, empty_on=(1,)).strip()
    if not base:
        raise HistoryError(f"{commit[:12]} has no commit in common with this home, so it is another home. Name its own")
    screening = ScreeningService(home)
    texts: dict[str, str] = {}
    files: list[IncomingFile] = []
    findings: list[LocatedFinding] = []
    present = {path.casefold(): path for path in git.text("ls-tree", "-r", "-z", "--name-only", head).split("\0")}
    entries: list[IncomingEntry] = []
    scrub, gone, forgotten = scrubber(home), {row.id for row in tombstones(home) if row.id}, []
    changes: list[ChangedLines] = []
    own, places, moved = submodules(home), tuple(f"{one.place}/" for one in shared_folders(home)), dict[str, str]()
    for change in _changes(home, base, commit):
        if change.mode == _REPOSITORY and change.path in own and is_place(change.path):
            files.append(IncomingFile(path=change.path, action=_ACTIONS[change.status]))
            moved |= {change.path: change.ids[1]} if own[change.path] == change.ids[0] else {}
            continue
        refused, merged = _judged(home, change, present, screening)
        if not refused and change.path.startswith(places):
            refused, merged = "it lies in a folder that is shared here. Take it through that folder", ""
        shown = screening.shown_path(change.path, own=False) if refused else change.path
        files.append(IncomingFile(path=shown, action=_ACTIONS[change.status], refused=refused))
        ours = change.ours.decode("utf-8", "replace")
        if refused or merged == ours:
            continue
        texts[change.path] = merged
        held = [found for found in screening.findings_in_edit(change.path, ours, merged) if found.fails]
        findings += held
        coming = list(_entries(change.path, ours, merged))
        entries += coming
        forgotten += [one.id for one in coming if one.id in gone and one.action != "removed"]
        if scrub(change.theirs.decode("utf-8", "replace")) != change.theirs.decode("utf-8", "replace"):
            forgotten.append(change.path)
        changes.append(_changed_lines(change.path, ours, merged, held))
    losses = {} if accept_removals else _large_losses(home, texts, entries)
    files = [replace(file, refused=losses.get(file.path, file.refused)) for file in files]
    for path in losses:
        del texts[path]
    return Incoming(
        commit=commit, base=base, texts=texts, files=tuple(files), entries=tuple(entries), findings=tuple(findings),
        changes=tuple(change for change in changes if change.path in texts),
        commits=len(git.text("rev-list", f"{head}..{commit}").split()),
        forward=base == head and not findings and {file.path for file in files} == set(texts),
        waiting=_waiting(home, texts), foreign=_foreign(home, texts),
        forgotten=tuple(dict.fromkeys(forgotten)), submodules=moved,
    )  # fmt: skip


def _changes(home: Home, base: str, commit: str) -> Iterator[_ChangedPath]:
    """Yield the paths that *commit* changed since *base*, ordered. What is here is read from the disk.

    Sizes are judged before contents are read, and one file at a time is in memory.

    Raises:
        HistoryError: there are too many paths, or too many bytes.
    """
    git = home_client(home.root)
    rows = list(_changed_rows(home, base, commit))
    sizes = [size or 0 for size in git.sizes(fields[3] for _, fields in rows)]  # the null id of a removal is missing
    if sum(size for size in sizes if size <= _MAX_FILE_BYTES) > _MAX_TOTAL_BYTES:
        problem = f"{commit[:12]} changes files of more than {_MAX_TOTAL_BYTES >> 20} MB. Merge it with git, in parts"
        raise HistoryError(problem)
    plain = (fields for (_, fields), size in zip(rows, sizes, strict=True) if size <= _MAX_FILE_BYTES)
    contents = git.objects(name for fields in plain for name in fields[2:4] if name.strip("0"))
    for (path, fields), size in zip(rows, sizes, strict=True):
        found = _ChangedPath(
            path=path, mode=fields[1], status=fields[4][:1], ids=(fields[2], fields[3]), large=size > _MAX_FILE_BYTES
        )
        if found.large:
            yield found
            continue
        was, now = (
            item.data if name.strip("0") and (item := next(contents)) and item.kind == "blob" else b""
            for name in fields[2:4]
        )
        yield replace(found, base=was, ours=_on_disk(home, path), theirs=now)


def _changed_rows(home: Home, base: str, commit: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each changed path with git's fields: two modes, two ids, and the kind of the change."""
    options = ("-r", "--raw", "-z", "--no-renames", "--no-abbrev")
    fields = home_client(home.root).fields("diff-tree", *options, base, commit)
    for number, (row, path) in enumerate(zip(fields, fields, strict=False)):
        if number == _MAX_PATHS:
            problem = f"{commit[:12]} changes more than {_MAX_PATHS} files, which no home has. Nothing was read of it"
            raise HistoryError(problem)
        yield path.decode("utf-8", "surrogateescape"), row.decode().lstrip(":").split(" ")


def _on_disk(home: Home, path: str) -> bytes:
    try:
        target = home.path(path)
        return storage.read_bytes(target) if target.is_file() and not target.is_symlink() else b""
    except (DocumentInvalid, OSError, ValueError):
        return b""


def _judged(
    home: Home, change: _ChangedPath, present: Mapping[str, str], screening: ScreeningService
) -> tuple[str, str]:
    """Return why *change* cannot be taken, or an empty string, and the merged text."""
    path = change.path
    refused = _wrong_place(path, present) or _wrong_name(change, present, screening) or _wrong_kind(change)
    if refused:
        return refused, ""
    base, ours, theirs = (data.decode("utf-8", "replace") for data in (change.base, change.ours, change.theirs))
    if change.status == "D":
        left = "" if ours == base else ours  # what was changed here stays
        return _wrong_rules_of_git(home, path, ours, left), left
    try:
        merged = _merged(path, base, ours, theirs)
    except DocumentInvalid as error:
        return error.problem, ""
    if merged is None:
        return "both sides changed it. Merge it with git", ""
    return _wrong_text(home, path, ours, merged, screening), merged


def _wrong_name(change: _ChangedPath, present: Mapping[str, str], screening: ScreeningService) -> str:
    """Return why nobody may be shown the name of a file that *change* brings, or an empty string."""
    if change.status == "D" or change.path in present.values():
        return ""
    found = screening.findings_in_name(change.path, own=False)
    if not found:
        return ""
    return "its name is a secret" if found[0].layer == "secret" else f"its name has {found[0].name}"


def _wrong_place(path: str, present: Mapping[str, str]) -> str:
    parts = PurePosixPath(path).parts
    if not path.isprintable() or (not path.isascii() and any("\udc80" <= char <= "\udcff" for char in path)):
        return "its name has characters that no file of memory has"
    if any(part.casefold() in _FOREIGN for part in parts):
        return "it is state of a machine or of git, and never memory"
    if parts[0].casefold() in _LOCAL:
        return "transcripts and outputs stay on their machine. Copy them, or merge with git"
    other = present.get(path.casefold(), path)
    return f"its name differs from {other} in capitals only" if other != path else ""


def _wrong_kind(change: _ChangedPath) -> str:
    """Return why the other side's object is no plain text file, or an empty string."""
    if change.mode == _LINK:
        return "it is a link"
    if change.mode == _REPOSITORY:
        return "it is another repository"
    if change.status == "D":
        return ""
    if change.large:
        return f"it has more than {_MAX_FILE_BYTES >> 20} MB"
    if change.mode != _PLAIN and change.base != change.theirs:
        return "it is a program"
    try:
        change.theirs.decode("utf-8")
    except UnicodeDecodeError:
        return "it is no UTF-8 text. Merge it with git"
    return "it is no text. Merge it with git" if b"\0" in change.theirs else ""


def _merged(path: str, base: str, ours: str, theirs: str) -> str | None:
    """Return the merge of two versions, or ``None`` where both sides changed a file that has no entries or sections.

    Raises:
        DocumentInvalid: a version has conflict markers, or a block that is never closed.
    """
    if (marker := conflict_marker(path, theirs)) is not None:
        raise DocumentInvalid(path, marker.line, marker.rule, f"line {marker.line} has conflict markers of a merge")
    if path.endswith(".md"):
        return merge_texts(base, ours, theirs, path).text
    if path.startswith("ledger/") and path.endswith(".jsonl"):
        known = {*ours.splitlines(), *base.splitlines()}
        start = f"{ours}\n" if ours and not ours.endswith("\n") else ours
        return start + "".join(f"{line}\n" for line in theirs.splitlines() if line not in known)
    return theirs if ours == base else ours if ours == theirs else None


def _wrong_text(home: Home, path: str, ours: str, merged: str, screening: ScreeningService) -> str:
    """Return why memory cannot take the text *merged*, or an empty string."""
    if refused := _wrong_rules_of_git(home, path, ours, merged):
        return refused
    if path == MANIFEST:
        try:
            parse_manifest(merged, home.root / MANIFEST)
        except SettingsInvalid as error:
            return error.problem
    if not path.endswith(".md"):
        found = [one for one in screening.findings_in_edit(path, ours, merged) if one.fails]
        return f"line {found[0].line} has {found[0].name}" if found else ""
    known = {(problem.rule, problem.message) for problem in text_problems(path, ours)}
    problems = (problem for problem in text_problems(path, merged) if problem.rule in RULES)
    new = next((problem for problem in problems if (problem.rule, problem.message) not in known), None)
    return f"line {new.line} breaks a rule of memory: {new.message}" if new is not None else ""


def _wrong_rules_of_git(home: Home, path: str, ours: str, merged: str) -> str:
    """Return why the attributes and ignored files of *merged* cannot be taken, or an empty string."""
    name = PurePosixPath(path).name.casefold()
    if name == ATTRIBUTES and (word := _runs_programs(ours, merged)):
        return f"it tells git to run programs: {word}"
    if name == ATTRIBUTES and (line := _unconverted(ours, merged)):
        return f"without this line git would store texts that a filter converts: {line}"
    if path.casefold() == IGNORE and (line := uncovering_line(home.root, ours, merged)):
        return f"git would take private folders, as transcripts, by this change: {line}"
    return ""


def _runs_programs(ours: str, merged: str) -> str:
    """Return an attribute in a new line of ``.gitattributes`` by which git would run a program."""
    known = set(ours.splitlines())
    words = (word for line in merged.splitlines() if line not in known for word in line.split()[1:])
    return next((w for w in words if w.startswith(_RUNS) or (w.startswith("merge=") and w not in _DRIVERS)), "")


def _unconverted(ours: str, merged: str) -> str:
    """Return a line by which a filter would no longer convert a file, as one that encrypts it: gone, or overridden."""
    before, after = ours.splitlines(), merged.splitlines()
    gone = (line for line in before if line not in after and any(w.startswith("filter=") for w in line.split()[1:]))
    new = (line for line in after if line not in before and {"-filter", "!filter", "filter"} & {*line.split()[1:]})
    return next(chain(gone, new), "")


def _large_losses(home: Home, texts: Mapping[str, str], entries: Iterable[IncomingEntry]) -> dict[str, str]:
    """Return by path why a file that would lose many entries is refused. What moves to another file is not lost."""
    removed: dict[str, list[str]] = {}
    for entry in entries:
        if entry.action == "removed":
            removed.setdefault(entry.path, []).append(entry.id)
    found = {}
    for path, names in removed.items():
        others = {*entry_files(home), *(other for other in texts if holds_entries(other))} - {path}
        kept = {entry.id for other in others for entry in parse(_after(home, texts, other)).entries()}
        had = sum(1 for _ in parse(storage.read_text(home.path(path))).entries())
        lost = [name for name in names if name not in kept]
        if is_large(len(lost), had):
            found[path] = f"it would remove {len(lost)} of {had} entries. --accept-removals takes it"
    return found


def _after(home: Home, texts: Mapping[str, str], path: str) -> str:
    return texts[path] if path in texts else storage.read_text(home.path(path))


def _entries(path: str, ours: str, merged: str) -> Iterator[IncomingEntry]:
    if not holds_entries(path):
        return
    before, after = ({entry.id: entry for entry in parse(text).entries()} for text in (ours, merged))
    for name, entry in after.items():
        if name not in before:
            yield _entry(entry, path, "added")
        elif entry.raw != before[name].raw:
            yield _entry(entry, path, "changed")
    yield from (_entry(before[name], path, "removed") for name in before.keys() - after.keys())


def _changed_lines(path: str, ours: str, merged: str, held: Sequence[LocatedFinding]) -> ChangedLines:
    """Return the lines that differ between the two texts of *path*, at most 60 with 400 characters of each.

    What the guard holds back is named and not shown: an agent may read the output.
    """
    before, after = ours.split("\n"), merged.split("\n")  # as the guard counts lines
    for finding in held:
        inside = False
        for place, line in enumerate(after):
            if line.startswith(("- **[", "#")):
                inside = bool(finding.entry) and f"[{finding.entry}]" in line
            if inside or place + 1 == finding.line:
                after[place] = f"[held back by the guard: {finding.name}]"
    if len(before) + len(after) > _MOST_COMPARED:
        known = set(before)
        found = [f"+ {line}" for line in after if line not in known]
    else:
        compared = islice(difflib.unified_diff(before, after, n=0, lineterm=""), 2, None)  # without the two file names
        found = [f"{line[0]} {line[1:]}" for line in compared if line[0] in "+-"]
    found = [line[:_LONGEST_LINE] for line in found if line[2:].strip()]
    return ChangedLines(path=path, lines=tuple(found[:_MOST_LINES]), more=max(0, len(found) - _MOST_LINES))


def _entry(entry: Entry, path: str, action: str) -> IncomingEntry:
    says = {name: entry.fields[name] for name in _CLAIMS if entry.fields.get(name)}
    return IncomingEntry(id=entry.id, path=path, action=action, says=says)


def _waiting(home: Home, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the settings that would wait for a person after the pull."""
    text = texts.get(MANIFEST)
    if text is None:
        return ()
    found = settings_in_effect(parse_manifest(text, home.root / MANIFEST), home.machine).waiting
    return tuple(item.key for item in found)


def _foreign(home: Home, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ids of approvals that would come and count for nothing."""
    return tuple(row.id for row in decisions_in(home, texts.get(APPROVED, ""), "").foreign)
