"""Faults in a forked command: it counts changes of files, over all its processes, and fails at one of them.

``faults.c`` stands between the program and the C library. It needs a C compiler and Linux.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tests.doomed import ForkServer

__all__ = ["Faults", "faults", "missing"]

SOURCE = Path(__file__).with_name("faults.c")
Fault = Literal["count", "kill", "full"]
#: A count needs a fault that never happens.
_CODES: Mapping[Fault, int] = {"count": 2, "kill": 1, "full": 2}
_PLAN = struct.Struct("QQQ")
MEMORY = "from interfaces.cli import main; main()"


def missing() -> str:
    """Return why no faults can be made on this machine, or an empty text."""
    if not sys.platform.startswith("linux"):
        return "LD_PRELOAD is of Linux"
    return "" if shutil.which("cc") else "there is no C compiler (cc)"


class Faults:
    """Runs commands of the program in forks, with a fault at a chosen change."""

    def __init__(self, forks: ForkServer, plan: mmap.mmap, environment: Mapping[str, str]) -> None:
        self._forks, self._plan, self._environment = forks, plan, environment

    def run(self, *arguments: str, fault: Fault = "count", at: int = 0) -> tuple[int, int, str, str]:
        """Run ``memory`` with *arguments*, with *fault* at the change number *at*.

        Returns the exit code (negative for a signal), the number of changes up to the end, and both outputs.
        """
        self._plan[: _PLAN.size] = _PLAN.pack(0, at, _CODES[fault])
        # The code of the program is loaded already: "memory" only names it in its messages.
        script = f"import sys; sys.argv = ['memory', *sys.argv[1:]]; {MEMORY}"
        try:
            done = self._forks.run(script, *arguments, **self._environment)
        finally:
            count, _, _ = _PLAN.unpack(self._plan[: _PLAN.size])
            self._plan[: _PLAN.size] = _PLAN.pack(0, 0, 0)
        return done.returncode, count, done.stdout, done.stderr


@contextmanager
def faults(folder: Path) -> Iterator[Faults]:
    """Compile the library into *folder*, and start the process that forks with it."""
    library, plan = folder / "faults.so", folder / "faults.plan"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    plan.write_bytes(bytes(_PLAN.size))
    ours = {
        "LD_PRELOAD": str(library), "TORTURE_FAULTS": str(plan), "HOME": str(folder),
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
    }  # fmt: skip
    before = {name: os.environ.get(name) for name in ours}
    os.environ |= ours
    try:
        server = ForkServer()
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    with server, plan.open("r+b") as file, mmap.mmap(file.fileno(), _PLAN.size) as shared:
        yield Faults(server, shared, ours)
