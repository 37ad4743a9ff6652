"""Writers that are killed: what was acknowledged is there, the rest is whole or absent, and the next one goes on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Self

import pytest

from agent_home.documents.check import problems
from agent_home.documents.document import parse
from agent_home.errors import HistoryError
from agent_home.git import commits
from agent_home.home import Home
from agent_home.lock import hold
from agent_home.store.gateway import transaction
from agent_home.store.recovery import recover
from recall.index.sync import sync
from recall.index.verify import verify
from recall.settings import RecallSettings
from tests.doomed import Child, ForkServer

from ..conftest import AddEntry, Git, titles

WRITERS, ENTRIES = 8, 30

#: Appends entries and says each one that is stored. Arguments: home, name, how many.
WRITER = """
import sys
from pathlib import Path
from agent_home.documents.entry import Entry
from agent_home.store.gateway import transaction
from agent_home.home import Home
home, name, count = Home(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
for number in range(count):
    title = f"{name}-{number}"
    with transaction(home, actor=name, message=f"Add {title}", timeout_s=300) as edits:
        entry = Entry(id=edits.new_id("KD", title), date="2026-11-21", title=title, body="正文 " * 20)
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", entry))
    print(title, flush=True)
"""

#: Changes two files and removes a third in one transaction, and kills itself at a named step.
DOOMED = """
import sys
from pathlib import Path
from agent_home.store import gateway, recovery
from agent_home.git.client import GitClient
from agent_home import storage
from agent_home.documents.entry import Entry
from agent_home.home import Home
from tests.doomed import dying, git_command, into
home, step = Home(Path(sys.argv[1])), sys.argv[2]

STEPS = {
    "before staging": dying(storage, "stage", before=True),
    "after staging one file": dying(storage, "stage", when=into("staging")),
    "after staging two files": dying(storage, "stage", when=into("staging"), after=2),
    "before the redo record": dying(storage, "replace", before=True, when=into("redo.json")),
    "after the redo record": dying(storage, "replace", when=into("redo.json")),
    "before the commit": dying(GitClient, "change", before=True, when=git_command("fast-import")),
    "after the commit": dying(GitClient, "change", when=git_command("fast-import")),
    "after the first file": dying(storage, "replace", when=lambda staged, target: "redo" not in str(target)),
    "after the second file": dying(
        storage, "replace", when=lambda staged, target: "redo" not in str(target), after=2),
    "before the removed file goes": dying(storage, "remove", before=True),
    "after the removed file": dying(storage, "remove"),
    "before the staging area": dying(GitClient, "change", before=True, when=git_command("update-index")),
    "after the staging area": dying(GitClient, "change", when=git_command("update-index")),
    "before the audit line": dying(recovery, "audit", before=True),
    "before the redo record is removed": dying(recovery, "audit"),
}
STEPS[step]()
with gateway.transaction(home, actor="doomed", message="Doomed", session="s-1") as edits:
    entry = Entry(id=edits.new_id("KD", "doomed"), date="2026-11-21", title="doomed")
    edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", entry))
    edits.write("Projects/p/PROJECT.md", "# Doomed\\n")
    edits.write("BOOTSTRAP.md", "")
print("acknowledged", flush=True)
"""
#: Steps after which the transaction will happen, however the writer ended.
PROMISED = (
    "after the redo record", "before the commit", "after the commit", "after the first file", "after the second file",
    "before the removed file goes", "after the removed file", "before the staging area", "after the staging area",
    "before the audit line", "before the redo record is removed",
)  # fmt: skip
LOST = ("before staging", "after staging one file", "after staging two files", "before the redo record")


def kill(process: Child) -> str:
    """Kill the process group. Return what the process had acknowledged."""
    process.kill_group()
    return process.communicate()[0]


class Reader:
    """Reads a file over and over while others write, and remembers the first reading that was not whole."""

    def __init__(self, path: Path) -> None:
        self.path, self.readings, self.broken = path, 0, ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _loop(self) -> None:
        while not self._stop.wait(0.05):
            data = self.path.read_bytes()
            self.readings += 1
            text = data.decode()
            whole = text.endswith("\n") and text.startswith("# Memory\n") and "\n## Recent Context\n" in text
            if not (whole and text.count("\n- **[KD-") == len(list(parse(text).entries()))) and not self.broken:
                self.broken = text[-300:]


def assert_sound(home: Home, git: Git) -> None:
    """Assert that the repository agrees with the files, that no entry is there twice, and that nothing is half done."""
    assert "error" not in git("fsck", "--full", "--strict")
    assert problems(home) == []
    assert len(titles(home.root)) == len(set(titles(home.root)))
    assert git("status", "--porcelain") == ""
    assert not (home.machine / "redo.json").exists()
    assert not (home.machine / "committing").exists()
    committed = git("show", "HEAD:MEMORY.md")
    assert committed == (home.root / "MEMORY.md").read_text()


@pytest.mark.slow
def test_eight_processes_at_once_lose_nothing(home: Home, git: Git, forks: ForkServer) -> None:
    with Reader(home.root / "MEMORY.md") as reader:
        writers = [forks.start(WRITER, str(home.root), f"w{number}", str(ENTRIES)) for number in range(WRITERS)]
        said = [writer.communicate() for writer in writers]
    assert [error for _, error in said if error] == []
    acknowledged = {title for out, _ in said for title in out.split()}
    assert acknowledged == {f"w{w}-{n}" for w in range(WRITERS) for n in range(ENTRIES)}
    assert set(titles(home.root)) == acknowledged
    assert int(git("rev-list", "--count", "HEAD")) == WRITERS * ENTRIES + 1
    assert reader.readings > 10
    assert reader.broken == ""
    assert_sound(home, git)
    sync(home, RecallSettings(), None)
    assert verify(home, RecallSettings()).ok


@pytest.mark.slow
def test_eight_processes_killed_at_random_lose_nothing_that_was_acknowledged(
    home: Home, git: Git, add_entry: AddEntry, forks: ForkServer
) -> None:
    chance = random.Random(20261121)  # noqa: S311
    acknowledged: set[str] = set()
    started, kills = 0, 0
    with Reader(home.root / "MEMORY.md") as reader:
        running: list[tuple[Child, float]] = []
        while started < 24 or running:
            while len(running) < WRITERS and started < 24:
                doomed = started % 4 != 3
                ends = time.monotonic() + (0.05 + chance.random() if doomed else 1000)
                running.append((forks.start(WRITER, str(home.root), f"w{started}", "6"), ends))
                started += 1
            time.sleep(0.01)
            for process, ends in list(running):
                if process.poll() is not None or time.monotonic() > ends:
                    kills += process.poll() is None
                    acknowledged |= {line for line in kill(process).splitlines() if "-" in line}
                    running.remove((process, ends))
    add_entry("after all")  # finishes what the last one killed left
    assert kills > 0
    assert acknowledged | {"after all"} <= set(titles(home.root))
    assert reader.broken == ""
    assert_sound(home, git)
    sync(home, RecallSettings(), None)
    assert verify(home, RecallSettings()).ok
    counted = int(git("rev-list", "--count", "HEAD"))
    assert counted == len(titles(home.root)) + 1  # one commit for each entry, and the first


@pytest.mark.parametrize("step", [*LOST, *PROMISED])
def test_a_writer_killed_at_a_step_leaves_all_or_nothing(
    home: Home, git: Git, add_entry: AddEntry, forks: ForkServer, step: str
) -> None:
    add_entry("before")
    doomed = forks.run(DOOMED, str(home.root), step)
    assert doomed.returncode == -signal.SIGKILL, doomed.stderr
    assert doomed.stdout == ""
    add_entry("next")
    there = step in PROMISED
    assert titles(home.root) == (["next", "doomed", "before"] if there else ["next", "before"])
    assert (home.root / "Projects/p/PROJECT.md").exists() == there
    assert (home.root / "BOOTSTRAP.md").exists() != there
    subjects = git("log", "--format=%s|%(trailers:key=Session,valueonly,separator=)").splitlines()
    assert subjects[:-1] == ["Add next|", *["Doomed|s-1"] * there, "Add before|"]
    if there:
        assert git("show", "--format=", "--name-only", "HEAD~1").split() == [
            "BOOTSTRAP.md", "MEMORY.md", "Projects/p/PROJECT.md",
        ]  # fmt: skip
    assert_sound(home, git)


@pytest.mark.parametrize("moment", ["pre-commit of ours", "refs/heads/main.lock", "index.lock", "HEAD.lock"])
def test_a_writer_killed_inside_git_commit_is_recovered(
    home: Home, git: Git, add_entry: AddEntry, forks: ForkServer, tmp_path: Path, moment: str
) -> None:
    add_entry("before")
    doomed = _killed_inside_git(forks, home, tmp_path, moment)
    assert doomed == ""
    add_entry("next")
    assert titles(home.root) == ["next", "w-0", "before"]
    assert git("log", "--format=%s").splitlines()[:2] == ["Add next", "Add w-0"]
    assert_sound(home, git)


def test_a_writer_killed_while_it_commits_what_a_person_edited_is_recovered(
    home: Home, git: Git, add_entry: AddEntry, forks: ForkServer, tmp_path: Path
) -> None:
    add_entry("before")
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace(" before\n", " before by hand\n"))
    assert _killed_inside_git(forks, home, tmp_path, "index.lock") == ""
    assert (home.root / ".git" / "index.lock").exists()
    add_entry("next")
    assert titles(home.root) == ["next", "before by hand"]
    assert git("log", "--format=%s").splitlines()[:2] == ["Add next", "Record edits made by hand in MEMORY.md"]
    assert_sound(home, git)


def _killed_inside_git(forks: ForkServer, home: Home, tmp_path: Path, moment: str, nth: int = 1) -> str:
    """Run a writer whose git, at its *nth* commit, makes the lock and kills the whole group.

    Returns what the writer had acknowledged.
    """
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    lock = "" if moment.startswith("pre-commit") else f'touch "{home.root}/.git/{moment}"'
    (bin_ / "git").write_text(
        f'#!/bin/sh\nfor word in "$@"; do if [ "$word" = fast-import ]; then {lock or ":"}; kill -9 0; fi; done\n'
        f'exec "{real}" "$@"\n'
    )
    (bin_ / "git").chmod(0o755)
    path = f"{bin_}{os.pathsep}{os.environ['PATH']}"
    done = forks.run(WRITER, str(home.root), "w", str(nth), PATH=path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return done.stdout


def test_what_a_person_changed_after_the_crash_is_merged_with_our_text(
    home: Home, git: Git, add_entry: AddEntry, forks: ForkServer
) -> None:
    doomed = forks.run(DOOMED, str(home.root), "after the redo record")
    assert doomed.returncode == -signal.SIGKILL, doomed.stderr
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace("# Memory\n", "# Memory\n\nBy hand.\n"))
    add_entry("next")
    assert titles(home.root) == ["next", "doomed"]
    assert "By hand." in path.read_text()
    assert not (home.machine / "recovered").exists()
    assert git("log", "--format=%s").splitlines()[:3] == [
        "Add next",
        "Record edits made by hand in MEMORY.md",
        "Doomed",
    ]
    assert "By hand." not in git("show", "HEAD~2:MEMORY.md")
    assert_sound(home, git)


def test_what_cannot_be_merged_after_the_crash_is_left_alone_and_our_text_is_kept(
    home: Home, git: Git, add_entry: AddEntry, forks: ForkServer
) -> None:
    doomed = forks.run(DOOMED, str(home.root), "after the redo record")
    assert doomed.returncode == -signal.SIGKILL, doomed.stderr
    path = home.root / "MEMORY.md"
    mine = path.read_text() + "\n```\nnever closed\n"
    path.write_text(mine)
    with hold(home.lock):
        assert recover(home)
    assert path.read_text() == mine
    (kept,) = (home.machine / "recovered").iterdir()
    assert "doomed" in kept.read_text()
    assert "doomed" in git("show", "HEAD:MEMORY.md")
    assert (home.root / "Projects/p/PROJECT.md").read_text() == "# Doomed\n"


LEFTOVERS = (
    "index.lock", "packed-refs.lock", "config.lock", "HEAD.lock", "next-index-12.lock", "refs/heads/main.lock",
    "objects/ab/tmp_obj_xyz", "objects/pack/tmp_pack_1", "fast_import_crash_77",
)  # fmt: skip


def leave(home: Home, *names: str) -> list[Path]:
    """Make files in git's folder as a writer that was killed a while ago leaves them, with its mark."""
    paths = [home.root / ".git" / name for name in names]
    for path in (*paths, home.machine / "committing"):
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (time.time() - 100, time.time() - 100))
    return paths


def test_what_a_killed_git_left_is_removed_and_what_a_person_holds_is_not(
    home: Home, git: Git, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_entry("before")
    (theirs,) = (home.root / ".git" / name for name in ["MERGE_RR.lock"])
    theirs.touch()
    left = leave(home, *LEFTOVERS)
    add_entry("next")
    assert [path.name for path in left if path.exists()] == []
    assert theirs.exists()  # it is younger than the crash
    theirs.unlink()
    assert_sound(home, git)
    (lock,) = leave(home, "index.lock")
    monkeypatch.setattr(commits, "GIT_LOCK_WAIT_S", 0.2)
    running = subprocess.Popen(["git", "cat-file", "--batch"], cwd=home.root, stdin=subprocess.PIPE)
    try:
        with pytest.raises(HistoryError, match=r"index\.lock"):
            add_entry("waits")
        assert lock.exists()
    finally:
        running.communicate()


def test_a_lock_of_the_first_of_two_killed_writers_is_removed_in_time(
    home: Home, git: Git, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_entry("before")
    (lock,) = leave(home, "index.lock")
    moment = time.time()
    for path in (lock, home.machine / "committing"):
        os.utime(path, (moment, moment))
    monkeypatch.setattr(commits, "GIT_LOCK_WAIT_S", 0.1)
    with pytest.raises(HistoryError, match=r"index\.lock"):
        add_entry("second")
    assert (home.machine / "committing").stat().st_mtime == pytest.approx(moment)
    for path in (lock, home.machine / "committing"):
        os.utime(path, (moment - 100, moment - 100))
    add_entry("third")
    assert titles(home.root) == ["third", "second", "before"]
    assert_sound(home, git)


def test_a_lock_that_no_commit_needs_is_removed_once_it_is_old(home: Home, git: Git, add_entry: AddEntry) -> None:
    add_entry("before")
    (lock,) = leave(home, "config.lock")
    moment = time.time()
    for path in (lock, home.machine / "committing"):
        os.utime(path, (moment, moment))
    add_entry("second")
    assert lock.exists()  # it is too young to be known as ours, and commits do not need it
    os.utime(lock, (moment - 30, moment - 30))
    os.utime(home.machine / "committing", (moment - 30, moment - 30))
    add_entry("third")
    assert not lock.exists()
    assert not (home.machine / "committing").exists()
    assert_sound(home, git)


def test_locks_of_the_last_of_several_killed_writers_are_removed(home: Home, git: Git, add_entry: AddEntry) -> None:
    add_entry("before")
    first, last = time.time() - 300, time.time() - 10
    left = leave(home, "packed-refs.lock", "HEAD.lock")
    mark = home.machine / "committing"
    mark.write_text(f"{first} {last}", "utf-8")
    for path, moment in zip((*left, mark), (first, last, first), strict=True):
        os.utime(path, (moment, moment))
    add_entry("next")
    assert [path.name for path in left if path.exists()] == []
    assert_sound(home, git)


def test_a_pending_write_whose_first_commit_is_gone_is_completed(
    home: Home, git: Git, add_entry: AddEntry, forks: ForkServer
) -> None:
    add_entry("before")
    doomed = forks.run(DOOMED, str(home.root), "after the redo record")
    assert doomed.returncode == -signal.SIGKILL, doomed.stderr
    git("-c", "user.name=P", "-c", "user.email=p@localhost", "commit", "--amend", "--no-verify", "-qm", "x")
    git("reflog", "expire", "--expire=now", "--all")
    git("gc", "--quiet", "--prune=now")
    add_entry("next")
    assert titles(home.root) == ["next", "doomed", "before"]
    assert_sound(home, git)


def test_what_a_person_reverted_after_the_crash_stays_reverted(
    home: Home, git: Git, add_entry: AddEntry, forks: ForkServer
) -> None:
    doomed = forks.run(DOOMED, str(home.root), "before the redo record is removed")
    assert doomed.returncode == -signal.SIGKILL, doomed.stderr
    git("-c", "user.name=P", "-c", "user.email=p@localhost", "revert", "--no-edit", "HEAD")
    add_entry("next")
    assert titles(home.root) == ["next"]
    assert_sound(home, git)


def test_a_recovery_that_is_killed_is_recovered(home: Home, git: Git, add_entry: AddEntry, forks: ForkServer) -> None:
    for step in ("after the first file", "before the staging area", "before the redo record is removed"):
        forks.run(DOOMED, str(home.root), step)  # each but the first recovers the one before, or dies in it
    with transaction(home, actor="test", message="m"):
        pass
    add_entry("next")
    assert titles(home.root)[0] == "next"
    assert_sound(home, git)
