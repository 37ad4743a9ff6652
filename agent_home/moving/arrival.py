"""Make a home of a fleet on this host from its remote, and shut out the host that wrote it before.

The remote gets a mark with the new epoch first. From then on a host with an older lease cannot publish, so nothing that
is acknowledged can be missing here. The home is then built beside its place, and appears there in one step. A killed
arrival leaves nothing in that place, and the next one begins anew.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from .. import storage
from ..backup.history import make_repository, refresh
from ..backup.manifest import BackupHistory, BackupRef
from ..backup.safe_paths import link_problem, path_problem
from ..consent.signed_record import moved_record
from ..errors import HistoryError
from ..git import commits
from ..git.client import home_client
from ..git.hook import install_hook
from ..git.isolation import without_credentials
from ..git.merge_driver import install_driver
from ..git_folder import STATE
from ..home import Home
from ..lease.publication import OBJECTS
from ..lease.published import Published, lease_folder, outbox_of, write_published
from ..lease.record import Lease, write_lease
from ..lease.remote import RefMove, borrow, fetch_state, make_outbox, push, remote_refs
from ..lease.state_commit import (
    EPOCHS,
    REFS,
    REMOVED,
    STATE_REF,
    EpochRow,
    StateRefs,
    StateSaid,
    epoch_line,
    epoch_rows,
    read_message,
    tree_digest,
)
from ..lease.state_tree import KnownFile, StateTree, read_tree, whole_files, write_state
from ..lease.travelling import RECORDS, travels
from ..screening.private_folders import cover_private_folders

__all__ = ["FetchedState", "Overtaken", "build_home", "fetch_home", "shut_out"]

_HOME, _MACHINE = "home/", "machine/"
_LINK, _REPOSITORY, _PROGRAM = "120000", "160000", "100755"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SHA1_DIGITS = 40
#: Times that the mark is tried again because the host before published meanwhile.
_TRIES = 5


class Overtaken(HistoryError):
    """The remote has an epoch that is not smaller than that of the lease. *epoch* is that of the remote."""

    def __init__(self, home: str, epoch: int) -> None:
        super().__init__(
            f"the remote of the home {home} has the epoch {epoch}. The registry was set back, or another host has it"
        )
        self.epoch = epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedState:
    """The state of a home that was fetched into the repository *folder*."""

    folder: Path
    commit: str
    tree: str
    said: StateSaid
    refs: StateRefs
    epochs: bytes
    removed: tuple[str, ...]
    files: dict[str, KnownFile]

    @property
    def took(self) -> dict[int, str]:
        """The states that holders found on the remote, by their epochs."""
        return {row.epoch: row.took for row in epoch_rows(self.epochs)}

    def taken_after(self, epoch: int) -> str:
        """Return the state that the first holder after *epoch* found on the remote, or an empty string."""
        return next((commit for number, commit in sorted(self.took.items()) if number > epoch), "")


def fetch_home(folder: Path, address: str) -> FetchedState | None:
    """Fetch the state at *address* into the new folder *folder*, or return ``None`` where the remote has none.

    Raises:
        HistoryError: the remote cannot be reached, or what it has is not the state of a home of this fleet.
    """
    shutil.rmtree(folder, ignore_errors=True)
    make_outbox(folder, "sha1")
    named = remote_refs(folder, address, [STATE_REF]).get(STATE_REF, "")
    if not named:
        return None
    if len(named) > _SHA1_DIGITS:
        shutil.rmtree(folder)
        make_outbox(folder, "sha256")
    return _read(folder, fetch_state(folder, address))


def shut_out(state: FetchedState, lease: Lease, *, now: datetime) -> FetchedState:
    """Mark the remote with the epoch of *lease*, and return the state as it is there now.

    Doing it again under the same lease changes nothing.

    Raises:
        Overtaken: the remote has this epoch or a larger one, of another holder.
        HistoryError: the remote refused, or cannot be reached.
    """
    for _ in range(_TRIES):
        said = state.said
        if said.home != lease.home:
            address = without_credentials(lease.remote)
            raise HistoryError(f"the remote {address} has the home {said.home}, and not {lease.home}")
        if said.epoch == lease.epoch and said.incarnation == lease.incarnation:
            return state
        if said.epoch >= lease.epoch:
            raise Overtaken(lease.home, said.epoch)
        row = EpochRow(
            epoch=lease.epoch,
            host=lease.host,
            incarnation=lease.incarnation,
            at=now.isoformat(timespec="seconds"),
            took=state.commit,
        )
        marked = _marked(state, lease, row)
        try:
            push(state.folder, lease.remote, [RefMove(ref=STATE_REF, old=state.commit, new=marked.commit)])
        except HistoryError:
            present = remote_refs(state.folder, lease.remote, [STATE_REF]).get(STATE_REF, "")
            if present == marked.commit:
                return marked
            if present == state.commit:
                raise
            state = _read(state.folder, fetch_state(state.folder, lease.remote))
        else:
            return marked
    raise HistoryError(f"the home {lease.home} is being written all the time by the host before. Try again")


def build_home(place: Path, root: Path, state: FetchedState, lease: Lease) -> None:
    """Build the home in the new folder *place*, as it shall be in *root*.

    The folder that *state* was fetched into becomes a part of it.

    Raises:
        HistoryError: git refuses the history, or it lacks objects.
        MachineKeyUnusable: nothing can be signed on this machine.
        OSError: the home cannot be written.
    """
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(storage.PRIVATE_FOLDER, parents=True)
    building = _Arrival(place, root, state)
    building.make_history()
    building.check_out()
    building.write_state()
    building.finish(lease)


def _read(folder: Path, commit: str) -> FetchedState:
    """Return the state *commit* of the repository *folder*, after its signature and its digest were checked.

    Raises:
        HistoryError: it is no state of this fleet.
    """
    git = home_client(folder)
    header, _, message = git.text("cat-file", "commit", commit).partition("\n\n")
    said, entries = read_message(message), read_tree(folder, commit)
    if tree_digest(entries) != said.tree:
        raise HistoryError(f"the tree of {STATE_REF} is not the one that its host signed")
    names = {path: name for path, _, name in entries}
    data = {path: _blob(folder, names[path]) for path in (REFS, EPOCHS, REMOVED) if path in names}
    try:
        refs = StateRefs.of(data[REFS])
        removed = tuple(str(path) for path in json.loads(data.get(REMOVED, b"[]")))
    except (ValueError, KeyError, TypeError) as error:
        raise HistoryError(f"{STATE_REF} lacks the refs of the home") from error
    return FetchedState(
        folder=folder, commit=commit, tree=header.split("\n", 1)[0].removeprefix("tree "), said=said, refs=refs,
        epochs=data.get(EPOCHS, b""), removed=removed, files=whole_files(entries),
    )  # fmt: skip


def _blob(folder: Path, name: str) -> bytes:
    (data,) = _blobs(folder, [name])
    return data


def _blobs(folder: Path, names: Sequence[str]) -> Iterator[bytes]:
    """Yield the contents of the objects *names*, from one process of git.

    Raises:
        HistoryError: the remote lacks one of them.
    """
    for name, found in zip(names, home_client(folder).objects(names), strict=True):
        if found is None:
            raise HistoryError(f"the remote lacks the object {name}")
        yield found.data


def _marked(state: FetchedState, lease: Lease, row: EpochRow) -> FetchedState:
    epochs = state.epochs + epoch_line(row)
    tree = StateTree(
        refs=state.refs, epochs=epochs, base=state.tree, files=dict(state.files), form=state.refs.form,
        removed=json.dumps(state.removed).encode() if state.removed else b"",
    )  # fmt: skip
    commit, made = write_state(
        state.folder, tree, home=lease.home, host=lease.host, incarnation=lease.incarnation, epoch=lease.epoch,
        machine=state.said.machine,
    )  # fmt: skip
    said = replace(state.said, host=lease.host, incarnation=lease.incarnation, epoch=lease.epoch)
    return replace(state, commit=commit, tree=made, epochs=epochs, said=said)


class _Arrival:
    """A home that is being built in *place* and will be *root*."""

    def __init__(self, place: Path, root: Path, state: FetchedState) -> None:
        self._place, self._root, self._state = place, root, state
        self._machine, self._final_machine = place / ".git" / STATE, root / ".git" / STATE
        self._written: dict[str, Path] = {}

    def make_history(self) -> None:
        """Make the repository."""
        refs = self._state.refs
        tips = sorted(set(refs.refs.values()))
        pack = self._place / "history.pack"
        options = ("--stdout", "--revs", "--delta-base-offset", "-q")
        asked = "".join(f"{tip}\n" for tip in tips).encode()
        with os.fdopen(os.open(pack, _NEW, storage.PRIVATE_FILE), "wb") as file:
            for chunk in home_client(self._state.folder).chunks("pack-objects", *options, stdin=asked):
                file.write(chunk)
        history = BackupHistory(
            head=refs.head, object_format=refs.form,
            refs=tuple(BackupRef(name=name, id=tip, kind="commit") for name, tip in sorted(refs.refs.items())),
        )  # fmt: skip
        make_repository(self._place, history, [pack] if tips else [], strict=False)
        pack.unlink()

    def check_out(self) -> None:
        """Write the files of the newest commit, as they are in it."""
        memory = self._state.refs.memory
        if not memory:
            return
        git = home_client(self._place)
        rows = read_tree(self._place, memory)
        plain = [row for row in rows if row[1] != _REPOSITORY and row[0] not in self._state.removed]
        for (path, mode, _), found in zip(plain, git.objects(name for _, _, name in plain), strict=True):
            if found is None:
                raise HistoryError(f"the remote lacks {path} of the commit {memory}")
            if mode == _LINK:
                self._link(path, os.fsdecode(found.data))
            elif not path_problem(path):
                self._write(self._place / path, found.data, mode)

    def write_state(self) -> None:
        """Write transcripts, outputs, machine state and edits by hand. Records are signed for the new place."""
        wanted = [(path, file, self._target(path)) for path, file in self._state.files.items()]
        taken = [(path, file, target) for path, file, target in wanted if target is not None]
        names = [name for _, file, _ in taken for name in file.parts]
        found = _blobs(self._state.folder, names)
        for path, file, target in taken:
            data = b"".join(next(found) for _ in file.parts)
            name = path.removeprefix(_MACHINE)
            if path != name and name in RECORDS:
                start = self._state.said.machine
                signed = moved_record(data, name.removesuffix(".json"), start=start, machine=self._final_machine)
                if signed is not None:
                    self._write(target, signed, file.mode)
                continue
            self._write(target, data, file.mode)
            self._written[path] = target

    def finish(self, lease: Lease) -> None:
        """Install what belongs to this clone, keep the fetched repository to publish from, and put the lease."""
        home = Home(self._place)
        install_hook(home)
        install_driver(home)
        cover_private_folders(self._place)
        commits.configure(self._place, "remote.origin.url", lease.remote)
        refresh(self._place)
        storage.make_folder(lease_folder(home))
        self._state.folder.rename(outbox_of(home))
        borrow(outbox_of(home), OBJECTS)
        write_published(home, self._published(lease))
        write_lease(home, lease)
        path = self._machine / "lease.json"
        signed = moved_record(
            storage.read_state(path), "lease", start=str(self._machine.resolve()), machine=self._final_machine
        )
        storage.stage(path, signed or b"")

    def _published(self, lease: Lease) -> Published:
        state = self._state
        branch = ""
        with suppress(HistoryError):
            branch = remote_refs(outbox_of(Home(self._place)), lease.remote, [state.refs.head]).get(state.refs.head, "")
        return Published(
            commit=state.commit, tree=state.tree, epoch=lease.epoch, refs=state.refs.data().decode(),
            epochs=state.epochs.decode(), branch=branch, foreign=branch not in {"", state.refs.memory},
            files=dict(self._known()),
        )  # fmt: skip

    def _known(self) -> Iterator[tuple[str, KnownFile]]:
        """Yield the files as the next publication finds them: with the times that they have now."""
        for path, file in self._state.files.items():
            place = self._written.get(path)
            state: tuple[int, ...] = ()
            if place is not None:
                status = place.stat()
                state = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)
            yield path, replace(file, state=state)

    def _target(self, path: str) -> Path | None:
        """Return the place of a file of the state, or ``None`` for one that no home takes."""
        inner = path.removeprefix(_HOME)
        if inner != path:
            return None if path_problem(inner) else self._place / inner
        name = path.removeprefix(_MACHINE)
        return self._machine / name if name != path and not path_problem(name) and travels(name) else None

    def _link(self, path: str, target: str) -> None:
        if not path_problem(path) and not link_problem(path, target):
            self._make_folder((self._place / path).parent)
            (self._place / path).symlink_to(target)

    def _write(self, target: Path, data: bytes, mode: str) -> None:
        self._make_folder(target.parent)
        target.unlink(missing_ok=True)
        with os.fdopen(os.open(target, _NEW, 0o700 if mode == _PROGRAM else storage.PRIVATE_FILE), "wb") as file:
            file.write(data)

    def _make_folder(self, folder: Path) -> None:
        if folder.is_dir() and not folder.is_symlink():
            return
        inside = folder.relative_to(self._place).parts
        place = self._place
        for part in inside:
            place /= part
            if place.is_symlink():
                raise HistoryError(f"{place} is a link, and the state of the home has files below it")
            if not place.is_dir():
                place.mkdir(storage.PRIVATE_FOLDER)
