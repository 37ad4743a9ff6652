"""Cut the power of a disk right after a command has said that it is done.

An ext4 image is mounted as a loop device, and ext4's shutdown call drops everything that was not written to the disk.
It needs root, loop devices and mkfs.ext4.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agent_home.home import Home
from recall.index.sqlite.readers import close_readers
from tests.doomed import ForkServer

from .faults import MEMORY
from .report import Finding, Report
from .scenarios import SCENARIOS, Scenario, State, check, copied, make, prompt_problems, state

__all__ = ["cut_power", "missing"]

#: ``EXT4_IOC_SHUTDOWN`` with the flag that forgets the journal too.
_SHUTDOWN, _NO_LOG_FLUSH = 0x8004587D, 2
_MEGABYTES = 96


def missing() -> str:
    """Return why no power can be cut on this machine, or an empty text."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "it needs root on Linux"
    if not all(shutil.which(tool) for tool in ("mkfs.ext4", "mount", "umount")):
        return "it needs mkfs.ext4 and mount"
    with tempfile.TemporaryDirectory(prefix="torture-power-") as temporary:
        try:
            with _disk(Path(temporary)):
                return ""
        except OSError as error:
            return f"no loop device can be mounted: {error}"


def cut_power(folder: Path, *, trials: int, only: str = "") -> Iterator[Report]:
    """Run each scenario *trials* times on a disk that loses its power afterwards, and yield a report for each.

    *only* chooses the scenarios whose names contain it.
    """
    base = make(folder / "base")
    with ForkServer() as forks:
        for scenario in (one for one in SCENARIOS if only in one.name):
            report = Report(f"{scenario.name}: power cut")
            for number in range(trials):
                report.add(_trial(forks, folder, base, scenario, f"{scenario.name}, power cut {number + 1}"))
            yield report


def _trial(forks: ForkServer, folder: Path, base: Home, scenario: Scenario, trial: str) -> list[Finding]:
    with _disk(folder) as disk:
        home = copied(base, disk / "home")
        subprocess.run(["sync", "-f", str(disk)], check=True)
        arguments = [*scenario.arguments(home, folder), "--home", str(home.root)]
        arguments += [] if "--now" in arguments else ["--now", "2026-11-21T09:00:00+00:00"]
        script = f"import sys; sys.argv = ['memory', *sys.argv[1:]]; {MEMORY}"
        done = forks.run(script, *arguments, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
        if done.returncode not in scenario.ends:
            return [Finding(trial, "stuck", f"ends with {done.returncode}: {done.stderr.strip()[-300:]}")]
        wanted: State = state(home)
        _cut(disk)
        _mount(folder / "disk.img", disk)
        found = list(prompt_problems(home, trial))
        return [*found, *check(home, wanted, trial)]


@contextmanager
def _disk(folder: Path) -> Iterator[Path]:
    """Mount a new disk in *folder*, and unmount it at the end.

    Raises:
        OSError: it cannot be made or mounted.
    """
    image, disk = folder / "disk.img", folder / "disk"
    disk.mkdir(exist_ok=True)
    with image.open("wb") as file:
        file.truncate(_MEGABYTES << 20)
    _run("mkfs.ext4", "-q", "-F", str(image))
    _mount(image, disk)
    try:
        yield disk
    finally:
        _unmount(disk)
        image.unlink()


def _mount(image: Path, disk: Path) -> None:
    # Nothing is written to the disk by itself within the time of a trial.
    _run("mount", "-o", "loop,commit=300", str(image), str(disk))


def _cut(disk: Path) -> None:
    descriptor = os.open(disk, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))
    finally:
        os.close(descriptor)
    _unmount(disk)


def _unmount(disk: Path) -> None:
    close_readers()  # this process may keep the index open
    for _ in range(100):
        if not os.path.ismount(disk):
            return
        subprocess.run(["umount", str(disk)], check=False, capture_output=True)
        time.sleep(0.05)
    raise OSError(f"{disk} stays mounted. Unmount it by hand")


def _run(*command: Sequence[str] | str) -> None:
    done = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{command[0]}: {done.stderr.strip()}")
