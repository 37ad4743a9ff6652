"""Make a plugin of Claude Code that has our hooks, for those who install plugins rather than settings."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agent_home import storage
from agent_home.home import Home

from .event import HOSTS
from .install import SettingsElsewhere, handler

__all__ = ["write_plugin"]

_HOST = "claude-code"


def write_plugin(home: Home, folder: Path) -> list[Path]:
    """Write the plugin for *home* into *folder*, over an older one, and return its files.

    Raises:
        SettingsElsewhere: a link in *folder* leads out of it.
        OSError: a file cannot be written.
    """
    files = {folder / ".claude-plugin" / "plugin.json": _manifest(), folder / "hooks" / "hooks.json": _hooks(home)}
    for path in files:
        if not path.parent.resolve().is_relative_to(folder.resolve()):
            raise SettingsElsewhere(path.parent, path.parent.resolve())
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        staged = path.with_name(f".{path.name}.agent-home")
        storage.stage(staged, (json.dumps(data, indent=2) + "\n").encode())
        storage.replace(staged, path)
    return list(files)


def _manifest() -> dict[str, Any]:
    return {
        "name": "agent-home",
        "version": version("agent-home"),
        "description": "Begins sessions with a brief of memory, and turns them into memory when they end.",
        "author": {"name": "agent-home"},
        "keywords": ["memory", "hooks"],
    }


def _hooks(home: Home) -> dict[str, Any]:
    return {"hooks": {name: [{"hooks": [handler(home, _HOST, kind)]}] for kind, name in HOSTS[_HOST].items()}}
