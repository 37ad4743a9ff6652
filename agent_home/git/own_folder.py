"""Tell whether git's folder of a home is the home's own, so that no write leads into another place of the user.

A home that came as an archive, or from another user, brings a ``.git`` that somebody else filled. Git writes through
links in it, and a ``.git`` that is a file leads to any folder. Links that stay inside git's folder are git's own.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from ..errors import HistoryError, NoRepository
from ..git_folder import named_elsewhere
from .isolation import GitFolders, git_folders

__all__ = ["links_out", "own_folders", "refuse_links_out"]

#: What git or this program writes in git's folder. The folder of hooks may be a link: nothing is written through it.
_FILES = (
    "HEAD", "ORIG_HEAD", "FETCH_HEAD", "index", "config", "config.worktree", "packed-refs", "shallow", "info",
    "info/exclude", "logs", "refs", "reftable", "objects", "objects/info", "objects/pack", "worktrees",
    "agent-home/worktrees", "COMMIT_EDITMSG",
)  # fmt: skip
_TREES = ("logs", "refs", "reftable")


def own_folders(root: Path) -> GitFolders:
    """Return git's folders of the home *root*.

    Raises:
        HistoryError: they are those of another work tree.
        NoRepository, GitFailed: see :func:`agent_home.git.isolation.git_folders`.
    """
    elsewhere = named_elsewhere(root)
    if elsewhere is not None:
        git = f"git -C {shlex.quote(str(root))}"
        raise HistoryError(
            f"{root / '.git'} leads to {elsewhere}, which does not lead back here, so it is another project's. Nothing "
            f"is read or written there. If it is yours, run `{git} worktree repair` for a linked work tree, or else "
            f"`{git} config core.worktree {shlex.quote(str(root))}`. If not, remove that file and run `memory init`"
        )
    return git_folders(root)


def links_out(root: Path) -> list[str]:
    """Return the links in git's folder of the home *root* through which a write would leave it, ordered.

    Raises:
        HistoryError: *root* is no repository, or git's folder is another's.
    """
    folders = own_folders(root)
    tops = tuple(os.path.realpath(folder) for folder in dict.fromkeys((folders.own, folders.shared)))
    found = (link for folder in dict.fromkeys((folders.own, folders.shared)) for link in _links(str(folder)))
    return sorted({link for link in found if not _is_inside(os.path.realpath(link), tops)})


def refuse_links_out(root: Path) -> None:
    """Stop a write that could leave git's folder through a link.

    Raises:
        HistoryError: there is such a link, or git's folder is another's.
    """
    try:
        found = links_out(root)
    except NoRepository:
        return
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise HistoryError(
            f"{found[0]} is a link out of git's folder{more}. Nothing is written through it. Put a copy of the file or "
            "folder in its place, or remove it"
        )


def _links(folder: str) -> Iterator[str]:
    """Yield the links among what is written in *folder*."""
    for name in _FILES:
        path = f"{folder}/{name}"
        if os.path.islink(path):  # noqa: PTH114 - every write comes here, and paths as text are several times as fast
            yield path
    yield from (entry.path for entry in _entries(f"{folder}/objects") if entry.is_symlink())
    for name in _TREES:
        yield from _links_below(f"{folder}/{name}")


def _links_below(folder: str) -> Iterator[str]:
    for entry in _entries(folder):
        if entry.is_symlink():
            yield entry.path
        elif entry.is_dir(follow_symlinks=False):
            yield from _links_below(entry.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _is_inside(path: str, tops: tuple[str, ...]) -> bool:
    return any(path.startswith(f"{top}{os.sep}") for top in tops)
