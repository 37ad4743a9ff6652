"""Test where a home's socket lies, and names of sockets that are too long."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from agent_home.home import Home
from interfaces.service.forwarding.socket_place import short_path, socket_path


def test_the_socket_lies_in_the_machine_state_which_no_pull_reaches(home: Home) -> None:
    assert socket_path(home.root) == home.machine / "service.sock"
    assert ".git" in socket_path(home.root).parts


def test_a_linked_work_tree_has_a_socket_of_its_own(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "-C", str(home.root), "worktree", "add", "-q", str(other)], check=True, capture_output=True)
    assert socket_path(other) != socket_path(home.root)


def test_a_short_path_is_used_as_it_is(tmp_path: Path) -> None:
    path = Path("/tmp/s/service.sock")
    with short_path(path) as name:
        assert name == str(path)


@pytest.mark.parametrize("length", [97, 100, 107, 108, 150, 1000])
def test_a_socket_at_a_path_of_any_length_is_bound_and_reached(tmp_path: Path, length: int) -> None:
    folder = tmp_path
    while len(os.fsencode(folder / "service.sock")) < length:
        folder /= "x" * min(200, max(1, length - len(os.fsencode(folder / "service.sock")) - 1))
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "service.sock"
    before = len(list(Path("/proc/self/fd").iterdir()))
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        with short_path(place) as name:
            listener.bind(name)
        listener.listen(1)
        assert place.is_socket()
        with short_path(place) as name:
            client.connect(name)
    assert len(list(Path("/proc/self/fd").iterdir())) == before, "no descriptor stays open"


def test_a_long_path_in_a_missing_folder_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), short_path(tmp_path / ("x" * 200) / "service.sock"):
        pytest.fail("there is no such folder")
