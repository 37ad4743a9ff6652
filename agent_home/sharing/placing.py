"""Write one file of a shared folder: locked, merged with what others wrote, and committed where it belongs.

Others write the same folder with their own homes, so the lock lies in the folder, or in git's folder of its repository.
The repository is as little trusted as a home that was pulled: none of its hooks, filters and settings apply
(``agent_home.git.client``). Nothing is fetched and nothing is pushed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from .. import storage
from ..documents.document_merge import merge_texts
from ..errors import HistoryError, ShareUnwritable
from ..git import commits, history
from ..git.client import home_client
from ..git.leftovers import git_mark
from ..git_folder import STATE
from ..home_location import MANIFEST
from ..lock import hold
from .folders import SharedFolder

__all__ = ["LOCK", "SharedText", "place", "refuse_state"]

#: The lock of a shared folder: in the project's folder, or in git's folder of the repository.
LOCK = ".agent-home.lock"
#: Seconds to wait for another agent, and for a git command in the repository.
WAIT_S = 5.0
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedText:
    """A text for the file *path* of the home, made from *base*, with the *message* and *trailers* of its commit."""

    path: str
    base: str
    text: str
    message: str
    trailers: Mapping[str, str]


def place(shared: SharedFolder, wanted: SharedText) -> str:
    """Write *wanted*, the text of a file in *shared*. Doing it again changes nothing.

    Return the hash of the commit, empty where the folder is in no repository, or where nothing was left to commit.

    Raises:
        ShareUnwritable: the state of the folder does not allow it now.
        Locked: another agent writes there.
        HomeError: git refused, or the file cannot be merged.
        OSError: the folder cannot be written.
    """
    file = shared.folder / wanted.path.removeprefix(f"{shared.place}/")
    if os.path.lexists(shared.folder / MANIFEST):
        raise ShareUnwritable(shared.place, "is the home of an agent, and memory is never shared")
    if shared.kind == "link" and not os.path.isdir(shared.folder):  # noqa: PTH112 - is_dir can raise
        raise ShareUnwritable(shared.place, f"its folder {shared.folder} is not there. Bring it back")
    if shared.repository is None:
        if shared.kind == "submodule":
            raise ShareUnwritable(
                shared.place, f"it is not checked out. Run `git submodule update --init {quote(shared.place)}`"
            )
        with _lock(_project(shared, file) / LOCK, shared.folder):
            _refuse_link(shared, file)
            text = _merged(wanted, _text(file))
            if text != _text(file):
                _replace(file, text)
        return ""
    state = home_client(shared.repository).git_folder() / STATE
    if state.is_symlink():
        raise ShareUnwritable(shared.place, f"{state} is a link, and nothing is written through it. Remove the link")
    with _lock(state / LOCK.lstrip("."), shared.repository):
        _refuse_link(shared, file)
        refuse_state(shared, shared.repository)
        with git_mark(shared.repository, state) as died_at:
            return _place_and_commit(shared, shared.repository, file, wanted, died_at)


def refuse_state(shared: SharedFolder, repository: Path) -> str:
    """Return the branch that is checked out in *repository*, where it takes commits now.

    Raises:
        ShareUnwritable: no branch is checked out.
        HistoryError: a git operation is unfinished, a filter would have to run, or git refused.
    """
    commits.refuse_unfinished(repository)
    commits.refuse_filters(repository)
    branch = history.branch(repository)
    if not branch:
        raise ShareUnwritable(
            shared.place, f"no branch is checked out. Run `git -C {quote(str(repository))} switch BRANCH`"
        )
    return branch


def _place_and_commit(
    shared: SharedFolder, repository: Path, file: Path, wanted: SharedText, died_at: float | None
) -> str:
    path, branch = file.relative_to(repository).as_posix(), refuse_state(shared, repository)
    for _ in range(_ATTEMPTS):
        if hidden := history.hidden(repository, [path]):
            command = f"git -C {quote(str(repository))} update-index --no-{hidden[path]} {quote(path)}"
            raise ShareUnwritable(shared.place, f"git hides {path} there. Run `{command}`")
        if history.converted(repository, [path]):
            return _commit_converted(shared, repository, file, wanted, died_at)
        with commits.staging_area(repository, died_at=died_at, wait_s=WAIT_S) as area:
            found = history.snapshot(repository, [path], staged=True)
            held, present = found.texts[path], _text(file)
            text = _merged(wanted, held)
            # A writer that was killed has placed the same text already. Another edit is a person's or an agent's.
            if present not in (held, text) or found.staged[path] not in (held, text):
                raise ShareUnwritable(shared.place, _uncommitted(repository, path))
            if present != text:
                _replace(file, text)
            if text == held or _is_ignored(repository, path, held):
                return ""
            blobs = commits.store_files(repository, [path] if text else [], died_at=died_at)
            commits.stage_blobs(repository, area, {path: blobs[0] if text else ""}, died_at=died_at)
            commit = commits.commit_texts(
                repository, found.commit, {path: text}, wanted.message, wanted.trailers, branch=branch, died_at=died_at
            )
        if history.snapshot(repository, [path]).texts[path] == text:
            return commit
    raise HistoryError(f"other git commands kept changing {branch} in {repository}. Try again when they are done")


def _commit_converted(
    shared: SharedFolder, repository: Path, file: Path, wanted: SharedText, died_at: float | None
) -> str:
    """Write and commit a file whose line ends or encoding git converts, through git's own commands."""
    path = file.relative_to(repository).as_posix()
    before, present = history.head(repository), _text(file)
    text = _merged(wanted, present)
    if history.dirty(repository, [path]) and text != present:
        raise ShareUnwritable(shared.place, _uncommitted(repository, path))
    if text != present:
        _replace(file, text)
    commit = commits.commit_files(repository, [path], wanted.message, wanted.trailers, died_at=died_at)
    return commit if commit != before else ""


def _uncommitted(repository: Path, path: str) -> str:
    command = f"git -C {quote(str(repository))} commit -m 'Edit by hand' -- {quote(path)}"
    return f"{path} has edits there that are not committed. Commit them, `{command}`, or take them back"


def _is_ignored(repository: Path, path: str, held: str) -> bool:
    """Return whether the repository does not want the new file *path*, which lies there."""
    return not held and not history.dirty(repository, [path])


def _merged(wanted: SharedText, present: str) -> str:
    """Return *present* with the change that *wanted* makes to its base.

    Raises:
        DocumentInvalid: the two cannot be merged by blocks.
    """
    return merge_texts(wanted.base, present, wanted.text, wanted.path).text


def _text(file: Path) -> str:
    return storage.read_text(file)


def _replace(file: Path, text: str) -> None:
    if not text:
        storage.remove(file)
        return
    staged = file.with_name(f".{file.name}.agent-home")
    storage.stage(staged, text.encode(), mode=0o666)
    storage.replace(staged, file)


def _refuse_link(shared: SharedFolder, file: Path) -> None:
    """Refuse a file that others made a link, or put behind one: it could lead anywhere.

    Raises:
        ShareUnwritable: it is.
    """
    if file.is_symlink() or Path(os.path.realpath(file.parent)) != file.parent:
        raise ShareUnwritable(shared.place, f"{file} is a link, or behind one. Put the file itself there")


def _project(shared: SharedFolder, file: Path) -> Path:
    """Return the folder of the project. All agents lock it there, also those that share it alone."""
    if "/" in shared.place:
        return shared.folder
    inside = file.relative_to(shared.folder).parts
    return shared.folder / inside[0] if len(inside) > 1 else shared.folder


@contextmanager
def _lock(path: Path, folder: Path) -> Iterator[None]:
    """Hold the lock file *path*. Whoever may write *folder* may use it."""
    if path.is_symlink():
        raise ShareUnwritable(str(path), "is a link, and the lock is no link. Remove it")
    mode = folder.stat().st_mode & 0o077
    storage.make_folder(path.parent, storage.PRIVATE_FOLDER | mode)
    with hold(path, WAIT_S, mode=storage.PRIVATE_FILE | (mode & 0o066)):
        yield
