"""Make the tree of a state: find what changed since the last one, and write it with one git command.

A large file is stored in parts of a fixed size, so that a line at the end of a transcript or log sends one part. Files
that did not change are known by their times, as git knows them.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .. import storage
from ..errors import GitFailed
from ..git.client import home_client
from .state_commit import EPOCHS, REFS, REMOVED, STATE_REF, StateRefs, StateSaid, tree_digest
from .travelling import TravellingFile

__all__ = ["KnownFile", "StateTree", "part_path", "read_tree", "whole_files", "write_state"]

#: Bytes of one part. A file of more bytes has several.
PART_BYTES = 256 << 10
_LARGE = "large/"
#: The event log, which goes with the next publication of something else.
_LOG = "machine/events"
#: Nanoseconds in which a file may change again without another time.
_UNSURE_NS = 100_000_000
_PLAIN, _PROGRAM = "100644", "100755"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFile:
    """A file as it is in the tree: its *mode* and its *parts* by object, and the *state* of the file on the disk.

    Without a *state*, the file is read again.
    """

    mode: str
    parts: tuple[str, ...]
    state: tuple[int, ...] = ()

    def entries(self, path: str) -> Iterator[tuple[str, str, str]]:
        """Yield ``(path, mode, object)`` of each part."""
        for number, name in enumerate(self.parts):
            yield part_path(path, number, len(self.parts)), self.mode, name


@dataclass(slots=True)
class StateTree:
    """The tree of a state: its files by path, and the data of those that are new since *base*, a tree of git."""

    refs: StateRefs
    epochs: bytes
    removed: bytes = b""
    files: dict[str, KnownFile] = field(default_factory=dict)
    base: str = ""
    _new: dict[str, bytes] = field(default_factory=dict)
    _gone: set[str] = field(default_factory=set)
    form: str = "sha1"

    def read(self, found: Iterable[TravellingFile], known: Mapping[str, KnownFile]) -> None:
        """Take in the files that are *found*. *known* are those of the base, by path."""
        self.form = self.refs.form
        for file in found:
            with suppress(FileNotFoundError):  # it went meanwhile
                self._add(file, known.get(file.path))
        for path in known.keys() - self.files.keys():
            self._gone |= {part for part, _, _ in known[path].entries(path)}

    @property
    def is_changed(self) -> bool:
        """True when a file differs from the base. The event log explains what happened and is no memory."""
        changed = self._new.keys() | self._gone
        return not self.base or any(not path.removeprefix(_LARGE).startswith(_LOG) for path in changed)

    @property
    def new_bytes(self) -> int:
        """Size of the files that are new since the base."""
        return sum(map(len, self._new.values()))

    def entries(self) -> Iterator[tuple[str, str, str]]:
        """Yield ``(path, mode, object)`` of everything in the tree."""
        for path, file in self.files.items():
            yield from file.entries(path)
        for path, data in self._own():
            yield path, _PLAIN, _name(data, self.form)

    def stream(self) -> Iterator[bytes]:
        """Yield the lines of ``git fast-import`` that make the tree."""
        if self.base:
            yield b'M 040000 %s ""\n' % self.base.encode()
            yield b"D %s\n" % _quoted(REMOVED)
        for path in sorted(self._gone - self._new.keys()):
            yield b"D %s\n" % _quoted(path)
        for path, data in (*self._new.items(), *self._own()):
            mode = self._mode(path)
            yield b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), _quoted(path), len(data), data)

    def _own(self) -> Iterator[tuple[str, bytes]]:
        yield REFS, self.refs.data()
        yield EPOCHS, self.epochs
        if self.removed:
            yield REMOVED, self.removed

    def _mode(self, path: str) -> str:
        whole = path.removeprefix(_LARGE).rpartition("/")[0] if path.startswith(_LARGE) else path
        return self.files[whole].mode if whole in self.files else _PLAIN

    def _add(self, file: TravellingFile, known: KnownFile | None) -> None:
        with storage.open_plain(file.place) as opened:
            status = os.fstat(opened.fileno())
            state = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)
            if known is not None and known.state == state:
                self.files[file.path] = known
                return
            data = opened.read()
        mode = _PROGRAM if status.st_mode & 0o100 else _PLAIN
        pieces = [data[at : at + PART_BYTES] for at in range(0, len(data), PART_BYTES)] or [b""]
        parts = tuple(_name(piece, self.form) for piece in pieces)
        settled = len(data) == status.st_size and status.st_ctime_ns < time.time_ns() - _UNSURE_NS
        now = KnownFile(mode=mode, parts=parts, state=state if settled else ())
        self.files[file.path] = now
        before = {} if known is None else {part: (kind, name) for part, kind, name in known.entries(file.path)}
        for number, (part, kind, name) in enumerate(now.entries(file.path)):
            if before.pop(part, None) != (kind, name):
                self._new[part] = pieces[number]
        self._gone |= before.keys()


def part_path(path: str, number: int, count: int) -> str:
    """Return the path in the tree of a part of the file *path*, which has *count* parts."""
    return path if count == 1 else f"{_LARGE}{path}/{number:06}"


def write_state(
    outbox: Path, tree: StateTree, *, home: str, host: str, incarnation: str, epoch: int, machine: str
) -> tuple[str, str]:
    """Write the state into the repository *outbox*, and return its commit and its tree.

    Raises:
        GitFailed: git refused.
        MachineKeyUnusable: nothing can be signed on this machine.
    """
    said = StateSaid(
        home=home, host=host, incarnation=incarnation, epoch=epoch, machine=machine, tree=tree_digest(tree.entries())
    )
    message = said.message().encode()
    parents = sorted({name for name in tree.refs.refs.values() if name})
    stream = bytearray(b"feature done\ncommit %s\nmark :1\n" % STATE_REF.encode())
    stream += b"committer agent-home <agent-home@localhost> %d +0000\n" % int(time.time())
    stream += b"data %d\n%s\n" % (len(message), message)
    stream += b"".join(b"merge %s\n" % name.encode() for name in parents)
    stream += b"".join(tree.stream())
    stream += b'ls ""\nget-mark :1\ndone\n'
    output = home_client(outbox).change("fast-import", "--quiet", "--force", "--done", stdin=bytes(stream)).decode()
    lines = output.split("\n")
    if len(lines) < 2 or not lines[0].startswith("040000 tree "):
        raise GitFailed("fast-import", 0, "it did not say what it made")
    return lines[1].strip(), lines[0].split(" ", 2)[2].split("\t")[0]


def read_tree(outbox: Path, commit: str) -> list[tuple[str, str, str]]:
    """Return ``(path, mode, object)`` of everything in the tree of *commit*.

    Raises:
        HistoryError: git refused.
    """
    rows = home_client(outbox).text("ls-tree", "-r", "-z", commit).split("\0")
    split = (row.partition("\t") for row in rows if row)
    return [(path, *_mode_and_name(meta)) for meta, _, path in split]


def whole_files(entries: Sequence[tuple[str, str, str]]) -> dict[str, KnownFile]:
    """Return the files of a tree by path, with the parts of large ones together."""
    parts: dict[str, list[tuple[str, str, str]]] = {}
    for path, mode, name in sorted(entries):
        whole = path.removeprefix(_LARGE).rpartition("/")[0] if path.startswith(_LARGE) else path
        parts.setdefault(whole, []).append((path, mode, name))
    return {
        path: KnownFile(mode=found[0][1], parts=tuple(name for _, _, name in found))
        for path, found in parts.items()
        if path not in {REFS, EPOCHS, REMOVED}
    }


def _mode_and_name(meta: str) -> tuple[str, str]:
    mode, _, name = meta.split(" ")
    return mode, name


def _name(data: bytes, form: str) -> str:
    """Return the name that git gives to a file with *data*."""
    digest = hashlib.new(form, usedforsecurity=False)
    digest.update(b"blob %d\0" % len(data))
    digest.update(data)
    return digest.hexdigest()


def _quoted(path: str) -> bytes:
    """Return *path* as ``git fast-import`` reads it."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return b'"%s"' % escaped.encode("utf-8", "surrogateescape")
