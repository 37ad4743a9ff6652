"""Test that a change of the installed program is noticed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interfaces.service.forwarding import source_stamp
from interfaces.service.forwarding.source_stamp import SourceStamp


class Program:
    """A program in a folder, and the seconds that have passed."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.file = folder / "guard" / "text" / "visible.py"
        self.file.parent.mkdir(parents=True)
        self.file.write_text("x = 1\n")
        os.utime(self.file, ns=(10**18, 10**18))


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    made = Program(tmp_path)
    monkeypatch.setattr(source_stamp, "_ROOT", tmp_path)
    monkeypatch.setattr("interfaces.service.forwarding.source_stamp.time.monotonic", lambda: made.now)
    return made


def test_an_unchanged_program_is_never_changed(program: Program) -> None:
    stamp = SourceStamp()
    program.now = 1000
    assert not stamp.changed()


def test_a_file_that_was_written_again_is_noticed(program: Program) -> None:
    stamp = SourceStamp()
    os.utime(program.file, ns=(10**18 + 1, 10**18 + 1))
    program.now = 3
    assert stamp.changed()


def test_a_new_file_is_noticed_although_it_is_older(program: Program) -> None:
    stamp = SourceStamp()
    new = program.file.with_name("old.py")
    new.write_text("")
    os.utime(new, ns=(1, 1))
    program.now = 3
    assert stamp.changed()


def test_a_removed_file_is_noticed(program: Program) -> None:
    other = program.file.with_name("other.py")
    other.write_text("")
    os.utime(other, ns=(1, 1))
    stamp = SourceStamp()
    other.unlink()
    program.now = 3
    assert stamp.changed()


def test_what_is_no_source_is_not_looked_at(program: Program) -> None:
    stamp = SourceStamp()
    program.file.with_name("visible.pyc").write_text("")
    program.now = 3
    assert not stamp.changed()


def test_the_files_are_looked_at_every_two_seconds_at_most(program: Program) -> None:
    stamp = SourceStamp()
    program.file.unlink()
    program.now = 1.9
    assert not stamp.changed()
    program.now = 2.1
    assert stamp.changed()


def test_a_changed_program_stays_changed(program: Program) -> None:
    stamp = SourceStamp()
    os.utime(program.file, ns=(10**18 + 1, 10**18 + 1))
    program.now = 3
    assert stamp.changed()
    os.utime(program.file, ns=(10**18, 10**18))
    program.now = 10
    assert stamp.changed()


def test_every_installed_package_is_looked_at() -> None:
    installed = {path.parent.name for path in source_stamp._ROOT.glob("*/__init__.py")} - {"bench"}
    assert set(source_stamp._PACKAGES) == installed
