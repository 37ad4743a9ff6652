"""Make the repositories inside a home anew, from packs alone.

Git's folder of each is made by ``git init``, so nothing that the backup says becomes a hook, a setting or a filter in
it. The one exception is ``core.worktree``, which leads from the git folder of a submodule back to its files.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from guard.lazy_regex import lazy_regex

from .. import storage
from ..errors import GitFailed, GitMissing, HistoryError
from ..git.client import home_client
from ..git_folder import named_elsewhere
from .content_store import ContentStore
from .errors import DamagedFile
from .history import make_repository, refresh
from .inner_repositories import enclosing
from .manifest import BackupRepository

__all__ = ["RestoredRepositories", "is_refusal"]

#: Commands of git that fail where the history is at fault, and what another one says of a branch.
_JUDGING = frozenset({"fsck", "index-pack", "log", "read-tree", "update-index", "update-ref"})
_BAD_NAME = lazy_regex("invalid initial branch name")
#: What git says where it is not the history that is at fault.
_NOT_WRITTEN = lazy_regex(
    r"No space left|Disk quota|Read-only file system|Permission denied|Input/output error|write (?:failure|error)"
    r"|(?:unable|failed|could not|cannot) (?:to )?(?:write|create|store)|Unable to create|sha1 file"
)
#: Characters that mean something in a line of an ignore file.
_PATTERN = lazy_regex(r"([\\*?\[\]!# ])")


def is_refusal(error: GitFailed) -> bool:
    """Return whether git refuses the history, and did not merely fail to write it.

    On a full disk it may have no place to say anything.
    """
    is_judged = error.command in _JUDGING or _BAD_NAME.search(error.reason) is not None
    return is_judged and bool(error.reason) and _NOT_WRITTEN.search(error.reason) is None


class RestoredRepositories:
    """The *repositories* of a home that is being built in *home*.

    The packs are in *store*. The histories are checked strictly unless the backup is this user's *own*.
    """

    def __init__(
        self, home: Path, repositories: Mapping[str, BackupRepository], store: ContentStore, *, own: bool
    ) -> None:
        self._home, self._repositories, self._store, self._own = home, repositories, store, own
        self._folders: dict[str, Path] = {"": home / ".git"} if (home / ".git").is_dir() else {}

    def make(self, left_out: Collection[str]) -> list[DamagedFile]:
        """Make all of them but those with a part among the paths *left_out*, and return those that git refuses.

        Raises:
            GitMissing: git is not installed.
            GitFailed, OSError: git cannot write.
        """
        refused = []
        for place, repository in self._repositories.items():
            if not any(pack.path in left_out for pack in repository.packs) and (problem := self._make(repository)):
                refused.append(DamagedFile(path=f"{place}/.git", problem=problem))
        return refused

    def refresh(self) -> None:
        """Let git note which files are as they were committed, once all files are in their places.

        Raises:
            HistoryError: git refused.
        """
        for place in sorted(filter(None, self._folders), reverse=True):
            refresh(self._home / place)

    def _make(self, repository: BackupRepository) -> str:
        """Make one, and return why git refuses it, or an empty text."""
        root = self._home / repository.place
        if os.path.lexists(root / ".git"):  # on a disk that takes two names for one
            return "has the name of another repository"
        try:
            packs = [self._store.path(pack.digest) for pack in repository.packs]
            make_repository(root, repository.history, packs, strict=not self._own)
            self._folders[repository.place] = self._put(repository, root)
        except HistoryError as error:
            if isinstance(error, GitMissing) or (isinstance(error, GitFailed) and not is_refusal(error)):
                raise
            _discard(root)
            return f"is refused by git: {error}"
        self._exclude(repository)
        return ""

    def _put(self, repository: BackupRepository, root: Path) -> Path:
        """Put git's folder of *root* into its place, and return that."""
        made, around = root / ".git", self._folders.get(repository.of)
        if not repository.name or around is None:
            return made
        folder = around / "modules" / repository.name
        leads_back = os.path.relpath(root, folder)
        home_client(root).change("config", "--local", "--replace-all", "core.worktree", leads_back)
        folder.parent.mkdir(storage.PRIVATE_FOLDER, parents=True, exist_ok=True)
        made.rename(folder)
        storage.sync_folder(folder.parent)
        storage.stage(made, f"gitdir: {os.path.relpath(folder, root)}\n".encode("utf-8", "surrogateescape"), mode=0o666)
        if named_elsewhere(root) is not None:
            shutil.rmtree(folder)
            raise HistoryError(f"the name {repository.place!r} is none that its settings can hold")
        return folder

    def _exclude(self, repository: BackupRepository) -> None:
        """Let the repository around a clone ignore it, as it did before."""
        around = enclosing(repository.place, self._folders)
        if not repository.excluded or around not in self._folders or "\n" in repository.place:
            return
        path = self._folders[around] / "info" / "exclude"
        inside = _PATTERN.sub(r"\\\1", repository.place.removeprefix(f"{around}/"))
        known = storage.read_bytes(path) if path.is_file() else b""
        start = known if not known or known.endswith(b"\n") else known + b"\n"
        storage.stage(path.with_name(".exclude.tmp"), start + os.fsencode(f"/{inside}/\n"), mode=0o666)
        storage.replace(path.with_name(".exclude.tmp"), path)


def _discard(root: Path) -> None:
    """Remove what was made of a repository that is refused. Its files stay."""
    made = root / ".git"
    if made.is_dir():
        shutil.rmtree(made)
    else:
        made.unlink(missing_ok=True)
