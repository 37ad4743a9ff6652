"""The write path beside a person's git: commands at the same time, other branches, filters."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_home.errors import HistoryError
from agent_home.git import commits, history
from agent_home.home import Home
from agent_home.store import recovery

from ..conftest import AddEntry, Git, titles


def test_what_git_converts_is_committed_converted(
    home: Home, git: Git, add_entry: AddEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_entry("old")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "persons-own"))
    git("config", "--global", "filter.crypt.clean", "tr a-z b-za")
    git("config", "--global", "filter.crypt.smudge", "tr b-za a-z")
    (home.root / ".gitattributes").write_text((home.root / ".gitattributes").read_text() + "MEMORY.md filter=crypt\n")
    outcome = add_entry("lobster")
    add_entry("next")
    assert "lobster" not in git("cat-file", "blob", "HEAD:MEMORY.md")
    assert "mpctufs" in git("cat-file", "blob", f"{outcome.commit}:MEMORY.md")
    assert titles(home.root) == ["next", "lobster", "old"]
    assert git("status", "--porcelain", "--", "MEMORY.md") == ""


def test_a_filter_of_the_repository_itself_stops_the_write(
    home: Home, git: Git, add_entry: AddEntry, tmp_path: Path
) -> None:
    old = add_entry("old")
    git("config", "filter.crypt.clean", f"touch {tmp_path / 'canary'}; tr a-z b-za")
    (home.root / ".gitattributes").write_text((home.root / ".gitattributes").read_text() + "MEMORY.md filter=crypt\n")
    with pytest.raises(HistoryError, match=r"MEMORY\.md is to be converted by the filter crypt"):
        add_entry("lobster")
    assert not (tmp_path / "canary").exists()
    assert git("rev-parse", "HEAD").strip() == old.commit
    assert titles(home.root) == ["old"]


PERSONS_COMMANDS = {
    "stash": ["stash"],
    "checkout": ["checkout", "--", "."],
    "commit": ["-c", "user.name=P", "-c", "user.email=p@localhost", "commit", "-qam", "Mine"],
    "reset": ["reset", "-q", "--hard"],
    "add": ["add", "--all"],
}


WHO = ["-c", "user.name=P", "-c", "user.email=p@localhost"]


def test_a_commit_with_an_open_editor_takes_no_write_back(
    home: Home, git: Git, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    add_entry("old")
    real, trees = commits.commit_texts, list[tuple[str, str]]()

    def begun_right_behind(*arguments: Any, **named: Any) -> str:
        made = real(*arguments, **named)
        index = shutil.copy(home.root / ".git" / "index", tmp_path)
        with monkeypatch.context() as other:
            other.setenv("GIT_INDEX_FILE", str(index))
            trees.append((git("rev-parse", "HEAD").strip(), git("write-tree").strip()))  # what `git commit` remembers
        return made

    with monkeypatch.context() as patch:
        patch.setattr(commits, "commit_texts", begun_right_behind)
        add_entry("new")
    ((parent, tree),) = trees
    git("update-ref", "refs/heads/main", git(*WHO, "commit-tree", "-p", parent, "-m", "Mine", tree).strip(), parent)
    assert "new" in git("show", "HEAD:MEMORY.md")
    assert git("status", "--porcelain", "--", "MEMORY.md") == ""


@pytest.mark.parametrize("staged", ["# Memory\n\nOnly staged.\n", ""])
@pytest.mark.parametrize("edited", [True, False])
def test_a_staged_version_that_is_nowhere_else_is_set_aside(
    home: Home, git: Git, add_entry: AddEntry, *, staged: str, edited: bool
) -> None:
    add_entry("old")
    path = home.root / "MEMORY.md"
    saved = path.read_text()
    path.write_text(staged or saved.replace("# Memory\n", "# Memory\n\nOnly staged.\n"))
    git("add", "MEMORY.md")
    path.write_text(saved.replace("# Memory\n", "# Memory\n\nOnly saved.\n") if edited else saved)
    add_entry("new")
    assert titles(home.root) == ["new", "old"]
    assert ("Only saved." in git("show", "HEAD:MEMORY.md")) == edited
    (kept,) = (home.machine / "recovered").iterdir()
    assert "Only staged." in kept.read_text()
    assert git("status", "--porcelain") == ""


def test_a_staged_version_that_says_nothing_else_is_not_asked_about(home: Home, git: Git, add_entry: AddEntry) -> None:
    add_entry("old")
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace("# Memory\n", "# Memory\n\nOne line.\n"))
    git("add", "MEMORY.md")
    path.write_text(path.read_text().replace("One line.\n", "One line.\nAnother.\n"))
    add_entry("new")
    assert not (home.machine / "recovered").exists()


PRUNE = """#!/bin/sh
# Deletes what no branch reached when it began, as `git prune --expire=now` does.
old=$(cat .git/refs/heads/main)
echo begun
while [ "$(cat .git/refs/heads/main)" = "$old" ]; do sleep 0.01; done
sleep 0.3
new=$(cat .git/refs/heads/main)
rm -f ".git/objects/$(echo "$new" | cut -c1-2)/$(echo "$new" | cut -c3-)"
"""


@pytest.mark.skipif(not Path("/proc/self/comm").exists(), reason="processes are read from /proc")
def test_a_prune_of_a_person_that_began_before_the_commit_deletes_nothing(
    home: Home, git: Git, add_entry: AddEntry, tmp_path: Path
) -> None:
    add_entry("old")
    script = tmp_path / "git"
    script.write_text(PRUNE)
    script.chmod(0o755)
    with subprocess.Popen([script, "prune"], cwd=home.root, stdout=subprocess.PIPE) as prune:
        assert prune.stdout is not None
        prune.stdout.readline()
        outcome = add_entry("new")
    add_entry("next")
    assert titles(home.root) == ["next", "new", "old"]
    assert git("log", "--format=%s", "-3").splitlines() == ["Add next", "Add new", "Add old"]
    assert git("rev-parse", "HEAD~1").strip() == outcome.commit
    assert "error" not in git("fsck", "--full", "--strict")


@pytest.mark.parametrize("what", ["HEAD", "HEAD^{tree}", "HEAD:MEMORY.md"])
def test_objects_that_go_right_behind_the_commit_are_not_taken_for_removed_files(
    home: Home, git: Git, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    add_entry("old")
    real, gone = commits.commit_texts, list[str]()

    def pruned(*arguments: Any, **named: Any) -> str:
        made = real(*arguments, **named)
        if not gone:
            gone.append(git("rev-parse", what).strip())
            (home.root / ".git" / "objects" / gone[0][:2] / gone[0][2:]).unlink()
        return made

    with monkeypatch.context() as patch:
        patch.setattr(commits, "commit_texts", pruned)
        outcome = add_entry("new")
    assert titles(home.root) == ["new", "old"]
    assert git("log", "--format=%s", "-2").splitlines() == ["Add new", "Add old"]
    assert git("rev-parse", "HEAD").strip() == outcome.commit
    assert "error" not in git("fsck", "--full", "--strict")


def test_a_newest_commit_that_is_gone_is_named_with_a_remedy_that_works(
    home: Home, git: Git, add_entry: AddEntry
) -> None:
    add_entry("old")
    newest = add_entry("new").commit or ""
    (home.root / ".git" / "objects" / newest[:2] / newest[2:]).unlink()
    with pytest.raises(HistoryError, match=r"bad object HEAD. .* run `git reset --soft HEAD@\{1\}` in "):
        add_entry("next")
    git("reset", "--soft", "HEAD@{1}")
    add_entry("next")
    assert titles(home.root) == ["next", "new", "old"]


@pytest.mark.parametrize("step", ["staging_area", "snapshot", "commit_texts", "stage_blobs"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("command", PERSONS_COMMANDS)
def test_a_git_command_of_a_person_beside_a_write_takes_nothing_away(
    home: Home, git: Git, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch, step: str, when: str, command: str
) -> None:
    add_entry("old")
    (home.root / "USER.md").write_text("# By hand\n")
    module = commits if hasattr(commits, step) else history
    real: Any = getattr(module, step)
    ran: list[int] = []

    def beside(*arguments: Any, **named: Any) -> Any:
        def interfere() -> None:
            if not ran:
                done = subprocess.run(["git", *PERSONS_COMMANDS[command]], cwd=home.root, check=False)
                ran.append(done.returncode)

        if when == "before":
            interfere()
        result = real(*arguments, **named)
        if when == "after":
            interfere()
        return result

    with monkeypatch.context() as patch:
        patch.setattr(module, step, beside)
        outcome = add_entry("new")
    assert (ran[0] == 0) == (step == "staging_area")  # behind it, git's own lock keeps the person's command out
    assert "new" in git("show", f"{outcome.commit}:MEMORY.md")
    assert "new" in git("show", "HEAD:MEMORY.md")
    assert titles(home.root) == ["new", "old"]
    assert git("status", "--porcelain", "--", "MEMORY.md") == ""


def test_a_stash_right_behind_a_commit_brings_no_old_files_back(
    home: Home, git: Git, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_entry("old")
    (home.root / "USER.md").write_text("# By hand\n")
    real = commits.commit_texts

    def stash_behind(*arguments: Any, **named: Any) -> str:
        made = real(*arguments, **named)
        for command in (["restore", "--source=HEAD~1", "--staged", "--worktree", "MEMORY.md"], ["stash"]):
            subprocess.run(["git", *command], cwd=home.root, check=False)
        return made

    with monkeypatch.context() as patch:
        patch.setattr(commits, "commit_texts", stash_behind)
        add_entry("new")
    subprocess.run(["git", "stash", "pop"], cwd=home.root, check=False)
    add_entry("next")
    assert titles(home.root) == ["next", "new", "old"]
    assert "By hand" in (home.root / "USER.md").read_text()


@pytest.mark.parametrize(
    ("where", "said"),
    [("--detach", "at a commit that is on no branch"), ("-c other", "on the branch other, and memory is kept on main")],
)
def test_another_branch_than_the_homes_own_is_refused_and_nothing_is_written(
    home: Home, git: Git, add_entry: AddEntry, where: str, said: str
) -> None:
    add_entry("old")
    git("switch", "--quiet", *where.split())
    head = git("rev-parse", "HEAD")
    with pytest.raises(HistoryError, match=f"{said}.*git switch main"):
        add_entry("lost")
    assert (git("rev-parse", "HEAD"), titles(home.root)) == (head, ["old"])
    assert not (home.machine / "redo.json").exists()
    git("switch", "--quiet", "main")
    add_entry("new")
    assert titles(home.root) == ["new", "old"]


def test_a_branch_that_was_renamed_is_still_the_homes_own(home: Home, git: Git, add_entry: AddEntry) -> None:
    add_entry("old")
    git("branch", "--move", "trunk")
    add_entry("new")
    assert git("log", "--format=%s", "-2", "trunk").splitlines() == ["Add new", "Add old"]


@pytest.mark.parametrize("renamed", [True, False])
def test_a_branch_whose_name_is_not_utf8_is_a_branch(home: Home, add_entry: AddEntry, *, renamed: bool) -> None:
    add_entry("old")
    how = [b"branch", b"--move"] if renamed else [b"switch", b"--quiet", b"--create"]
    subprocess.run([b"git", *how, b"caf\xe9"], cwd=home.root, check=True)
    if not renamed:
        with pytest.raises(HistoryError, match=r"is on the branch caf\\xe9, and memory is kept on main") as refused:
            add_entry("lost")
        str(refused.value).encode()
        return
    add_entry("new")
    add_entry("next")
    assert titles(home.root) == ["next", "new", "old"]
    assert (home.machine / "branch").read_bytes() == b"caf\xe9\n"


def test_a_crash_before_a_switch_waits_for_the_homes_branch(
    home: Home, git: Git, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_entry("old")
    with monkeypatch.context() as patch:
        patch.setattr(recovery, "complete", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            add_entry("new")
    git("switch", "--quiet", "-c", "other")
    with pytest.raises(HistoryError, match="git switch main"):
        add_entry("more")
    git("switch", "--quiet", "main")
    add_entry("more")
    assert titles(home.root) == ["more", "new", "old"]


def test_an_edit_beside_a_converted_write_is_set_aside_and_not_committed(
    home: Home, git: Git, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_entry("old")
    (home.root / ".gitattributes").write_text((home.root / ".gitattributes").read_text() + "MEMORY.md text eol=lf\n")
    path = home.root / "MEMORY.md"
    real = recovery.complete

    def edited_meanwhile(*arguments: Any) -> Any:
        path.write_text(path.read_text().replace("# Memory\n", "# Memory\n\nBy hand, unscreened.\n"))
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(recovery, "complete", edited_meanwhile)
        add_entry("new")
    assert "unscreened" not in git("show", "HEAD:MEMORY.md")
    assert "unscreened" in path.read_text()
    (kept,) = (home.machine / "recovered").iterdir()
    assert "new" in kept.read_text()
