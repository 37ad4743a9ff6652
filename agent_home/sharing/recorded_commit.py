"""Record in the home which commit of a submodule belongs to it, after a write of the home moved the submodule."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from ..errors import ShareUnwritable
from ..git import commits, history
from ..git.client import home_client
from ..git.leftovers import deaths
from ..home import Home

__all__ = ["behind", "record_commit", "recorded", "take_commit"]


def record_commit(home: Home, place: str, repository: Path) -> None:
    """Commit in *home* that the submodule at *place* is at the newest commit of *repository*.

    A submodule that the home has not committed yet, or that is where the home says, needs nothing. Call with the home's
    lock held, inside of the mark that git commands run.

    Raises:
        ShareUnwritable: the home names a commit that the submodule does not go on from, or a person staged one.
        HistoryError: git refused.
    """
    held, new = recorded(home, place), history.head(repository)
    staged = _commit_of(home_client(home.root).text("ls-files", "--stage", "-z", "--", place), 1)
    if not held or (held == new and staged == new):
        return
    if staged not in (held, new):
        raise ShareUnwritable(place, f"another commit of it is staged. Commit that in {home.root}, or take it back")
    if held != new and not history.descends(repository, new, held):
        raise ShareUnwritable(place, behind(home, place, held))
    _commit(home, place, new, f"Record {place} at {new[:12]}", is_new=held != new)


def take_commit(home: Home, place: str, commit: str) -> None:
    """Commit in *home* that the submodule at *place* belongs at *commit*, which a pull named. Nothing is fetched.

    Call as :func:`record_commit`.

    Raises:
        HistoryError: git refused.
    """
    _commit(home, place, commit, f"Take {place} at {commit[:12]}", is_new=True)


def behind(home: Home, place: str, held: str) -> str:
    """Return what to do where the submodule at *place* does not go on from the commit *held* that the home names."""
    git, name = f"git -C {quote(str(home.root))}", quote(place)
    return (
        f"the home names its commit {held[:12]}, from which it does not go on. Run `{git} submodule update --merge "
        f"{name}`, or `{git} commit -m 'Keep' -- {name}` to keep what is checked out"
    )


def recorded(home: Home, place: str) -> str:
    """Return the commit that HEAD of *home* names for the submodule at *place*, or an empty string."""
    return _commit_of(home_client(home.root).text("ls-tree", "-z", "HEAD", "--", place, empty_on=(128,)), 2)


def _commit(home: Home, place: str, commit: str, message: str, *, is_new: bool) -> None:
    """Stage *commit* of the submodule at *place*, and commit it if it *is_new*."""
    root, died = home.root, deaths(home.machine)
    died_at = died[0] if died else None
    with commits.staging_area(root, died_at=died_at) as area:
        commits.stage_commit(root, area, place, commit, died_at=died_at)
        if is_new:
            said, branch = (message, {"Actor": "sharing"}), history.branch(root)
            commits.commit_submodule(root, history.head(root), place, commit, *said, branch=branch, died_at=died_at)


def _commit_of(listing: str, column: int) -> str:
    """Return the commit in the first row of *listing* if it is that of a submodule, or an empty string."""
    fields = listing.partition("\t")[0].split()
    return fields[column] if fields and fields[0] == "160000" else ""
