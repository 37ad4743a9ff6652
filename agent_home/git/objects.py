"""What a home's git repository holds: every object, reachable or not, and what lies beside the objects.

Git itself reads the objects, packed or loose, in one process that streams them. Making them anew is the business of
``agent_home.forgetting.purge``.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..errors import HistoryError
from .history import open_repository

__all__ = [
    "GitObject",
    "Origin",
    "TreeEntry",
    "git_files",
    "kinds",
    "objects",
    "origins",
    "run",
    "said",
    "tree_entries",
]

#: What would lead git to another repository, or show other objects than there are; a hook's environment has the first.
_REDIRECTS = frozenset(
    {
        "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE",
    }
)  # fmt: skip
_CHUNK = 1 << 16
_PEOPLE = (b"author ", b"committer ", b"tagger ")


@dataclass(frozen=True, slots=True)
class GitObject:
    """One object: its id in hexadecimal digits, its *kind* (blob, tree, commit or tag) and its bytes."""

    id: str
    kind: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a blob was first seen: the oldest commit that brought it, and the path it had there."""

    commit: str
    path: str


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A line of a tree. *mode* is as git writes it: ``40000`` is a folder, ``160000`` another repository's commit."""

    mode: bytes
    name: bytes
    id: str


def kinds(root: Path) -> dict[str, str]:
    """The kind of every object by its id."""
    listing = run(root, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    rows = (line.split() for line in listing.decode().splitlines())
    return {row[0]: row[1] for row in rows}


def objects(root: Path, ids: Iterable[str] | None = None) -> Iterator[GitObject]:
    """The objects *ids* in their order, or every object of the repository in no order.

    Raises:
        HistoryError: *root* is no repository, or git cannot read it.
    """
    given = b"" if ids is None else "".join(f"{oid}\n" for oid in ids).encode()
    listing = ["--batch-all-objects", "--unordered"] if ids is None else []
    with _started(root, ["cat-file", "--batch", "--buffer", *listing], given) as out:
        while header := out.readline():
            oid, kind, size = header.split()
            data = out.read(int(size))
            out.read(1)
            yield GitObject(oid.decode(), kind.decode(), data)


def origins(root: Path) -> dict[str, Origin]:
    """The first place of every blob that a ref or a reflog reaches, by its id."""
    found: dict[str, Origin] = {}
    arguments = ["log", "--all", "--reflog", "--reverse", "--topo-order", "--raw", "-z", "--root", "-m",
                 "--no-abbrev", "--no-renames", "--no-ext-diff", "--format=%x1e%H"]  # fmt: skip
    commit, blob = "", ""
    with _started(root, arguments, b"") as out:
        for field in (field.lstrip(b"\n") for field in _fields(out)):
            if field.startswith(b"\x1e"):
                commit = field[1:].decode()
            elif field.startswith(b":"):
                blob = field.split(b" ")[3].decode()
            elif field and blob:
                found.setdefault(blob, Origin(commit, field.decode("utf-8", "surrogateescape")))
    return found


def tree_entries(data: bytes, hash_bytes: int) -> Iterator[TreeEntry]:
    """The lines of a tree object, in its order. *hash_bytes* is 20 in a SHA-1 repository, 32 in a SHA-256 one."""
    at = 0
    while at < len(data):
        space, end = data.index(b" ", at), data.index(b"\0", at)
        stop = end + 1 + hash_bytes
        yield TreeEntry(data[at:space], data[space + 1 : end], data[end + 1 : stop].hex())
        at = stop


def said(item: GitObject) -> str:
    """What a commit or tag says in words: whom it names, and its message."""
    head, _, message = item.data.partition(b"\n\n")
    people = [line.rpartition(b">")[0] for line in head.split(b"\n") if line.startswith(_PEOPLE)]
    names = [person.partition(b" ")[2] for person in people]
    return b"\n\n".join([*names, message]).decode("utf-8", "surrogateescape")


def git_files(root: Path) -> Iterator[Path]:
    """The files in git's own folder that are no objects: reflogs, the last message, what a merge left behind."""
    folder = Path(open_repository(root).git_dir)
    for path in sorted(folder.rglob("*")):
        if path.relative_to(folder).parts[0] not in {"objects", "hooks"} and path.is_file():
            yield path


def run(root: Path, *arguments: str, stdin: bytes | IO[bytes] = b"") -> bytes:
    """What a git command prints, byte for byte.

    Raises:
        HistoryError: it failed; the message is git's.
    """
    with _fed(stdin) as given:
        done = subprocess.run(
            ["git", *arguments], cwd=root, env=_environment(root), stdin=given, capture_output=True, check=False
        )
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise HistoryError(f"git {_command(arguments)} failed: {said or f'exit code {done.returncode}'}")
    return done.stdout


@contextmanager
def _started(root: Path, arguments: Sequence[str], stdin: bytes) -> Iterator[IO[bytes]]:
    """A git command's output as it comes. Left early, the command is ended; left at the end, it must have succeeded."""
    with _fed(stdin) as given, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            ["git", *arguments], cwd=root, env=_environment(root), stdin=given, stdout=subprocess.PIPE, stderr=said
        )
        if process.stdout is None:
            raise HistoryError(f"git {_command(arguments)} gives no output; try again")
        try:
            yield process.stdout
            whole = not process.stdout.read(1)
        finally:
            process.stdout.close()
            code = process.wait()
        if whole and code:
            said.seek(0)
            reason = " ".join(said.read().decode("utf-8", "replace").split())
            raise HistoryError(f"git {_command(arguments)} failed: {reason}; `git fsck` in {root} says more")


@contextmanager
def _fed(stdin: bytes | IO[bytes]) -> Iterator[IO[bytes]]:
    """*stdin* as a file to read from: a pipe would stand still when both sides wait."""
    if not isinstance(stdin, bytes):
        yield stdin
        return
    with tempfile.TemporaryFile() as file:
        file.write(stdin)
        file.seek(0)
        yield file


def _environment(root: Path) -> dict[str, str]:
    open_repository(root)  # says it well when there is no git, or no repository
    kept = {name: value for name, value in os.environ.items() if name not in _REDIRECTS}
    return {**kept, "GIT_LITERAL_PATHSPECS": "1", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}


def _fields(out: IO[bytes]) -> Iterator[bytes]:
    """What stands between NUL bytes."""
    rest = b""
    while chunk := out.read(_CHUNK):
        *fields, rest = (rest + chunk).split(b"\0")
        yield from fields
    if rest:
        yield rest


def _command(arguments: Sequence[str]) -> str:
    """The command's name among its options."""
    at = 0
    while at < len(arguments) and arguments[at] == "-c":
        at += 2
    return arguments[at]
