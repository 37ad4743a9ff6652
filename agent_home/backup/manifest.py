"""The manifest of a backup: every file of the home with its size and digest, and the refs of its repositories.

The manifest is a file of JSON lines. The first line describes the home, and the last one seals the others by their
digest and by a signature of the machine that made the backup. A manifest is read as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

from .. import storage
from ..errors import MachineKeyUnusable
from ..machine_key import sign, verify
from .errors import BackupDamaged
from .safe_paths import link_problem, memory_path_problem, module_problem, path_problem

__all__ = [
    "MANIFEST_NAME",
    "MOST_REPOSITORIES",
    "BackupFile",
    "BackupHistory",
    "BackupManifest",
    "BackupRef",
    "BackupRepository",
    "StagedVersion",
    "manifest_lines",
    "read_manifest",
    "repository_problem",
]

MANIFEST_NAME = "manifest.jsonl"
_FORMAT, _VERSION = "agent-home backup", 2
#: Versions that are read. The first one knew no repositories inside a home.
_READ = frozenset({1, _VERSION})
#: Most repositories inside a home. Each takes some processes of git to read and to make.
MOST_REPOSITORIES = 1000
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

    *stashes* are commits, oldest first. *shallow* are the commits where the history of a shallow clone ends.
    """

    head: str = ""
    object_format: str = "sha1"
    refs: tuple[BackupRef, ...] = ()
    stashes: tuple[str, ...] = ()
    staged: tuple[StagedVersion, ...] = ()
    shallow: tuple[str, ...] = ()

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
class BackupRepository:
    """A repository inside the home, whose work tree is the folder *place*.

    A submodule has a *name*: its git folder lies under ``modules/NAME`` in that of the repository at *of*, which is the
    home itself where *of* is empty. *url* is the address under which that repository knows it. A clone has its git
    folder in *place*, and *excluded* means that the repository around it ignores it in ``info/exclude``.
    """

    place: str
    history: BackupHistory
    packs: tuple[BackupFile, ...] = ()
    of: str = ""
    name: str = ""
    url: str = ""
    excluded: bool = False
    remotes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupManifest:
    """Everything that a backup holds.

    *home* tells homes apart, and *machine* is the folder of machine state that was backed up. *packs* are the parts of
    the history in the order in which git takes them. *repositories* are those inside the home by their places, the
    outer ones first. *own* means that this user made the backup on this machine.
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
    repositories: Mapping[str, BackupRepository] = field(default_factory=dict)
    own: bool = False

    def contents(self) -> Iterator[BackupFile]:
        """Yield the files and the parts of the histories."""
        yield from self.files.values()
        yield from self.packs
        for repository in self.repositories.values():
            yield from repository.packs

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.contents())


def manifest_lines(manifest: BackupManifest) -> Iterator[bytes]:
    """Yield the lines of the file, the seal last. Without a usable machine key the seal has no signature."""
    digest = hashlib.sha256()
    for row in _rows(manifest):
        line = _line(row)
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


def repository_problem(repository: BackupRepository, others: Mapping[str, BackupRepository]) -> str:
    """Return why no manifest with the repositories *others* may name *repository* as well, or an empty text."""
    rows = _ManifestRows()
    rows.repositories.update(others)
    try:
        for row in _repository_rows(repository):
            if len(_line(row)) > _MAX_LINE_BYTES:
                return "has a name that is too long"
            rows.add(row)
        rows.end()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return _said(error)
    return ""


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


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
    yield from _history_rows(history or BackupHistory(), manifest.packs)
    for repository in manifest.repositories.values():
        yield from _repository_rows(repository)


def _repository_rows(repository: BackupRepository) -> Iterator[dict[str, Any]]:
    """Yield the row of a repository inside the home, and then those of its history."""
    yield {
        "repository": repository.place, "of": repository.of, "name": repository.name, "url": repository.url,
        "excluded": repository.excluded, "remotes": dict(repository.remotes),
        "git": {"head": repository.history.head, "object_format": repository.history.object_format},
    }  # fmt: skip
    yield from _history_rows(repository.history, repository.packs)


def _history_rows(history: BackupHistory, packs: Iterable[BackupFile]) -> Iterator[dict[str, Any]]:
    yield from ({"pack": file.path, **_content_of(file)} for file in packs)
    yield from ({"ref": ref.name, "id": ref.id, "kind": ref.kind} for ref in history.refs)
    yield from ({"stash": commit} for commit in history.stashes)
    yield from ({"staged": file.path, "mode": file.mode, "id": file.id} for file in history.staged)
    yield from ({"shallow": commit} for commit in history.shallow)


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
    if head.get("version") not in _READ:
        raise ValueError(f"it has version {head.get('version')!r}, and this program reads versions up to {_VERSION}")
    rows = _ManifestRows(own=own)
    for line in lines[1:]:
        rows.add(json.loads(line))
    rows.end()
    rows.refuse_overlaps()
    return BackupManifest(
        home=_text(head["home"]), name=_text(head["name"]), made=_text(head["made"]), machine=_text(head["machine"]),
        files=rows.files, links=rows.links, folders=tuple(rows.folders), packs=tuple(rows.home.packs),
        history=None if head["git"] is None else rows.home.history(head["git"], own=own), own=own,
        remotes=_addresses(head["remotes"]), repositories=rows.repositories,
    )  # fmt: skip


class _HistoryRows:
    """Rows of one repository, each of them checked. *place* is empty for that of the home."""

    def __init__(self, place: str = "", said: Mapping[str, Any] | None = None) -> None:
        self.place, self.said = place, said or {}
        self.packs: list[BackupFile] = []
        self._refs: list[BackupRef] = []
        self._stashes: list[str] = []
        self._staged: list[StagedVersion] = []
        self._shallow: list[str] = []
        self.adders: Mapping[str, Callable[[dict[str, Any]], None]] = {
            "pack": self._pack, "ref": self._ref, "shallow": self._end, "staged": self._stage, "stash": self._stash,
        }  # fmt: skip

    def history(self, said: Mapping[str, Any], *, own: bool) -> BackupHistory:
        """Return the history of a repository whose HEAD and format *said* names.

        A stranger's replacements of objects would change what a person's git shows, and its remote branches would tell
        that something was pushed. They stay behind unless the backup is this user's *own*.
        """
        if said["object_format"] not in _FORMATS:
            raise ValueError(f"objects of the format {said['object_format']!r}")
        refs = tuple(ref for ref in self._refs if own or not ref.name.startswith(_FOREIGN_REFS))
        return BackupHistory(
            head=_matching(_REF, said["head"]) if said["head"] else "", object_format=said["object_format"], refs=refs,
            stashes=tuple(self._stashes), staged=tuple(self._staged), shallow=tuple(self._shallow),
        )  # fmt: skip

    def _pack(self, row: dict[str, Any]) -> None:
        """Add a part of the history. Its name says where it belongs."""
        above = f"{self.place}/" if self.place else ""
        _text(row["pack"])
        self.packs.append(_file_of(f"{above}.git/history-{len(self.packs) + 1}.pack", row))

    def _ref(self, row: dict[str, Any]) -> None:
        name, kind = _matching(_REF, row["ref"]), _text(row["kind"])
        os.fsencode(name)  # git's names are bytes
        self._refs.append(BackupRef(name=name, id=_matching(_OBJECT_ID, row["id"]), kind=kind))

    def _stash(self, row: dict[str, Any]) -> None:
        self._stashes.append(_matching(_OBJECT_ID, row["stash"]))

    def _stage(self, row: dict[str, Any]) -> None:
        mode, oid = _matching(_MODE, row["mode"]), _matching(_OBJECT_ID, row["id"])
        self._staged.append(StagedVersion(path=_path(row["staged"]), mode=mode, id=oid))

    def _end(self, row: dict[str, Any]) -> None:
        if not self.place:
            raise ValueError("the home is a shallow clone, which no backup carries")
        self._shallow.append(_matching(_OBJECT_ID, row["shallow"]))


class _ManifestRows:
    """Rows of a manifest by their kinds, each of them checked. *own* is a backup of this user."""

    def __init__(self, *, own: bool = True) -> None:
        self.files: dict[str, BackupFile] = {}
        self.links: dict[str, str] = {}
        self.folders: dict[str, None] = {}
        self.repositories: dict[str, BackupRepository] = {}
        self.home = _HistoryRows()
        self._own, self._current = own, self.home
        self._adders: Mapping[str, Callable[[dict[str, Any]], None]] = {
            "file": self._file, "link": self._link, "folder": self._folder, "repository": self._repository,
        }  # fmt: skip

    def add(self, row: dict[str, Any]) -> None:
        """Add a row by its first key. Rows of a history belong to the repository that was named last."""
        if not isinstance(row, dict) or not row:
            raise TypeError(f"{row!r} is no row")
        kind = next(iter(row))
        adder = self._current.adders.get(kind) or self._adders[kind]
        adder(row)

    def end(self) -> None:
        """End the rows of the repository that was named last.

        Raises:
            ValueError: no home can have it there.
        """
        rows, said = self._current, self._current.said
        self._current = self.home
        if rows is self.home:
            return
        repository = BackupRepository(
            place=rows.place, history=rows.history(said["git"], own=self._own), packs=tuple(rows.packs),
            of=_text(said["of"]), name=_text(said["name"]), url=_text(said["url"]), excluded=said["excluded"] is True,
            remotes=_addresses(said["remotes"]),
        )  # fmt: skip
        if problem := _placement_problem(repository, self.repositories):
            raise ValueError(f"the repository {rows.place!r} {problem}")
        self.repositories[rows.place] = repository

    def refuse_overlaps(self) -> None:
        """Refuse names below a file or a link.

        Raises:
            ValueError: there is one.
        """
        taken = {*self.files, *self.links}
        folders: set[str] = {*self.folders, *self.repositories}
        for path in (*taken, *folders):
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
        if problem := memory_path_problem(path):
            raise ValueError(f"{path!r} {problem}")
        if problem := link_problem(path, _text(row["to"])):
            raise ValueError(f"{path!r} {problem}")
        self.links[path] = row["to"]

    def _folder(self, row: dict[str, Any]) -> None:
        path = _path(row["folder"])
        if problem := memory_path_problem(path):
            raise ValueError(f"{path!r} {problem}")
        self.folders[path] = None

    def _repository(self, row: dict[str, Any]) -> None:
        self.end()
        self._current = _HistoryRows(_path(row["repository"]), row)

    def _new(self, said: object) -> str:
        path = _path(said)
        if path in self.files or path in self.links:
            raise ValueError(f"two rows have the name {path!r}")
        return path


def _placement_problem(repository: BackupRepository, others: Mapping[str, BackupRepository]) -> str:
    """Return why *repository* cannot lie in a home with *others*, or an empty text.

    No git folder of a submodule may lie in that of another one, where its files would pass for those of that one.
    """
    place, of, name = repository.place, repository.of, repository.name
    if problem := memory_path_problem(place):
        return problem
    if place in others or len(others) >= MOST_REPOSITORIES:
        return "is there twice" if place in others else f"is one too many: a home has at most {MOST_REPOSITORIES}"
    if not name:
        return "belongs to another one and has no name in it" if of else ""
    if of and (of not in others or not place.startswith(f"{of}/")):
        return "belongs to a repository that is not around it"
    if problem := module_problem(name):
        return f"has a name that {problem}"
    mine = f"{name.casefold()}/"
    taken = (f"{other.name.casefold()}/" for other in others.values() if other.of == of and other.name)
    return "has its git folder in that of another one" if any(map(_overlaps, taken, repeat(mine))) else ""


def _overlaps(one: str, two: str) -> bool:
    return one.startswith(two) or two.startswith(one)


def _addresses(said: Mapping[str, Any]) -> dict[str, str]:
    return {_text(name): _text(address) for name, address in said.items()}


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
