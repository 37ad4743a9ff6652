"""Read a home's git repository: every object, reachable or not, and the files beside the objects.

One git process streams the objects, packed or loose. ``agent_home.forgetting.purge`` rewrites them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import HistoryError
from ..git_folder import STATE
from .client import GitObject, home_client
from .own_folder import own_folders

__all__ = [
    "BlobOrigin",
    "GitObject",
    "TreeEntry",
    "blob_origins",
    "git_files",
    "message_and_names",
    "object_kinds",
    "objects",
    "tree_entries",
]

_PEOPLE = (b"author ", b"committer ", b"tagger ")


@dataclass(frozen=True, slots=True)
class BlobOrigin:
    """The oldest commit that holds a blob, and the blob's path in that commit."""

    commit: str
    path: str


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A line of a tree. *mode* is as git writes it: ``40000`` is a folder, ``160000`` a submodule's commit."""

    mode: bytes
    name: bytes
    id: str


def object_kinds(root: Path) -> dict[str, str]:
    """Return the kind of every object by its id."""
    listing = home_client(root).text("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    rows = (line.split() for line in listing.splitlines())
    return {row[0]: row[1] for row in rows}


def objects(root: Path, ids: Iterable[str] | None = None) -> Iterator[GitObject]:
    """Yield the objects *ids* in their order, or every object of the repository in no order.

    Raises:
        HistoryError: *root* is no repository, an object is missing, or git cannot read it.
    """
    for item in home_client(root).objects(ids):
        if item is None:
            raise HistoryError(f"an object is missing in {root}. `git fsck` there says which")
        yield item


def blob_origins(root: Path) -> dict[str, BlobOrigin]:
    """Return the origin of every blob that a ref or a reflog reaches, by the blob's id."""
    found: dict[str, BlobOrigin] = {}
    arguments = ["log", "--all", "--reflog", "--reverse", "--topo-order", "--raw", "-z", "--root", "-m",
                 "--no-abbrev", "--no-renames", "--format=%x1e%H"]  # fmt: skip
    commit, blob = "", ""
    for field in (field.lstrip(b"\n") for field in home_client(root).fields(*arguments)):
        if field.startswith(b"\x1e"):
            commit = field[1:].decode()
        elif field.startswith(b":"):
            blob = field.split(b" ")[3].decode()
        elif field and blob:
            found.setdefault(blob, BlobOrigin(commit, field.decode("utf-8", "surrogateescape")))
    return found


def tree_entries(data: bytes, hash_bytes: int) -> Iterator[TreeEntry]:
    """Yield the lines of a tree object in order. *hash_bytes* is 20 in a SHA-1 repository, 32 in a SHA-256 one."""
    at = 0
    while at < len(data):
        space, end = data.index(b" ", at), data.index(b"\0", at)
        stop = end + 1 + hash_bytes
        yield TreeEntry(data[at:space], data[space + 1 : end], data[end + 1 : stop].hex())
        at = stop


def message_and_names(item: GitObject) -> str:
    """Return the readable text of a commit or tag: the people it names, and its message."""
    head, _, message = item.data.partition(b"\n\n")
    people = [line.rpartition(b">")[0] for line in head.split(b"\n") if line.startswith(_PEOPLE)]
    names = [person.partition(b" ")[2] for person in people]
    return b"\n\n".join([*names, message]).decode("utf-8", "surrogateescape")


def git_files(root: Path) -> Iterator[Path]:
    """Yield the files in git's folder that are no objects, such as reflogs and unfinished messages."""
    folder = own_folders(root).own
    for path in sorted(folder.rglob("*")):
        if path.relative_to(folder).parts[0] not in {"objects", "hooks", STATE} and path.is_file():
            yield path
