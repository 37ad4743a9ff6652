"""Sessions closed by processes that are killed at every step: the home is as if nobody had been killed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_home.documents import check
from agent_home.home import Home
from agent_home.store import transcript
from distill.close import close_all, unclosed
from tests.doomed import ForkServer

if TYPE_CHECKING:
    from .conftest import Repo, Talk

SESSIONS = 16

#: Forks a process for each kill: it closes all that waits, and kills itself with its git at one step. Each step comes
#: round again until every session is closed. Prints which step was hit how often. Arguments: home, present, spared one.
DOOMED = """
import gc, json, os, signal, sys
from datetime import datetime
from importlib import import_module
from pathlib import Path
from agent_home.store import closings, gateway, recovery, transcript
from agent_home.git.client import GitClient
from agent_home import storage
from agent_home.home import Home
from distill.close import close_all, unclosed
from tests.doomed import dying, git_command, into
closing = import_module("distill.close")
root, now = Path(sys.argv[1]), datetime.fromisoformat(sys.argv[2])

def memory(staged, target):
    return "redo" not in str(target)

STEPS = {
    "before the transcript is read": dying(transcript, "read", before=True, after=2),
    "before the summary": dying(closing, "compose", before=True),
    "before git is asked about claims": dying(closing, "find_evidence", before=True),
    "before the lock": dying(closing, "transaction", before=True),
    "after the daily section": dying(closing, "_add_to_daily_log"),
    "after the entries are placed": dying(closing, "place_candidates"),
    "before the guard": dying(gateway, "_finish", before=True),
    "before staging": dying(storage, "stage", before=True, when=into("staging")),
    "after staging one file": dying(storage, "stage", when=into("staging")),
    "before the redo record": dying(storage, "replace", before=True, when=into("redo.json")),
    "after the redo record": dying(storage, "replace", when=into("redo.json")),
    "before the commit": dying(GitClient, "change", before=True, when=git_command("fast-import")),
    "after the commit": dying(GitClient, "change", when=git_command("fast-import")),
    "after the first rename": dying(storage, "replace", when=memory),
    "after the second rename": dying(storage, "replace", when=memory, after=2),
    "before the staging area": dying(GitClient, "change", before=True, when=git_command("update-index")),
    "after the staging area": dying(GitClient, "change", when=git_command("update-index")),
    "before the audit line": dying(recovery, "audit", before=True),
    "before the redo record is removed": dying(recovery, "audit"),
    "before this machine's record": dying(closings, "record", before=True),
    "after this machine's record": dying(closings, "record"),
}
hits = dict.fromkeys(STEPS, 0)
# Nobody is killed in the other home. What its closings load and compute is there in each fork, but for the guard's
# verdicts, which are under the salt of a home.
undisturbed = close_all(Home(Path(sys.argv[3])), now=now)
gc.freeze()  # forks share the memory of what is there
while unclosed(Home(root)):
    for step, arm in STEPS.items():
        child = os.fork()
        if child == 0:
            os.setsid()
            arm()
            close_all(Home(root), now=now)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        hits[step] += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
print(json.dumps({"undisturbed": len(undisturbed.closed), "hits": hits}))
"""


@pytest.fixture
def filled(
    make_home: Callable[[Path], Home], make_repo: Callable[[str], Repo], talk: Talk, tmp_path: Path
) -> Callable[[str], Home]:
    """Makes a home in which sessions wait: new and repeated lessons, decisions, work that git knows."""
    repo = make_repo("work")
    repo.commit("Add the retry queue", {"queue.py": "def retry(): ...\n"}, when="2026-11-20T13:30:00+00:00")

    def make(name: str) -> Home:
        home = make_home(tmp_path / name)
        for number in range(SESSIONS):
            rows = [
                ("user", f"Decision: part {number} ships in week {number % 7}."),
                ("assistant", f"Lesson: warm the cache before load test {number % 5}."),
            ]
            if number % 10 == 3:
                rows.append(("assistant", "I added the retry queue in `queue.py`."))
            if number % 8 == 5:
                rows.append(("user", f"No, the gap is {number} percent, not {number + 1} percent."))
            session, day = f"s{number:02d}", f"2026-11-{1 + number // 3:02d}"
            messages = talk(*rows, session=session, cwd=str(repo.root) if number % 10 == 3 else "", day=day)
            transcript.append(home, session, messages, actor="test", now=datetime.fromisoformat(f"{day}T15:00+00:00"))
        return home

    return make


def files(home: Home) -> dict[str, bytes]:
    paths = (path for path in home.root.rglob("*") if path.is_file())
    return {home.relative(p): p.read_bytes() for p in paths if not home.relative(p).startswith((".git/", ".memory/"))}


def git(home: Home, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=home.root, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_closings_killed_at_every_step_end_as_undisturbed_ones(
    filled: Callable[[str], Home], now: datetime, forks: ForkServer
) -> None:
    spared, killed = filled("spared"), filled("killed")
    done = forks.run(DOOMED, str(killed.root), now.isoformat(), str(spared.root))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["undisturbed"] == SESSIONS
    hits: dict[str, int] = told["hits"]
    assert [step for step, number in hits.items() if number == 0] == []
    assert sum(hits.values()) > SESSIONS
    assert close_all(killed, now=now).failed == ()
    assert unclosed(killed) == []

    assert files(killed) == files(spared)
    assert git(killed, "rev-parse", "HEAD^{tree}") == git(spared, "rev-parse", "HEAD^{tree}")
    assert git(killed, "log", "--format=%B") == git(spared, "log", "--format=%B")
    assert git(killed, "status", "--porcelain") == ""
    assert "error" not in git(killed, "fsck", "--full", "--strict")
    assert check.problems(killed) == []
    assert not (killed.machine / "redo.json").exists()
