"""A folder's STATUS.md is read screened, and changed by one process at a time."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.documents.status_file import STATUS_FILE, StatusFile
from agent_home.home import Home
from interfaces.folder_status import update_status

UPDATE = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from agent_home.home import Home
from interfaces.folder_status import update_status
update_status(Home(Path(sys.argv[1])), Path(sys.argv[2]), now=datetime.now(UTC), task=sys.argv[3])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def test_ten_processes_that_update_one_file_lose_nothing(home: Home, folder: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", UPDATE, str(home.root), str(folder), f"Task {number}"])
        for number in range(10)
    ]
    assert [process.wait(timeout=60) for process in running] == [0] * 10
    tasks = StatusFile((folder / STATUS_FILE).read_text()).tasks
    assert sorted(task.text for task in tasks) == [f"Task {number}" for number in range(10)]
    assert [path.name for path in folder.iterdir()] == [STATUS_FILE]


def test_an_update_keeps_the_mode_and_minds_no_folder_beside_it(home: Home, folder: Path, now: datetime) -> None:
    (folder / f".{STATUS_FILE}.tmp").mkdir()
    (folder / STATUS_FILE).write_text("# Status\n")
    (folder / STATUS_FILE).chmod(0o640)
    update_status(home, folder, now=now, task="One")
    assert (folder / STATUS_FILE).stat().st_mode & 0o777 == 0o640
    assert (folder / f".{STATUS_FILE}.tmp").is_dir()
