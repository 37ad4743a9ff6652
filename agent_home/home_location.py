"""Find the folder of a home. Imports nothing slow, because every command starts here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["MANIFEST", "home_root"]

MANIFEST = "agent.toml"


def home_root(named: str | None, environment: Mapping[str, str], start: Path) -> Path | None:
    """Return the folder *named*, else ``$AGENT_HOME``, else the nearest home from *start* upwards.

    A folder that is given is returned whether it is a home or not. ``None`` means that there is no home above *start*.
    """
    start = start.absolute()
    given = named or environment.get("AGENT_HOME")
    if given:
        return start / Path(given).expanduser()
    return next((folder for folder in (start, *start.parents) if (folder / MANIFEST).is_file()), None)
