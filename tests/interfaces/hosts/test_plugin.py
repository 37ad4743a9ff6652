"""The plugin of Claude Code: a manifest and our hooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_home.home import Home
from interfaces.hosts.event import HOSTS
from interfaces.hosts.install import SettingsElsewhere
from interfaces.hosts.plugin import write_plugin


def test_a_plugin_has_a_manifest_and_five_hooks_for_the_home(home: Home, tmp_path: Path) -> None:
    write_plugin(home, tmp_path / "plugin")
    manifest = json.loads((tmp_path / "plugin" / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["name"] == "agent-home"
    assert manifest["author"]["name"]
    hooks = json.loads((tmp_path / "plugin" / "hooks" / "hooks.json").read_text())["hooks"]
    assert set(hooks) == set(HOSTS["claude-code"].values())
    assert all(str(home.root) in group["hooks"][0]["command"] for groups in hooks.values() for group in groups)


def test_writing_it_again_changes_nothing(home: Home, tmp_path: Path) -> None:
    files = write_plugin(home, tmp_path / "plugin")
    before = {path: path.read_bytes() for path in files}
    write_plugin(home, tmp_path / "plugin")
    assert {path: path.read_bytes() for path in (tmp_path / "plugin").rglob("*") if path.is_file()} == before


def test_a_link_in_its_folder_leads_nowhere(home: Home, tmp_path: Path) -> None:
    (tmp_path / "plugin").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "plugin" / "hooks").symlink_to(tmp_path / "outside")
    with pytest.raises(SettingsElsewhere):
        write_plugin(home, tmp_path / "plugin")
    assert not list((tmp_path / "outside").iterdir())
