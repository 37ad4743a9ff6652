"""Count what a process and its children ask of a network, in a name space without routes where that is permitted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["network_calls", "network_calls_missing"]

SOURCE = Path(__file__).with_name("network_calls.c")
_UNSHARE = ("unshare", "--map-root-user", "--net")


def network_calls_missing() -> str:
    """Return why calls cannot be counted on this machine, or an empty text."""
    if not sys.platform.startswith("linux"):
        return "LD_PRELOAD is of Linux"
    return "" if shutil.which("cc") else "there is no C compiler (cc)"


def network_calls(script: str, *arguments: str, folder: Path, **environment: str) -> list[str]:
    """Run the Python *script* in a new process, and return its calls, one line each.

    *folder* receives the library and stands for the user's home folder. The script must end with exit code 0.
    """
    library, calls = folder / "network_calls.so", folder / "network_calls.txt"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    alone = _UNSHARE if subprocess.run([*_UNSHARE, "true"], check=False, capture_output=True).returncode == 0 else ()
    ours = {
        **os.environ, "LD_PRELOAD": str(library), "NETWORK_CALLS": str(calls), "HOME": str(folder),
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **environment,
    }  # fmt: skip
    ours.pop("XDG_CACHE_HOME", None)
    done = subprocess.run(
        [*alone, sys.executable, "-c", script, *arguments], check=False, capture_output=True, text=True, env=ours
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return calls.read_text("utf-8").splitlines() if calls.exists() else []
