"""The service that starts by itself: only where it is allowed, and never with modules of the home."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from agent_home.consent.settings_in_effect import accept_settings
from agent_home.home import Home
from agent_home.home_location import MANIFEST
from agent_home.settings import load_manifest
from interfaces.service import autostart


def test_it_starts_only_after_consent_and_from_no_folder_of_a_home(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[list[str], Any]] = []
    monkeypatch.delenv("AGENT_HOME_SERVICE", raising=False)
    monkeypatch.setattr(subprocess, "Popen", lambda command, **more: started.append((command, more["cwd"])))
    with (home.root / MANIFEST).open("a") as file:
        file.write("\n[serve]\nautostart = true\n")
    assert not autostart.start_if_allowed(home.root)
    accept_settings(load_manifest(home.root / MANIFEST), home.machine)
    assert autostart.start_if_allowed(home.root)
    ((command, folder),) = started
    assert command[1:4] == ["-P", "-m", "interfaces.cli"]
    assert folder == "/"
