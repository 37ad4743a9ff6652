"""Remove what git commands of a writer that was killed have left in git's folder: locks and temporary files.

A lock of another process stops every git command. It counts as ours when it is as old as the crash, and when no git
command runs in the work tree: a person's ``git commit`` holds a lock while its editor is open.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from .. import storage
from .client import home_client

__all__ = [
    "GIT_MARK", "ORPHAN_GIT_LOCK_S", "deaths", "git_commands_in", "git_mark", "holds_locks", "idle_locks",
    "is_leftover", "remove_leftovers",
]  # fmt: skip

#: Name of the file that marks that git commands of ours run.
GIT_MARK = "committing"
#: Most writers that died one after the other whose locks are known as ours.
_MOST_DEATHS = 50

#: Seconds after which a lock of a dead writer counts as left behind. Git itself needs milliseconds.
ORPHAN_GIT_LOCK_S = 2.0
#: A dead writer made its last git lock at most this many seconds after it began to commit.
LAST_GIT_LOCK_S = 60.0
_PATTERNS = (
    "*.lock", "next-index-*", "fast_import_crash_*", "refs/**/*.lock", "objects/??/tmp_obj_*", "objects/pack/tmp_*",
    "objects/pack/.tmp-*",
)  # fmt: skip
#: Most leftovers that are removed at once. A killed command leaves a few.
_MOST = 10_000


@contextmanager
def git_mark(root: Path, state: Path) -> Iterator[float | None]:
    """Mark in the folder *state* that git commands of ours run in the repository *root*.

    Yield when the last writer that died in them made its mark, or ``None``. The mark stays behind when this process is
    killed. It proves that a git lock of that time is ours.
    """
    mark, died = state / GIT_MARK, deaths(state)
    remove_leftovers(root, *died)
    # A young lock is judged later, by the times of the writers that may have left it.
    kept = died if _holds_locks_of(root, *died) else ()
    staged = mark.with_name(f"{mark.name}.tmp") if kept else mark
    storage.stage(staged, " ".join(map(str, (*kept, time.time()))).encode())
    if kept:  # a kill between two steps must leave the old mark
        os.utime(staged, (kept[0], kept[0]))
        storage.replace(staged, mark)
    yield died[0] if died else None
    if not _holds_locks_of(root, *kept):
        mark.unlink()


def deaths(state: Path) -> tuple[float, ...]:
    """Return when the writers began that died since git had no lock of theirs, the first one first.

    The mark in the folder *state* bears the time of the first, and holds those of the last ones.
    """
    mark = state / GIT_MARK
    try:
        words = storage.read_state(mark).decode("ascii", "replace").split()[-_MOST_DEATHS:]
        first = mark.stat().st_mtime
    except FileNotFoundError:
        return ()
    return (first, *(float(word) for word in words if word.replace(".", "", 1).isdecimal()))


def remove_leftovers(root: Path, *died_at: float) -> list[str]:
    """Remove what writers left that began to commit at *died_at*, and return the names, relative to git's folder.

    *died_at* is in seconds since the epoch.
    """
    folder = home_client(root).git_folder()
    found = [path for path in _candidates(folder) if any(is_leftover(path, moment, root) for moment in died_at)]
    for path in found:
        path.unlink(missing_ok=True)
    return [path.relative_to(folder).as_posix() for path in found]


def holds_locks(root: Path) -> bool:
    """Return whether git's folder holds a lock of any command."""
    folder = home_client(root).git_folder()
    return any(path.suffix == ".lock" for path in _candidates(folder))


def _holds_locks_of(root: Path, *died_at: float) -> bool:
    """Return whether git's folder holds a lock of the time of such writers, however young it is."""
    folder = home_client(root).git_folder()
    return any(path.suffix == ".lock" and _in_time(path, moment) for path in _candidates(folder) for moment in died_at)


def idle_locks(root: Path, *died_at: float) -> list[str]:
    """Return the locks in git's folder that no running git command holds, as far as the system tells.

    Those of writers that died at *died_at* are left out: the next write removes them.
    """
    folder = home_client(root).git_folder()
    found = [
        path for path in _candidates(folder)
        if path.suffix == ".lock" and _is_old(path) and not any(_in_time(path, moment) for moment in died_at)
    ]  # fmt: skip
    return [] if found and git_commands_in(root) else sorted(str(path) for path in found)


def is_leftover(path: Path, died_at: float, root: Path) -> bool:
    """Return whether *path* in git's folder of *root* was left by the writer that died."""
    return _is_old(path) and _in_time(path, died_at) and not git_commands_in(root)


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > ORPHAN_GIT_LOCK_S
    except OSError:
        return False


def _in_time(path: Path, died_at: float) -> bool:
    try:
        return died_at - 1 <= path.stat().st_mtime <= died_at + LAST_GIT_LOCK_S
    except OSError:
        return False


def _candidates(folder: Path) -> Iterator[Path]:
    found: list[Path] = []
    for pattern in _PATTERNS:
        with suppress(FileNotFoundError):  # a person's `git gc` removes folders meanwhile
            found += islice(folder.glob(pattern), _MOST - len(found))
    return (path for path in dict.fromkeys(found) if path.is_file())  # two patterns may find one file


def git_commands_in(root: Path, names: Collection[str] = ()) -> list[str]:
    """Return the git commands that run in the work tree, as far as the system tells: all, or those of *names*."""
    top = os.path.realpath(root)
    found = []
    for process in _git_processes():
        try:
            place = os.path.realpath(process / "cwd")
            words = (process / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:  # it has ended, or it is another user's
            continue
        command = next((word for word in words if word in names), "")
        if (command or not names) and (place == top or place.startswith(top + os.sep)):
            found.append(command or "git")
    return found


def _git_processes() -> Iterator[Path]:
    """Yield the folders of the processes whose program is called git. Every write looks through all processes."""
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 - ten times as fast
    except OSError:  # another system than Linux
        return
    for number in numbers:
        try:
            with open(f"/proc/{number}/comm", "rb") as file:  # noqa: PTH123
                name = file.read()
        except OSError:
            continue
        if name.rstrip() == b"git" or name.startswith(b"git-"):
            yield Path("/proc", number)
