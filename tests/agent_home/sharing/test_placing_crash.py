"""A writer that is killed while it writes into a shared project loses nothing, and the next write completes it."""

from __future__ import annotations

import shutil
import signal
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.documents.check import problems
from agent_home.home import Home
from agent_home.sharing.health import sharing_problems
from agent_home.sharing.waiting_texts import waiting_texts
from agent_home.store import gateway, set_aside
from tests.doomed import ForkServer
from tests.sharing import IMPROVEMENT, put, run_git

DOOMED = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from agent_home import storage
from agent_home.git.client import GitClient
from agent_home.home import Home
from agent_home.sharing import placing, recorded_commit, waiting_texts
from agent_home.store import gateway, recovery
from tests.doomed import dying, git_command, into

home, step = Home(Path(sys.argv[1])), sys.argv[2]

def shared(command):
    return lambda git, *arguments, **_: command in arguments and git.root != home.root

def own(command):
    return lambda git, *arguments, **_: command in arguments and git.root == home.root

STEPS = {
    "before the redo record": dying(storage, "replace", before=True, when=into("redo.json")),
    "after the redo record": dying(storage, "replace", when=into("redo.json")),
    "before the text waits": dying(recovery, "keep_waiting", before=True),
    "after the text waits": dying(recovery, "keep_waiting"),
    "before the file": dying(storage, "replace", before=True, when=into("IMPROVEMENT.md")),
    "after the file": dying(storage, "replace", when=into("IMPROVEMENT.md")),
    "before the staging area": dying(GitClient, "change", before=True, when=shared("update-index")),
    "after the staging area": dying(GitClient, "change", when=shared("update-index")),
    "before the commit": dying(GitClient, "change", before=True, when=shared("fast-import")),
    "after the commit": dying(GitClient, "change", when=shared("fast-import")),
    "before the home names it": dying(waiting_texts, "record_commit", before=True),
    "after the home names it": dying(waiting_texts, "record_commit"),
    "before it waits no more": dying(waiting_texts, "drop", before=True),
}
STEPS[step]()
with gateway.transaction(home, actor="doomed", message="Doomed", session="s-1") as edits:
    edits.write("MEMORY.md", edits.text("MEMORY.md") + "\\nDoomed.\\n")
    edits.write("Projects/orion/IMPROVEMENT.md", "# orion\\n\\n- doomed\\n")
print("acknowledged", flush=True)
"""
BEFORE_SHARING = """
import sys
from pathlib import Path
from agent_home import storage
from agent_home.home import Home
from agent_home.store import gateway
from tests.doomed import dying, into

home = Home(Path(sys.argv[1]))
dying(storage, "replace", when=into(sys.argv[2]))()
with gateway.transaction(home, actor="doomed", message="Doomed", session="s-1") as edits:
    edits.write("Projects/orion/IMPROVEMENT.md", "# orion\\n\\n- doomed\\n")
"""
PLAIN = (
    "before the redo record", "after the redo record", "before the text waits", "after the text waits",
    "before the file", "after the file", "before it waits no more",
)  # fmt: skip
IN_GIT = ("before the staging area", "after the staging area", "before the commit", "after the commit")
SUBMODULE = ("before the home names it", "after the home names it")


@pytest.mark.parametrize(
    ("form", "step"),
    [
        *(("link", step) for step in PLAIN),
        *(("link to a clone", step) for step in (*PLAIN[5:], *IN_GIT)),
        *(("submodule", step) for step in (*PLAIN[4:], *IN_GIT, *SUBMODULE)),
    ],
)
def test_the_next_write_completes_what_a_killed_one_began(
    home: Home, now: datetime, tmp_path: Path, forks: ForkServer, form: str, step: str
) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    doomed = forks.run(DOOMED, str(home.root), step)
    assert doomed.returncode == -signal.SIGKILL, doomed.stderr
    with gateway.transaction(home, actor="next", message="Next", now=now) as edits:
        edits.write(IMPROVEMENT, edits.text(IMPROVEMENT) + "- next\n")
    assert edits.outcome.waiting == ()
    there = step != "before the redo record"
    assert ("Doomed." in (home.root / "MEMORY.md").read_text()) == there
    text = (project / "IMPROVEMENT.md").read_text()
    assert (text.count("- doomed"), text.count("- next")) == (int(there), 1)
    assert not waiting_texts(home)
    assert problems(home) == []
    assert sharing_problems(home) == []
    if form != "link":
        assert run_git(project, "show", "HEAD:IMPROVEMENT.md") == text.strip()
        assert run_git(project, "status", "--porcelain") == ""
    if form == "submodule":
        assert run_git(home.root, "status", "--porcelain") == ""
        assert run_git(home.root, "rev-parse", "HEAD:Projects/orion") == run_git(project, "rev-parse", "HEAD")


@pytest.mark.parametrize("step", ["redo.json", "IMPROVEMENT.md"])
@pytest.mark.parametrize("form", ["clone", "submodule"])
def test_a_killed_write_into_a_folder_that_became_shared_is_completed_there(
    home: Home, now: datetime, tmp_path: Path, forks: ForkServer, form: str, step: str
) -> None:
    doomed = forks.run(BEFORE_SHARING, str(home.root), step)
    assert doomed.returncode == -signal.SIGKILL, doomed.stderr
    folder = home.root / "Projects" / "orion"
    placed = (folder / "IMPROVEMENT.md").read_text() if step != "redo.json" else ""
    shutil.rmtree(folder, ignore_errors=True)
    (home.root / ".git" / "index.lock").unlink(missing_ok=True)  # of the killed writer, which stops git commands
    project = put(home, form, tmp_path / "elsewhere")
    if placed:
        (project / "IMPROVEMENT.md").write_text(placed)
    with gateway.transaction(home, actor="next", message="Next", now=now) as edits:
        edits.write("MEMORY.md", edits.text("MEMORY.md") + "\nNext.\n")
    assert edits.outcome.waiting == ()
    assert run_git(project, "show", "HEAD:IMPROVEMENT.md") == "# orion\n\n- doomed"
    assert run_git(home.root, "ls-files", "--", "Projects/orion/IMPROVEMENT.md") == ""
    assert not waiting_texts(home)
    assert set_aside.waiting(home) == []
