"""A manifest is read as it was written, or not at all."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.backup.errors import BackupDamaged
from agent_home.backup.manifest import (
    MANIFEST_NAME,
    BackupFile,
    BackupHistory,
    BackupManifest,
    BackupRef,
    StagedVersion,
    manifest_lines,
    read_manifest,
)
from agent_home.backup.safe_paths import path_problem

ONE = BackupManifest(
    home="0" * 32, name="Ada", made="2026-11-21T09:00:00+00:00", machine="/home/ada/agent/.git/agent-home",
    files={"MEMORY.md": BackupFile(path="MEMORY.md", size=3, digest="a" * 64, executable=True, mtime_ns=5)},
    links={"AGENTS.md": "AGENT.md"}, folders=("Knowledge/empty",),
    packs=(BackupFile(path=".git/history-1.pack", size=9, digest="b" * 64),),
    history=BackupHistory(
        head="refs/heads/main", refs=(BackupRef(name="refs/heads/main", id="c" * 40, kind="commit"),),
        stashes=("d" * 40,), staged=(StagedVersion(path="USER.md", mode="100644", id="e" * 40),),
    ),
    remotes={"origin": "https://example.com/x.git"}, own=True,
)  # fmt: skip


def write(folder: Path, manifest: BackupManifest) -> Path:
    path = folder / MANIFEST_NAME
    path.write_bytes(b"".join(manifest_lines(manifest)))
    return path


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    write(tmp_path, ONE)
    assert read_manifest(tmp_path) == ONE
    write(tmp_path, replace(ONE, history=None, packs=()))
    assert read_manifest(tmp_path) == replace(ONE, history=None, packs=())


def test_an_absent_manifest_is_no_error(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) is None


@given(names=st.sets(st.text(min_size=1, max_size=12).filter(lambda name: not path_problem(name) and "/" not in name)))
def test_any_name_comes_back(tmp_path_factory: pytest.TempPathFactory, names: set[str]) -> None:
    folder = tmp_path_factory.mktemp("names")
    files = {name: BackupFile(path=name, size=0, digest="a" * 64) for name in sorted(names)}
    write(folder, replace(ONE, files=files, links={}, folders=()))
    found = read_manifest(folder)
    assert found is not None
    assert found.files == files


def test_a_manifest_that_is_cut_off_or_changed_anywhere_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, ONE)
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    broken = [data[:cut] for cut in range(1, len(data), 97)]
    broken += [b"".join(lines[:-1]), b"".join([*lines[:2], *lines[3:]]), data.replace(b"Ada", b"Eva", 1), b"", data * 2]
    for text in broken:
        path.write_bytes(text)
        with pytest.raises(BackupDamaged, match="damaged manifest"):
            read_manifest(tmp_path)


def test_a_manifest_of_another_version_says_so(tmp_path: Path) -> None:
    path = write(tmp_path, ONE)
    data = b"".join(path.read_bytes().splitlines(keepends=True)[:-1]).replace(b'"version":2', b'"version":3')
    path.write_bytes(data + json.dumps({"seal": hashlib.sha256(data).hexdigest(), "mac": ""}).encode() + b"\n")
    with pytest.raises(BackupDamaged, match="version 3, and this program reads versions up to 2"):
        read_manifest(tmp_path)


def test_a_manifest_that_is_a_link_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, ONE)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BackupDamaged):
        read_manifest(tmp_path)


def test_a_manifest_of_another_key_is_not_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, ONE)
    monkeypatch.setenv("AGENT_HOME_STATE", str(tmp_path / "other"))
    assert read_manifest(tmp_path) == replace(ONE, own=False)
