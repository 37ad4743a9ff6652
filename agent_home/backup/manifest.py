"""The manifest of a backup: every file of the home with its size and digest, and the refs of its history.

The manifest is a file of JSON lines. The first line describes the home, and the last one seals the others by their
digest and by a signature of the machine that made the backup. A manifest is read as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import storage
from ..errors import MachineKeyUnusable
from ..machine_key import sign, verify
from .errors import BackupDamaged
from .safe_paths import link_problem, path_problem

__all__ = [
    "MANIFEST_NAME",
    "BackupFile",
    "BackupHistory",
    "BackupManifest",
    "BackupRef",
    "StagedVersion",
    "manifest_lines",
    "read_manifest",
]

MANIFEST_NAME = "manifest.jsonl"
_FORMAT, _VERSION = "agent-home backup", 1
#: Purpose of the signature.
_PURPOSE = "backup"
#: Largest manifest that is read: millions of files.
_MAX_BYTES = 1 << 30
#: A longer line is no row of ours: a path has 4096 bytes, and JSON writes each as up to six characters.
_MAX_LINE_BYTES = 128 << 10
_DIGEST = re.compile(r"[0-9a-f]{64}")
_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
#: What git allows in a name: only white space of ASCII is none.
_REF = re.compile(r"(?:HEAD|refs/[^\x00-\x20\x7f~^:?*\[\\]+)")
#: Nanoseconds of a time that a file system can hold.
_MOST_NS = 1 << 66
_FOREIGN_REFS = ("refs/replace/", "refs/remotes/")
_MODE = re.compile(r"0{6}|100644|100755|120000|160000")
_FORMATS = frozenset({"sha1", "sha256"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupFile:
    """A file with *path* in the home, or the path of a part of the history. *executable* is the owner's right."""

    path: str
    size: int
    digest: str
    executable: bool = False
    mtime_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupRef:
    """A ref with the *id* and the *kind* of the object that it names. A detached HEAD counts as one."""

    name: str
    id: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedVersion:
    """A file whose staged version differs from HEAD. The mode ``000000`` means that it is staged as removed."""

    path: str
    mode: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupHistory:
    """The state of a repository beside its objects. *head* is the ref that HEAD names, or empty where it is detached.

    *stashes* are commits, oldest first.
    """

    head: str = ""
    object_format: str = "sha1"
    refs: tuple[BackupRef, ...] = ()
    stashes: tuple[str, ...] = ()
    staged: tuple[StagedVersion, ...] = ()

    @property
    def commits(self) -> frozenset[str]:
        """The commits that refs and stashes name."""
        return frozenset({*(ref.id for ref in self.refs if ref.kind == "commit"), *self.stashes})

    @property
    def others(self) -> frozenset[str]:
        """Other objects that refs and the staging area name. No commit leads to them."""
        staged = (file.id for file in self.staged if file.mode not in {"000000", "160000"})
        return frozenset({*(ref.id for ref in self.refs if ref.kind != "commit"), *staged})


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupManifest:
    """Everything that a backup holds.

    *home* tells homes apart, and *machine* is the folder of machine state that was backed up. *packs* are the parts of
    the history in the order in which git takes them. *own* means that this user made the backup on this machine.
    """

    home: str
    name: str
    made: str
    machine: str
    files: Mapping[str, BackupFile] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    packs: tuple[BackupFile, ...] = ()
    history: BackupHistory | None = None
    remotes: Mapping[str, str] = field(default_factory=dict)
    own: bool = False

    def contents(self) -> Iterator[BackupFile]:
        """Yield the files and the parts of the history."""
        yield from self.files.values()
        yield from self.packs

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.contents())


def manifest_lines(manifest: BackupManifest) -> Iterator[bytes]:
    """Yield the lines of the file, the seal last. Without a usable machine key the seal has no signature."""
    digest = hashlib.sha256()
    for row in _rows(manifest):
        line = json.dumps(row, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        digest.update(line)
        yield line
    whole = digest.hexdigest()
    try:
        mac = sign(_PURPOSE, whole.encode())
    except MachineKeyUnusable:
        mac = ""
    yield json.dumps({"seal": whole, "mac": mac}).encode() + b"\n"


def read_manifest(folder: Path, name: str = MANIFEST_NAME) -> BackupManifest | None:
    """Return the manifest of the backup in *folder*, or ``None`` before the first backup was finished.

    *name* is its file.

    Raises:
        BackupDamaged: the manifest is cut off or changed, or names something that no home may hold.
    """
    try:
        lines, own = _sealed_lines(folder / name)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BackupDamaged(folder, _advice(f"has a damaged manifest ({_said(error)})")) from error
    try:
        return _manifest(lines, own=own)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BackupDamaged(folder, _advice(f"has a manifest that is not acceptable ({_said(error)})")) from error


def _rows(manifest: BackupManifest) -> Iterator[dict[str, Any]]:
    history = manifest.history
    yield {
        "format": _FORMAT, "version": _VERSION, "home": manifest.home, "name": manifest.name, "made": manifest.made,
        "machine": manifest.machine, "remotes": dict(manifest.remotes),
        "git": None if history is None else {"head": history.head, "object_format": history.object_format},
    }  # fmt: skip
    yield from ({"file": file.path, **_content_of(file)} for file in manifest.files.values())
    yield from ({"link": path, "to": target} for path, target in manifest.links.items())
    yield from ({"folder": path} for path in manifest.folders)
    yield from ({"pack": file.path, **_content_of(file)} for file in manifest.packs)
    if history is not None:
        yield from ({"ref": ref.name, "id": ref.id, "kind": ref.kind} for ref in history.refs)
        yield from ({"stash": commit} for commit in history.stashes)
        yield from ({"staged": file.path, "mode": file.mode, "id": file.id} for file in history.staged)


def _content_of(file: BackupFile) -> dict[str, Any]:
    return {
        "size": file.size, "sha256": file.digest, "mode": "0700" if file.executable else "0600",
        "mtime_ns": file.mtime_ns,
    }  # fmt: skip


def _sealed_lines(path: Path) -> tuple[list[bytes], bool]:
    """Return the lines before the seal, and whether the seal is signed by this machine.

    Raises:
        ValueError: a line is too long, or the seal is missing or does not fit.
        OSError: the file cannot be read, or is a link.
    """
    digest, lines = hashlib.sha256(), []
    last = b""
    with storage.open_plain(path) as file:
        if os.fstat(file.fileno()).st_size > _MAX_BYTES:
            raise ValueError(f"it has more than {_MAX_BYTES} bytes")
        while line := file.readline(_MAX_LINE_BYTES):
            if last:
                digest.update(last)
                lines.append(last)
            last = line
            if not line.endswith(b"\n"):
                raise ValueError("it is cut off")
    seal = json.loads(last or b"{}")
    if not isinstance(seal, dict) or seal.get("seal") != digest.hexdigest():
        raise ValueError("its seal does not fit")
    return lines, verify(_PURPOSE, digest.hexdigest().encode(), seal.get("mac"))


def _manifest(lines: list[bytes], *, own: bool) -> BackupManifest:
    """Return the manifest that *lines* say.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: a row is not one that a backup has.
    """
    head = json.loads(lines[0]) if lines else {}
    if head.get("format") != _FORMAT:
        raise ValueError(f"its format is {head.get('format')!r}")
    if head.get("version") != _VERSION:
        raise ValueError(f"it has version {head.get('version')!r}, and this program reads version {_VERSION}")
    rows = _ManifestRows()
    for line in lines[1:]:
        rows.add(json.loads(line))
    rows.refuse_overlaps()
    return BackupManifest(
        home=_text(head["home"]), name=_text(head["name"]), made=_text(head["made"]), machine=_text(head["machine"]),
        files=rows.files, links=rows.links, folders=tuple(rows.folders), packs=tuple(rows.packs),
        history=None if head["git"] is None else rows.history(head["git"], own=own), own=own,
        remotes={_text(name): _text(address) for name, address in head["remotes"].items()},
    )  # fmt: skip


class _ManifestRows:
    """Rows of a manifest by their kinds, each of them checked."""

    def __init__(self) -> None:
        self.files: dict[str, BackupFile] = {}
        self.links: dict[str, str] = {}
        self.folders: dict[str, None] = {}
        self.packs: list[BackupFile] = []
        self.refs: list[BackupRef] = []
        self.stashes: list[str] = []
        self.staged: list[StagedVersion] = []
        self._adders: Mapping[str, Callable[[dict[str, Any]], None]] = {
            "file": self._file, "link": self._link, "folder": self._folder, "pack": self._pack, "ref": self._ref,
            "stash": lambda row: self.stashes.append(_matching(_OBJECT_ID, row["stash"])), "staged": self._staged,
        }  # fmt: skip

    def add(self, row: dict[str, Any]) -> None:
        """Add a row by its first key."""
        if not isinstance(row, dict) or not row:
            raise TypeError(f"{row!r} is no row")
        self._adders[next(iter(row))](row)

    def history(self, said: Mapping[str, Any], *, own: bool) -> BackupHistory:
        """Return the history of a repository whose HEAD and format *said* names.

        A stranger's replacements of objects would change what a person's git shows, and its remote branches would tell
        that something was pushed. They stay behind unless the backup is this user's *own*.
        """
        if said["object_format"] not in _FORMATS:
            raise ValueError(f"objects of the format {said['object_format']!r}")
        refs = tuple(ref for ref in self.refs if own or not ref.name.startswith(_FOREIGN_REFS))
        return BackupHistory(
            head=_matching(_REF, said["head"]) if said["head"] else "", object_format=said["object_format"],
            refs=refs, stashes=tuple(self.stashes), staged=tuple(self.staged),
        )  # fmt: skip

    def refuse_overlaps(self) -> None:
        """Refuse names below a file or a link.

        Raises:
            ValueError: there is one.
        """
        taken = {*self.files, *self.links}
        folders: set[str] = set(self.folders)
        for path in (*taken, *self.folders):
            above = path.rpartition("/")[0]
            while above and above not in folders:
                folders.add(above)
                above = above.rpartition("/")[0]
        if found := sorted(taken & folders):
            raise ValueError(f"{found[0]!r} is a file or a link, and a folder as well")

    def _file(self, row: dict[str, Any]) -> None:
        path = self._new(row["file"])
        self.files[path] = _file_of(path, row)

    def _link(self, row: dict[str, Any]) -> None:
        path = self._new(row["link"])
        if problem := link_problem(path, _text(row["to"])):
            raise ValueError(f"{path!r} {problem}")
        self.links[path] = row["to"]

    def _folder(self, row: dict[str, Any]) -> None:
        self.folders[_path(row["folder"])] = None

    def _pack(self, row: dict[str, Any]) -> None:
        self.packs.append(_file_of(_text(row["pack"]), row))

    def _ref(self, row: dict[str, Any]) -> None:
        name, kind = _matching(_REF, row["ref"]), _text(row["kind"])
        os.fsencode(name)  # git's names are bytes
        self.refs.append(BackupRef(name=name, id=_matching(_OBJECT_ID, row["id"]), kind=kind))

    def _staged(self, row: dict[str, Any]) -> None:
        mode, oid = _matching(_MODE, row["mode"]), _matching(_OBJECT_ID, row["id"])
        self.staged.append(StagedVersion(path=_path(row["staged"]), mode=mode, id=oid))

    def _new(self, said: object) -> str:
        path = _path(said)
        if path in self.files or path in self.links:
            raise ValueError(f"two rows have the name {path!r}")
        return path


def _file_of(path: str, row: Mapping[str, Any]) -> BackupFile:
    size, mtime_ns = row["size"], row["mtime_ns"]
    if type(size) is not int or type(mtime_ns) is not int or not 0 <= size < 1 << 62 or abs(mtime_ns) >= _MOST_NS:
        raise ValueError(f"size {size!r} and time {mtime_ns!r} of {path!r}")
    return BackupFile(
        path=path, size=size, digest=_matching(_DIGEST, row["sha256"]), executable=row["mode"] == "0700",
        mtime_ns=mtime_ns,
    )  # fmt: skip


def _path(said: object) -> str:
    path = _text(said)
    if problem := path_problem(path):
        raise ValueError(f"{path!r} {problem}")
    return path


def _text(said: object) -> str:
    if not isinstance(said, str):
        raise TypeError(f"{said!r} is no text")
    return said


def _matching(pattern: re.Pattern[str], said: object) -> str:
    if pattern.fullmatch(_text(said)) is None:
        raise ValueError(f"{said!r} is not what stands there")
    return str(said)


def _advice(problem: str) -> str:
    return f"{problem}. Take another copy of the folder, or move it away and back up anew"


def _said(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
