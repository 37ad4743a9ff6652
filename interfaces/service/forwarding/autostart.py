"""Start the service of a home when none runs, where ``[serve] autostart`` allows it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from agent_home.errors import HomeError
from agent_home.home import Home

from ..settings import ServeSettings

__all__ = ["start_if_allowed"]


def start_if_allowed(root: Path) -> bool:
    """Start the service of the home *root* in the background, and return whether it was started.

    A service that runs already makes the new one end at once.
    """
    if os.environ.get("AGENT_HOME_SERVICE") == "0":
        return False
    try:
        allowed = Home(root).manifest.settings("serve", ServeSettings).autostart
    except (HomeError, OSError):
        return False
    if not allowed or importlib.util.find_spec("uvicorn") is None:
        return False
    command = [sys.executable, "-P", "-m", "interfaces.cli", "serve", "--home", str(root)]
    subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, cwd="/",
    )  # fmt: skip
    return True
