"""Check the machine state: out of a pull's reach, signed by this machine, and its owner's alone."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from agent_home.backup.known_backups import known_backups
from agent_home.errors import HistoryError, MachineKeyUnusable
from agent_home.git.isolation import git_folders
from agent_home.git.process.special_files import all_special_files, special_files_below
from agent_home.git_folder import WORKTREE_STATE
from agent_home.home import Home
from agent_home.machine_key import key_path, machine_key
from agent_home.screening.private_folders import IGNORE, uncovered
from agent_home.sharing.folders import shared_folders
from agent_home.sharing.health import sharing_problems
from agent_home.store import machine_state, unverified

from ..counts import counted

__all__ = [
    "backup_check", "permissions_check", "private_check", "sharing_check", "special_files_check", "state_check",
]  # fmt: skip

_Result = tuple[Literal["ok", "info", "warning", "failed"], str]
#: Most files that are named.
_MAX_NAMED = 3


def state_check(home: Home) -> Iterator[_Result]:
    """Yield what is wrong with the machine state, or where it is.

    Raises:
        HistoryError: git is absent or refused.
    """
    found = [*_tracked(home), *_unsigned(home), *_key()]
    if machine_state.is_waiting(home):
        found.append(("info", f"an earlier version left it in {WORKTREE_STATE}. The next write moves it"))
    yield from found or [("ok", f"in {home.machine}, where no pull reaches it")]


def backup_check(home: Home) -> _Result:
    """Return where the newest backup of the home is, as far as this machine knows."""
    folder, made = next(iter(known_backups(home).items()), ("", ""))
    if not folder:
        return "ok", "none that this machine knows. `memory backup DIR` copies the home with what git does not carry"
    return "ok", f"the newest one was made on {made[:10]} in {folder}"


def private_check(home: Home) -> _Result:
    """Return whether git would take a folder that holds what people said, and what to do about it.

    Raises:
        HistoryError: git is absent or refused.
    """
    found = uncovered(home.root)
    if not found:
        return "ok", "git takes no transcripts, outputs or index by itself"
    named = ", ".join(f"{name}/" for name in found)
    detail = f"`git add` would take {named}, because {IGNORE} leaves that out or has an exception for it"
    return "warning", f"{detail}. Correct {IGNORE}, or commit the folder if it belongs into git"


def sharing_check(home: Home) -> Iterator[_Result]:
    """Yield what keeps shared project folders from being used, or how many there are."""
    found = [f"{problem.file}: {problem.message}" for problem in sharing_problems(home)]
    yield from (("warning", said) for said in found)
    if not found:
        yield "ok", f"{counted(len(shared_folders(home)), 'shared project folder')}"


def special_files_check(home: Home) -> _Result:
    """Return whether pipes or devices lie in the home or in git's folder, and what to do about them."""
    folders: list[Path] = []
    with suppress(HistoryError):
        folders = [home.root / ".git"] if not (home.root / ".git").is_file() else []
        found_folders = git_folders(home.root, look=False)
        folders += [found_folders.own, found_folders.shared]
    in_the_way = all_special_files(home.root, *folders)
    found = list(dict.fromkeys([*in_the_way, *special_files_below(home.root)]))
    if not found:
        return "ok", "no pipe and no device lies in the place of a file"
    files = " ".join(shlex.quote(name) for name in found[:_MAX_NAMED])
    more = f", and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
    detail = f"pipes or devices lie where files belong{more}. Remove them: rm {files}. Restore files of memory from git"
    return "failed" if in_the_way else "warning", detail


def permissions_check(home: Home) -> _Result:
    """Return whether other users may read the home or the machine state, and what to do about it."""
    loose = list(machine_state.loose_modes(home))
    if not loose:
        return "ok", "the home and its machine state are closed to other users"
    first = loose[0]
    places = counted(len(loose), "file or folder is", "files and folders are")
    detail = f"{places} open to other users, the first {first.path} (mode {first.mode:o})"
    return "info", f"{detail}. `memory doctor --fix` closes them"


def _tracked(home: Home) -> Iterator[_Result]:
    names = machine_state.tracked(home)
    if names:
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        named = f"{', '.join(names[:_MAX_NAMED])}{more}"
        detail = f"git tracks {named}. What comes with a pull is never read as machine state"
        yield "failed", f"{detail}. Take it out with `{machine_state.UNTRACK}`"


def _unsigned(home: Home) -> Iterator[_Result]:
    for folder in unverified.waiting(home):
        detail = (
            f"{folder} holds an interrupted write that this machine did not sign, because the home was copied here, an"
            " earlier version wrote it, or the machine key was lost. It was not carried out. `memory review` shows its"
            " texts. Decide there, then remove the folder"
        )
        yield "warning", detail


def _key() -> Iterator[_Result]:
    try:
        if key_path().parent.exists():
            machine_key()
    except MachineKeyUnusable as error:
        yield "warning", f"{error}. Until then an interrupted write waits for a person"
