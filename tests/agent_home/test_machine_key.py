"""Tests of the machine key: one for each user and machine, for its owner alone, and never guessed at."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent_home.errors import MachineKeyUnusable
from agent_home.machine_key import adopt_key, key_path, machine_key, sign, state_folder, verify


def test_the_key_is_made_once_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "agent-home"
    before = os.umask(0)
    try:
        key = machine_key(folder)
    finally:
        os.umask(before)
    assert (len(key), machine_key(folder)) == (32, key)
    assert (key_path(folder).stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_signature_holds_for_its_purpose_data_and_machine_alone(tmp_path: Path) -> None:
    mac = sign("redo", b"data", folder=tmp_path)
    assert verify("redo", b"data", mac, folder=tmp_path)
    assert not verify("redo", b"other", mac, folder=tmp_path)
    assert not verify("red", b"odata", mac, folder=tmp_path)
    machine_key(tmp_path / "elsewhere")
    assert not verify("redo", b"data", mac, folder=tmp_path / "elsewhere")


@pytest.mark.parametrize("mac", [None, 1, "", "0" * 64, "\u00e9", b"x", ["x"]])
def test_what_is_no_signature_is_not_verified(tmp_path: Path, mac: object) -> None:
    machine_key(tmp_path)
    assert not verify("redo", b"data", mac, folder=tmp_path)


def test_verifying_without_a_key_makes_none_and_verifies_nothing(tmp_path: Path) -> None:
    assert not verify("redo", b"data", "0" * 64, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "spoil",
    [_link, lambda path: os.link(path, path.with_name("second")), lambda path: path.write_bytes(b"short")],
    ids=["link", "second name", "short"],
)
def test_a_key_that_somebody_could_have_planted_is_not_used(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    mac = sign("redo", b"data", folder=tmp_path)
    spoil(key_path(tmp_path))
    assert not verify("redo", b"data", mac, folder=tmp_path)
    with pytest.raises(MachineKeyUnusable, match="Remove it"):
        machine_key(tmp_path)


def test_a_key_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    key = machine_key(tmp_path)
    key_path(tmp_path).chmod(0o644)
    assert machine_key(tmp_path) == key
    assert key_path(tmp_path).stat().st_mode & 0o777 == 0o600


def test_a_state_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineKeyUnusable, match="cannot be"):
        machine_key(tmp_path / "file" / "state")


def test_processes_that_start_together_get_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(machine_key, [tmp_path] * 32))) == 1


def test_the_state_folder_can_be_moved_by_the_environment(tmp_path: Path) -> None:
    assert state_folder({"AGENT_HOME_STATE": str(tmp_path)}) == tmp_path
    assert state_folder({}).name == "agent-home"


def test_a_key_of_others_is_adopted_where_there_is_none(tmp_path: Path) -> None:
    assert adopt_key(b"a" * 32, tmp_path / "new")
    assert machine_key(tmp_path / "new") == b"a" * 32
    assert adopt_key(b"a" * 32, tmp_path / "new")
    assert not adopt_key(b"b" * 32, tmp_path / "new")
    assert machine_key(tmp_path / "new") == b"a" * 32
    assert stat.S_IMODE(key_path(tmp_path / "new").stat().st_mode) == 0o600
    with pytest.raises(MachineKeyUnusable, match="would get 3 bytes"):
        adopt_key(b"abc", tmp_path / "other")
