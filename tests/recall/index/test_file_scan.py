"""Files of shared projects are indexed under their paths in the home, and links that nobody agreed to are not."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent_home.home import Home
from recall.index.file_scan import scan
from recall.index.sync import sync
from recall.index.verify import verify
from recall.index.watch import Synced, Watcher, WatchEvent, WatchTiming
from recall.settings import RecallSettings
from tests.sharing import FORMS, ORION, agree, put, run_git

PRODUCT = f"{ORION}/PRODUCT.md"


@pytest.mark.parametrize("form", FORMS)
def test_changes_of_other_agents_are_found(home: Home, tmp_path: Path, form: str) -> None:
    run_git(home.root, "init", "-q", "-b", "main")
    project = put(home, form, tmp_path / "elsewhere")
    assert PRODUCT in scan(home)
    sync(home, RecallSettings(), None)
    (project / "TECH.md").write_text("# Tech\n\nThe falcon nests in the tower.\n")
    assert any(f"{ORION}/TECH.md is not in the index" in found for found in verify(home, RecallSettings()).differences)
    assert sync(home, RecallSettings(), None).added == 1
    assert verify(home, RecallSettings()).ok


def test_a_link_is_indexed_as_long_as_a_person_agrees(home: Home, tmp_path: Path) -> None:
    put(home, "link", tmp_path / "elsewhere", agreed=False)
    assert PRODUCT not in scan(home)
    agree(home)
    assert PRODUCT in scan(home)
    sync(home, RecallSettings(), None)
    (home.root / ORION).unlink()
    assert sync(home, RecallSettings(), None).removed == 1


def test_all_projects_behind_one_link_are_indexed(home: Home, tmp_path: Path) -> None:
    (tmp_path / "shared" / "orion").mkdir(parents=True)
    (tmp_path / "shared" / "orion" / "PRODUCT.md").write_text("# orion\n")
    (home.root / "Projects").rmdir()
    (home.root / "Projects").symlink_to(tmp_path / "shared")
    assert PRODUCT not in scan(home)
    agree(home, "Projects")
    assert PRODUCT in scan(home)


def test_links_inside_a_shared_folder_are_left_out(home: Home, tmp_path: Path) -> None:
    project = put(home, "link", tmp_path / "elsewhere")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "a.md").write_text("private\n")
    (project / "inner").symlink_to(tmp_path / "private")
    (project / "a.md").symlink_to(tmp_path / "private" / "a.md")
    assert [path for path in scan(home) if path.startswith("Projects/")] == [PRODUCT]


def test_the_watcher_notices_changes_behind_a_link(home: Home, tmp_path: Path) -> None:
    project = put(home, "link", tmp_path / "elsewhere")
    watcher = Watcher(home, timing=WatchTiming(quiet_s=0.05, limit_s=0.5, look_s=60.0))
    with closing(watcher.run()) as outcomes:
        first = next(outcomes)
        assert isinstance(first, Synced)
        threading.Timer(0.2, lambda: (project / "TECH.md").write_text("# Tech\n")).start()
        report = _next_words(outcomes)
        watcher.stop()
    assert report.report.added == 1


def _next_words(outcomes: Iterator[WatchEvent]) -> Synced:
    return next(outcome for outcome in outcomes if isinstance(outcome, Synced))


def test_a_home_in_a_project_is_left_out_and_no_other_folder_with_such_a_file(home: Home) -> None:
    for folder in ("Projects/orion/deep/home", "Knowledge/examples"):
        (home.root / folder).mkdir(parents=True)
        (home.root / folder / "agent.toml").write_text("")
        (home.root / folder / "note.md").write_text("- a note\n")
    found = scan(home)
    assert "Knowledge/examples/note.md" in found
    assert "Projects/orion/deep/home/note.md" not in found


def test_a_file_from_the_far_future_is_indexed(home: Home) -> None:
    """Times in nanoseconds after the year 2262 are larger than the integers of a store."""
    note = home.root / "Knowledge/far.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("# Birds\n\nThe falcon nests in the tower.\n")
    os.utime(note, (10_000_000_000, 10_000_000_000))  # in 2286. Some file systems keep no time after 2446
    assert note.stat().st_mtime_ns > 2**63
    assert sync(home, RecallSettings(), None).added == 1
    assert verify(home, RecallSettings()).ok
