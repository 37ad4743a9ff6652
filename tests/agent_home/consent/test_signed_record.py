"""A record counts on the machine and in the home for which it was made."""

from __future__ import annotations

from pathlib import Path

from agent_home import storage
from agent_home.consent.signed_record import read_record, try_write_record, write_record


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = {"keys": ["ä", "\udc80"], "n": 1}
    assert read_record(tmp_path, "x") is None
    write_record(tmp_path, "x", record)
    assert read_record(tmp_path, "x") == record
    assert read_record(tmp_path, "y") is None


def test_an_equal_record_is_not_written_again(tmp_path: Path) -> None:
    write_record(tmp_path, "x", {"n": 1})
    before = (tmp_path / "x.json").stat().st_mtime_ns
    write_record(tmp_path, "x", {"n": 1})
    assert (tmp_path / "x.json").stat().st_mtime_ns == before


def test_a_record_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    storage.stage(tmp_path / "file", b"")
    try_write_record(tmp_path / "file", "x", {"n": 1})
    assert read_record(tmp_path / "file", "x") is None
