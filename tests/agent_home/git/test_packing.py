"""Loose objects become one pack, beside writers, and a killed packing leaves nothing that stays."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.errors import GitTimeout, HistoryError, Locked
from agent_home.forgetting.purge import purge
from agent_home.forgetting.redaction_target import RedactionTarget
from agent_home.forgetting.text_matcher import Phrase
from agent_home.git import packing
from agent_home.home import Home
from agent_home.lock import hold

from ..conftest import Git

HERON = RedactionTarget((Phrase("blue heron"),), name="f-0a1b2c3d")


def loosen(home: Home, number: int = packing.LEAST_LOOSE) -> None:
    """Make loose objects that no branch reaches, and one commit with a text."""
    paths = []
    for at in range(number):
        paths.append(home.machine / f"loose-{at}")
        paths[-1].write_text(f"text {at}")
    subprocess.run(
        ["git", "hash-object", "-w", "--stdin-paths"], cwd=home.root, check=True, capture_output=True,
        input="".join(f"{path}\n" for path in paths).encode(),
    )  # fmt: skip
    for path in paths:
        path.unlink()


def commit(home: Home, git: Git, count: int, text: str = "blue heron") -> None:
    """Make *count* commits of a file, with three loose objects each."""
    stream = b""
    for at in range(count):
        said = f"{text} {at}\n".encode()
        stream += b"commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 1\nx\n" % (1_700_000_000 + at)
        stream += b"from refs/heads/main^0\n" if at == 0 else b""
        stream += b"M 100644 inline Knowledge/k.md\ndata %d\n%s\n" % (len(said), said)
    subprocess.run(
        ["git", "-c", "fastimport.unpackLimit=100000", "fast-import", "--quiet"], cwd=home.root, input=stream,
        check=True, capture_output=True,
    )  # fmt: skip
    git("checkout", "-q", "HEAD", "--", "Knowledge/k.md")


@contextmanager
def running(home: Home, command: str) -> Iterator[None]:
    """Let a process run that looks like a git command in the home."""
    program = home.machine / "git"
    program.symlink_to(sys.executable)
    process = subprocess.Popen([program, "-c", "import time; print(flush=True); time.sleep(60)", command],
                               cwd=home.root, stdout=subprocess.PIPE)  # fmt: skip
    assert process.stdout
    process.stdout.readline()
    try:
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        program.unlink()


def test_commits_become_one_pack_and_nothing_is_lost(home: Home, git: Git, now: datetime) -> None:
    commit(home, git, 110)
    git("branch", "proposals/KD-7F3A", "HEAD~3")
    (home.root / "staged.md").write_text("staged, in no commit yet\n")
    git("add", "staged.md")
    before = git("rev-list", "--all", "--objects")
    assert packing.pack(home, now)
    state = packing.inspect(home)
    assert state.loose <= 1
    assert state.packs == 1
    assert git("rev-list", "--all", "--objects") == before
    assert git("show", ":staged.md") == "staged, in no commit yet\n"
    git("fsck", "--full", "--strict")


def test_few_objects_are_left_alone(home: Home, git: Git, now: datetime) -> None:
    commit(home, git, 5)
    before = packing.inspect(home)
    assert packing.pack(home, now) == ""
    assert packing.inspect(home) == before


def test_objects_that_no_branch_reaches_stay_and_are_no_reason_to_pack_again(
    home: Home, git: Git, now: datetime
) -> None:
    loosen(home)
    assert packing.pack(home, now)
    assert packing.inspect(home).loose >= packing.LEAST_LOOSE
    assert packing.pack(home, now) == ""


def test_many_packs_are_united_with_what_no_branch_reaches(
    home: Home, git: Git, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "MOST_PACKS", 1)
    monkeypatch.setattr(packing, "LEAST_LOOSE", 1)
    for at in range(2):
        commit(home, git, 1, f"text {at}")
        git("repack", "-d", "-q")
    lost = git("rev-parse", "HEAD").strip()
    git("reset", "-q", "--hard", "HEAD~1")
    git("reflog", "expire", "--expire=all", "--all")
    assert packing.pack(home, now)
    assert packing.inspect(home).packs == 1
    assert git("cat-file", "-t", lost) == "commit\n"


@pytest.mark.parametrize("setting", ["gc.auto=0", "maintenance.auto=false"])
def test_a_person_may_turn_packing_off(home: Home, git: Git, now: datetime, setting: str) -> None:
    loosen(home)
    git("config", *setting.split("="))
    assert packing.pack(home, now) == ""
    assert packing.inspect(home).off == setting.replace("=", " = ")


def test_the_threshold_of_a_person_counts(home: Home, git: Git, now: datetime) -> None:
    loosen(home)
    git("config", "gc.auto", "6700")
    assert packing.pack(home, now) == ""


def test_nothing_is_packed_beside_a_packing_of_a_person(home: Home, now: datetime) -> None:
    loosen(home)
    with running(home, "repack"):
        assert packing.pack(home, now) == ""


def test_a_packing_that_takes_too_long_changes_nothing(home: Home, git: Git, now: datetime) -> None:
    commit(home, git, 110)
    before = packing.inspect(home)
    with pytest.raises((GitTimeout, HistoryError)):
        packing.pack(home, now, timeout_s=0)
    while (home.machine / "packing").exists():  # git's own child may still run
        packing.remove_unfinished(home)
        time.sleep(0.02)
    assert packing.inspect(home).packs in {before.packs, 1}
    git("fsck", "--full")
    assert packing._temporary(home) == []


def test_what_a_killed_packing_left_is_removed_by_the_next_one(home: Home, git: Git, now: datetime) -> None:
    (home.machine / "packing").touch()
    folder = home.root / ".git" / "objects" / "pack"
    folder.mkdir(exist_ok=True)
    for name in ("tmp_pack_ab12", ".tmp-77-pack-00.pack"):
        (folder / name).write_text("half a pack")
    older = folder / "tmp_pack_of_another"
    older.write_text("half a pack")
    os.utime(older, (1, 1))
    assert packing.pack(home, now) == ""
    assert [path.name for path in folder.iterdir()] == ["tmp_pack_of_another"]
    assert not (home.machine / "packing").exists()


def test_a_forgotten_text_is_in_no_pack_and_in_no_half_pack(home: Home, git: Git, now: datetime) -> None:
    commit(home, git, 110)
    assert packing.pack(home, now)
    half = home.root / ".git" / "objects" / "pack" / ".tmp-77-pack-00.pack"
    half.write_text("blue heron")
    purge(home, HERON)
    assert not half.exists()
    listing = ["git", "cat-file", "--batch-all-objects", "--batch"]
    everything = subprocess.run(listing, cwd=home.root, check=True, capture_output=True).stdout
    assert b"heron" not in everything


def test_a_purge_waits_for_a_packing(home: Home, git: Git) -> None:
    with hold(home.machine / "packing.lock"), pytest.raises(Locked), packing.no_packing(home, 0.05):
        pass
    with running(home, "pack-objects"), pytest.raises(HistoryError, match="pack-objects"):  # noqa: SIM117
        with packing.no_packing(home, 0.05):
            pass


def test_nothing_is_packed_during_a_purge(home: Home, now: datetime) -> None:
    loosen(home)
    with packing.no_packing(home), pytest.raises(Locked):
        packing.pack(home, now)


def test_unreadable_records_do_not_stop_a_packing(home: Home, now: datetime) -> None:
    loosen(home)
    (home.machine / "packed.json").write_text("{")
    assert packing.pack(home, now)
    assert Path(home.machine / "packed.json").read_text().startswith('{"ts"')
