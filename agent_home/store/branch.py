"""The branch that memory is kept on: the one that is checked out at the first write.

A person may look at another branch, an old commit or a bisection in the same folder. A write there would vanish from
memory when the person comes back.
"""

from __future__ import annotations

import os

from guard.lazy_regex import lazy_regex

from .. import storage
from ..errors import HistoryError
from ..git import commits, history
from ..git.own_folder import own_folders
from ..home import Home

__all__ = ["elsewhere", "own_branch", "refuse_elsewhere", "shown_instead", "tip", "tip_in_file", "written_tip"]

_FILE = "branch"
_HASH = lazy_regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def own_branch(home: Home) -> str:
    """Return the name of the home's branch, or an empty string before the first write.

    Git names are bytes: those that are no UTF-8 become surrogates, as in :func:`agent_home.git.history.branch`.
    """
    try:
        return os.fsdecode(storage.read_state(home.machine / _FILE)).strip()
    except FileNotFoundError:
        return ""


def shown_instead(home: Home) -> str:
    """Say that the files on the disk are not those of the home's branch, and what to do, or return an empty string."""
    own = own_branch(home)
    if not own or history.branch(home.root) == own:
        return ""
    return f"this prompt shows another commit than the newest one of memory: {elsewhere(home)}"


def tip(home: Home) -> str:
    """Return the hash of the newest commit of the home's branch, or an empty string before the first one.

    Raises:
        HistoryError: git is absent or refused.
    """
    own = own_branch(home)
    found = history.found(home.root, f"refs/heads/{own}") if own else ""
    return found or history.head(home.root)


def written_tip(home: Home) -> str:
    """Return what :func:`tip` returns, mostly without running git: the hash in the file of the branch, unchecked."""
    return tip_in_file(home) or tip(home)


def tip_in_file(home: Home) -> str:
    """Return the hash in the file of the home's branch, unchecked, or an empty string where there is none.

    Raises:
        HistoryError: the home is no repository.
    """
    own = own_branch(home)
    try:
        file = own_folders(home.root).shared / "refs" / "heads" / own
        text = storage.read_bytes(file).decode("ascii").strip() if own else ""
    except (OSError, ValueError):
        return ""
    return text if _HASH.fullmatch(text) else ""


def refuse_elsewhere(home: Home) -> str:
    """Return the home's branch, and stop a write while another one, or none, is checked out.

    The first write decides which branch it is.

    Raises:
        HistoryError: HEAD is elsewhere, a git operation is unfinished, or a filter would have to run.
    """
    commits.refuse_unfinished(home.root)
    commits.refuse_filters(home.root)
    present, own = history.branch(home.root), own_branch(home)
    if present and present != own and not (own and history.found(home.root, f"refs/heads/{own}")):
        path = home.machine / _FILE
        storage.stage(path.with_name("branch.tmp"), os.fsencode(f"{present}\n"))
        storage.replace(path.with_name("branch.tmp"), path)
        return present
    problem = elsewhere(home)
    if problem:
        raise HistoryError(problem)
    return own


def elsewhere(home: Home) -> str:
    """Return what is wrong with the place of HEAD and what to do, or an empty string.

    It is the advice that a refused write gives: git refuses to switch branches while an operation is unfinished.
    """
    try:
        commits.refuse_unfinished(home.root)
    except HistoryError as error:
        return str(error)
    present, own = history.branch(home.root), own_branch(home)
    if present and (present == own or not own):
        return ""
    present, own = (os.fsencode(name).decode("utf-8", "backslashreplace") for name in (present, own))
    where = f"on the branch {present}" if present else "at a commit that is on no branch"
    keep = f", or write {present} into {home.machine / _FILE} to keep memory on that branch" if present else ""
    kept = f"memory is kept on {own or 'a branch'}"
    return f"{home.root} is {where}, and {kept}. Run `git switch {own or 'main'}` there{keep}"
