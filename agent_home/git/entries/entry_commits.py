"""Read the commits that touched entries, with what each did, from one ``git log``.

Texts of entries are the content of others. So the commits are told apart by the beginnings of lines, where a patch
has signs of its own and a message is indented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from guard.lazy_regex import lazy_regex

from ...documents.entry import ALPHABET
from ...errors import GitFailed
from ..client import GitClient

__all__ = ["PATHS", "EntryCommit", "entry_commits"]

#: Files that hold entries.
PATHS = ("MEMORY.md", "EVOLUTION.md", "Archive")
_START, _FIELD = b"\n\x1e", "\x1f"
_NAMES = "".join(f"%x1f%(trailers:key={name},valueonly,separator=%x2C)" for name in ("Session", "Evidence", "Actor"))
#: A message is indented by a space, so that no line of it begins like a commit or a patch.
_FORMAT = f"%x1e%H%x1f%cI%x1f%s{_NAMES}%x1f%n%w(0,1,1)%B"
_ID = rf"[A-Z]{{2}}-[{ALPHABET}]{{4}}"
_NAMED = lazy_regex(r"^ Entries: (.*)$", re.MULTILINE)
_IDS = lazy_regex(rf"(?=({_ID}))")
#: Lines of a patch that matter: the start of a file, its names, the end of its header, and first lines of entries.
_LINE = lazy_regex(
    r"^(?:(?P<start>diff --git )|(?P<hunk>@@ )|(?:\+\+\+ b/|--- a/)(?P<file>.*)"
    rf"|(?P<sign>[-+])[-*+][ \t]+\*\*\[(?P<id>{_ID})\])",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryCommit:
    """A commit that changed files with entries.

    Attributes:
        commit: its hash.
        ts: when it was committed, in ISO 8601 with the committer's time zone.
        subject: the first line of its message. *session*, *evidence* and *actor* are trailers.
        named: ids in the lines ``Entries`` of its message.
        acts: what it did with the first lines of entries, and in which file, by id.
        last_file: the last file in its patch.
    """

    commit: str
    ts: str
    subject: str
    session: str
    evidence: str
    actor: str
    named: frozenset[str]
    acts: Mapping[str, tuple[str, str]]
    last_file: str


def entry_commits(git: GitClient, *selection: str) -> Iterator[EntryCommit]:
    """Yield the commits that *selection*, options of ``git log``, leaves of those that changed files with entries.

    One commit at a time is in memory. A merge has no acts.

    Raises:
        GitFailed: git refused, or a commit is larger than the client allows.
    """
    arguments = (
        "log", f"--format={_FORMAT}", "-p", "--unified=0", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/",
        *selection, "--", *PATHS,
    )  # fmt: skip
    for record in _records(git, arguments):
        yield _entry_commit(record.decode("utf-8", "surrogateescape"))


def _records(git: GitClient, arguments: tuple[str, ...]) -> Iterator[bytes]:
    pending, looked = bytearray(b"\n"), 0
    for chunk in git.chunks(*arguments):
        pending += chunk
        while (end := pending.find(_START, looked)) >= 0:
            if end:
                yield bytes(pending[:end])
            del pending[: end + len(_START)]
            looked = 0
        if len(pending) > git.max_bytes:
            raise GitFailed("log", 0, f"it printed more than {git.max_bytes} bytes for one commit")
        looked = max(0, len(pending) - 1)
    if pending != b"\n":
        yield bytes(pending)


def _entry_commit(record: str) -> EntryCommit:
    head, _, patch = record.partition("\ndiff --git ")
    commit, ts, subject, session, evidence, actor, message = (*head.split(_FIELD, 6), "", "", "", "", "", "")[:7]
    named = frozenset(name for line in _NAMED.findall(message) for name in _IDS.findall(line))
    acts, last_file = _acts(f"diff --git {patch}")
    return EntryCommit(
        commit=commit, ts=ts, subject=subject, session=session, evidence=evidence, actor=actor, named=named, acts=acts,
        last_file=last_file,
    )  # fmt: skip


def _acts(patch: str) -> tuple[dict[str, tuple[str, str]], str]:
    """Return what a patch did with the first lines of entries, and in which file, and the last file of the patch."""
    file, in_header = "", True
    added: dict[str, str] = {}
    removed: dict[str, str] = {}
    for line in _LINE.finditer(patch):
        if line["start"] or line["hunk"]:
            in_header = bool(line["start"])
        elif line["id"]:
            (added if line["sign"] == "+" else removed)[line["id"]] = file
        elif in_header:
            file = line["file"]
    return {name: _act(added.get(name), removed.get(name)) for name in added | removed}, file


def _act(added: str | None, removed: str | None) -> tuple[str, str]:
    if added is None:
        return "removed", removed or ""
    if removed is None:
        return "added", added
    if added == removed:
        return "changed", added
    return ("archived" if added.startswith("Archive/") else "restored"), added
