"""Shared folders are found in each of their forms, and the innermost repository keeps a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_home.documents.check import markdown_files
from agent_home.home import Home
from agent_home.sharing.folders import own_markdown_files, shared_folder, shared_folders, submodules
from tests.sharing import FORMS, IMPROVEMENT, ORION, agree, put, run_git


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_found(home: Home, tmp_path: Path, form: str) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    (shared,) = shared_folders(home)
    assert (shared.place, shared.kind, shared.folder) == (ORION, form.split(maxsplit=1)[0], project)
    assert shared.repository == (None if form == "link" else project)
    assert shared_folder(home, IMPROVEMENT, submodules(home)) == shared
    assert shared_folder(home, "Projects/lyra/IMPROVEMENT.md", submodules(home)) is None
    assert f"{ORION}/PRODUCT.md" in markdown_files(home)
    assert f"{ORION}/PRODUCT.md" not in own_markdown_files(home)


def test_a_home_without_shared_folders_has_none(home: Home) -> None:
    (home.root / ORION).mkdir()
    assert shared_folders(home) == []
    assert own_markdown_files(home) == list(markdown_files(home))


def test_a_submodule_that_is_not_checked_out_has_no_repository(home: Home, tmp_path: Path) -> None:
    put(home, "submodule", tmp_path / "elsewhere")
    run_git(home.root, "submodule", "deinit", "-q", "-f", ORION)
    (shared,) = shared_folders(home)
    assert (shared.kind, shared.repository) == ("submodule", None)


def test_a_link_into_a_repository_is_kept_by_that_repository(home: Home, tmp_path: Path) -> None:
    top = tmp_path / "notes"
    (top / "deep" / "orion").mkdir(parents=True)
    run_git(top, "init", "-q")
    (home.root / ORION).symlink_to(top / "deep" / "orion")
    agree(home)
    (shared,) = shared_folders(home)
    assert shared.repository == top


def test_a_repository_inside_a_shared_folder_keeps_its_own_files(home: Home, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "orion").mkdir(parents=True)
    (home.root / "Projects").rmdir()
    (home.root / "Projects").symlink_to(shared)
    agree(home, "Projects")
    run_git(shared, "init", "-q", "orion")
    found = shared_folder(home, IMPROVEMENT, {})
    assert found is not None
    assert (found.place, found.repository) == ("Projects", shared / "orion")


def test_a_clone_of_all_projects_is_one_shared_folder(home: Home, tmp_path: Path) -> None:
    (home.root / "Projects").rmdir()
    run_git(home.root, "init", "-q", "Projects")
    (home.root / ORION).mkdir()
    assert [shared.place for shared in shared_folders(home)] == ["Projects"]
