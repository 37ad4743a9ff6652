"""The consent of a person on this machine, for tests of what settings do."""

from __future__ import annotations

from agent_home.consent.settings_in_effect import accept_settings
from agent_home.home import Home
from agent_home.settings import MANIFEST, load_manifest

__all__ = ["agree"]


def agree(home: Home) -> Home:
    """Let what ``agent.toml`` says take effect, as ``memory trust accept`` does, and return the home read again."""
    accept_settings(load_manifest(home.root / MANIFEST), home.machine)
    return Home(home.root)
