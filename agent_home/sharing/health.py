"""Say what keeps a shared folder from being read or written, and which command ends that. No file is changed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from shlex import quote

from ..consent.agreed_links import SHARED, agreed_targets, target_problem
from ..documents.check import Problem
from ..errors import HomeError
from ..git import history
from ..git.client import home_client
from ..git.leftovers import deaths, idle_locks
from ..git_folder import STATE
from ..home import Home
from ..home_location import MANIFEST
from .folders import SharedFolder, shared_folders
from .placing import refuse_state
from .recorded_commit import behind, recorded
from .waiting_texts import unsigned_texts, waiting_texts

__all__ = ["link_problem", "sharing_problems"]

#: Most links inside a shared folder that are named, and most folders of it that are looked through.
_MAX_NAMED, _MOST_FOLDERS = 3, 2_000


def sharing_problems(home: Home) -> list[Problem]:
    """Return what is wrong with the folders that *home* shares, ordered by place."""
    found = [problem for place in _links(home) if (problem := _link_problem(home, place))]
    for shared in shared_folders(home):
        found += [_problem(shared.place, said) for said in _folder_problems(home, shared)]
    found += [_problem(path, f"a text for it waits{why}") for path, why in _waiting(home)]
    return sorted(found, key=lambda problem: problem.file)


def link_problem(home: Home, place: str) -> str:
    """Return why the link at *place* cannot be shared, whoever agrees, or an empty string."""
    link = home.root / place
    target = Path(os.path.realpath(link))
    if not os.path.isdir(target):  # noqa: PTH112 - is_dir raises where a folder above may not be entered
        return (
            f"is a link to {target}, which is no folder on this machine. Bring the folder back, or remove the link."
            " Texts that wait for it are then in `memory review`"
        )
    problem = target_problem(home.root, target, thorough=True)
    return f"is a link to {target}, which is never shared: {problem}. Remove the link" if problem else ""


def _git(home: Home) -> str:
    return f"git -C {quote(str(home.root))}"


def _problem(place: str, said: str, rule: str = "shared-folder") -> Problem:
    return Problem(file=place, line=0, rule=rule, message=said)


def _links(home: Home) -> list[str]:
    """Return the places in the home itself that are links."""
    top = home.root / SHARED
    if top.is_symlink():
        return [SHARED]
    try:
        return sorted(f"{SHARED}/{path.name}" for path in top.iterdir() if path.is_symlink())
    except OSError:
        return []


def _link_problem(home: Home, place: str) -> Problem | None:
    """Return why the link at *place* is not followed, or ``None`` for one that is."""
    if place in home.links:
        return None
    if problem := link_problem(home, place):
        return _problem(place, problem)
    target, agreed = os.path.realpath(home.root / place), agreed_targets(home.machine).get(place)
    since = f". A person agreed to {agreed}" if agreed else ""
    said = f"is a link to {target}, and nobody on this machine agreed to follow it{since}"
    return _problem(place, f"{said}. Run `memory share add {quote(place)}`", "link-not-agreed")


def _folder_problems(home: Home, shared: SharedFolder) -> Iterator[str]:
    """Yield what keeps closings from writing into *shared*, and what in it is not read."""
    if shared.repository is None and shared.kind == "submodule":
        command = f"{_git(home)} submodule update --init {quote(shared.place)}"
        yield f"is a submodule that is not checked out. Run `{command}`"
        return
    if os.path.lexists(shared.folder / MANIFEST):
        yield "is the home of an agent, and memory is never shared. Put another folder there"
    if not os.access(shared.folder, os.W_OK):
        yield f"is not writable. Run `chmod u+w {quote(str(shared.folder))}`, or ask its owner"
    if shared.repository is not None:
        yield from _repository_problems(home, shared, shared.repository)
    yield from _tracked(home, shared)
    for link in _links_inside(shared.folder):
        yield f"{link} is a link inside a shared folder, and is not followed. Put the file itself there"


def _repository_problems(home: Home, shared: SharedFolder, repository: Path) -> Iterator[str]:
    try:
        held = recorded(home, shared.place) if shared.kind == "submodule" else ""
        if held and not history.descends(repository, "HEAD", held):
            yield behind(home, shared.place, held)
        refuse_state(shared, repository)
        state = home_client(repository).git_folder() / STATE
        if locks := idle_locks(repository, *deaths(state)):
            yield f"a git command that is gone left a lock there. Run `rm {' '.join(map(quote, locks))}`"
    except (HomeError, OSError) as error:
        yield " ".join(str(error).split()).removeprefix(f"{shared.place}: ")


def _tracked(home: Home, shared: SharedFolder) -> Iterator[str]:
    """Say that the home's git tracks files of *shared* as well, as an earlier version committed them."""
    try:
        listed = home_client(home.root).text("ls-files", "-z", "--", f"{shared.place}/")
    except HomeError:
        return
    if any(name.startswith(f"{shared.place}/") for name in listed.split("\0")):
        yield f"the home tracks files of it too. Run `{_git(home)} rm -r -q --cached {quote(shared.place)}` and commit"


def _links_inside(folder: Path) -> Sequence[str]:
    def links() -> Iterator[str]:
        for top, folders, names in islice(os.walk(folder), _MOST_FOLDERS):
            folders[:] = [name for name in folders if not name.startswith(".")]
            yield from (path for name in (*folders, *names) if os.path.islink(path := f"{top}/{name}"))  # noqa: PTH114

    return list(islice(links(), _MAX_NAMED))


def _waiting(home: Home) -> Iterator[tuple[str, str]]:
    for path in dict.fromkeys(one.wanted.path for one in waiting_texts(home)):
        yield path, ". The next write of the home tries again"
    for file in unsigned_texts(home):
        yield SHARED, f" and was not signed by this machine, so it is never written. Look at it, and remove {file}"
