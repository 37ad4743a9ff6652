"""The memory tool shows files of shared projects, and follows no other link."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_home.home import Home
from interfaces.memory_folder import MemoryFolder, PathRefused
from tests.sharing import ORION, agree, put


def test_a_file_of_a_shared_project_is_shown_and_not_written(home: Home, tmp_path: Path) -> None:
    put(home, "link", tmp_path / "elsewhere", agreed=False)
    with pytest.raises(PathRefused, match="symlink"):
        MemoryFolder(home).place(f"/memories/{ORION}/PRODUCT.md")
    agree(home)
    folder = MemoryFolder(home)
    place = folder.place(f"/memories/{ORION}/PRODUCT.md")
    assert place.writing == "never"
    assert folder.shown_text(place).startswith("# orion")
    assert f"{ORION}/PRODUCT.md" in folder.files()


def test_a_link_inside_a_shared_project_is_refused(home: Home, tmp_path: Path) -> None:
    project = put(home, "link", tmp_path / "elsewhere")
    (tmp_path / "private.md").write_text("private\n")
    (project / "key.md").symlink_to(tmp_path / "private.md")
    with pytest.raises(PathRefused):
        MemoryFolder(home).place(f"/memories/{ORION}/key.md")
