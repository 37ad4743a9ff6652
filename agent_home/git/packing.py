"""Pack the home's repository: the thousands of small files that closings leave in git's folder become one.

Nothing is dropped: objects that no branch reaches stay, for a person's own ``git gc`` and for ``memory forget``.
Writers need not wait, because an object is removed only where a pack on the disk holds it. A purge must not run beside
a packing, which could bring back what it removes. Both hold the lock ``packing.lock``, and a purge looks for packing
commands that outlived their process.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from .. import storage
from ..errors import HistoryError
from ..home import Home
from ..lock import DEFAULT_TIMEOUT_S, hold
from .client import home_client
from .leftovers import git_commands_in

__all__ = ["LEAST_LOOSE", "TIME_LIMIT_S", "PackingState", "inspect", "no_packing", "pack", "remove_unfinished"]

#: Loose objects from which on packing gains something: a week of a few closings a day, or one day of thirty.
LEAST_LOOSE = 300
#: Packs from which on they are united. Each night adds one at most, and git looks into each of them.
MOST_PACKS = 20
#: Seconds that packing may take. The first time in a home of thousands of closings takes seconds.
TIME_LIMIT_S = 300.0
#: Most seconds by which a temporary pack of a killed packing is younger than its mark.
_LAST_FILE_S = TIME_LIMIT_S + 60
_UNFINISHED = ("objects/pack/tmp_*", "objects/pack/.tmp-*")
_PACKING = frozenset({"gc", "maintenance", "multi-pack-index", "pack-objects", "prune", "repack"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingState:
    """The state of the repository's files.

    *loose* objects take *kilobytes*. *left* of them were there right after the last packing, at the time *last*, which
    is empty before the first one. *off* names the setting by which a person has turned packing off.
    """

    loose: int
    kilobytes: int
    packs: int
    left: int = 0
    last: str = ""
    off: str = ""
    least: int = LEAST_LOOSE

    @property
    def worthwhile(self) -> bool:
        """True when packing is wanted and gains something."""
        return not self.off and (self.loose - self.left >= self.least or self.packs > MOST_PACKS)

    def __str__(self) -> str:
        return f"{self.loose} loose objects ({self.kilobytes / 1024:.1f} MB), packs: {self.packs}"


def inspect(home: Home) -> PackingState:
    """Return the state of the repository of *home*. The setting ``gc.auto`` of a person counts as the threshold.

    Raises:
        HistoryError: git is absent or refused.
    """
    git = home_client(home.root)
    rows = (line.partition(": ") for line in git.text("count-objects", "-v").splitlines())
    counts = {name: int(value) for name, _, value in rows if value.isdecimal()}
    last, left = _last(home)
    threshold, automatic = git.setting("gc.auto"), git.setting("maintenance.auto").lower()
    off = "gc.auto = 0" if threshold == "0" else ""
    if not off and automatic in {"false", "no", "off", "0"}:
        off = f"maintenance.auto = {automatic}"
    return PackingState(
        loose=counts.get("count", 0), kilobytes=counts.get("size", 0), packs=counts.get("packs", 0), left=left,
        last=last, off=off, least=int(threshold) if threshold.isdecimal() else LEAST_LOOSE,
    )  # fmt: skip


def pack(home: Home, now: datetime, *, timeout_s: float = TIME_LIMIT_S) -> str:
    """Pack what is loose, if that gains something. Return what was done, or nothing.

    Raises:
        Locked: text is being forgotten in this home, or another process packs.
        HistoryError: git is absent, refused or was too slow. No object is gone.
    """
    with hold(home.machine / "packing.lock", 0):
        remove_unfinished(home)
        before = inspect(home)
        if not before.worthwhile or git_commands_in(home.root, _PACKING):
            return ""
        mark = _mark(home)
        storage.stage(mark, b"")
        git = replace(home_client(home.root), timeout_s=timeout_s)
        everything = ("-a", "-k") if before.packs > MOST_PACKS else ()
        # Git removes the loose objects at once, so their pack and its index must be on the disk. After a failure the
        # mark stays, because git's own child may still write: the next packing removes what that leaves.
        git.change("-c", "core.fsync=all", "repack", "-d", "-l", "-q", *everything)
        remove_unfinished(home)
        after = inspect(home)
        storage.write_cache(_record(home), json.dumps({"ts": now.isoformat(), "loose": after.loose}).encode())
        return f"{before}, now {after}"


def remove_unfinished(home: Home) -> list[str]:
    """Remove the temporary packs of a packing that was killed, and return their names. Leave those of others alone."""
    mark = _mark(home)
    try:
        began = mark.stat().st_mtime
    except OSError:
        return []
    if git_commands_in(home.root, _PACKING):
        return []
    found = [path for path in _temporary(home) if began - 1 <= path.stat().st_mtime <= began + _LAST_FILE_S]
    for path in found:
        path.unlink(missing_ok=True)
    mark.unlink(missing_ok=True)
    return [path.name for path in found]


@contextmanager
def no_packing(home: Home, timeout_s: float = DEFAULT_TIMEOUT_S) -> Iterator[None]:
    """Keep packing commands out for the block, and remove every temporary pack: they may hold what is to be forgotten.

    Raises:
        Locked: another process packs.
        HistoryError: a packing command runs, of a person or of a process that was killed.
    """
    with hold(home.machine / "packing.lock", timeout_s):
        deadline = time.monotonic() + timeout_s
        while running := git_commands_in(home.root, _PACKING):
            if time.monotonic() > deadline:
                raise HistoryError(f"`git {running[0]}` runs in {home.root}. Wait until it ends, then try again")
            time.sleep(0.05)
        for path in _temporary(home):
            path.unlink(missing_ok=True)
        _mark(home).unlink(missing_ok=True)
        yield


def _temporary(home: Home) -> list[Path]:
    folder = home_client(home.root).git_folder()
    return [path for pattern in _UNFINISHED for path in folder.glob(pattern) if path.is_file()]


def _last(home: Home) -> tuple[str, int]:
    try:
        row = json.loads(storage.read_state(_record(home)))
        return str(row["ts"]), int(row["loose"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", 0


def _mark(home: Home) -> Path:
    """Return the file that is there while a packing runs, or after it was killed."""
    return home.machine / "packing"


def _record(home: Home) -> Path:
    return home.machine / "packed.json"
