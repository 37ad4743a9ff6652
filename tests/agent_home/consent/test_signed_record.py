"""A record counts on the machine and in the home for which it was made."""

from __future__ import annotations

from pathlib import Path

from agent_home import storage
from agent_home.consent.signed_record import moved_record, read_record, try_write_record, write_record


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


def test_a_record_moves_to_another_folder_if_it_counted_in_the_old_one(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    write_record(old, "x", {"n": 1})
    data = (old / "x.json").read_bytes()
    storage.stage(new / "x.json", data)
    assert read_record(new, "x") is None
    moved = moved_record(data, "x", start=str(old), machine=new)
    assert moved is not None
    storage.stage(new / "x.json", moved)
    assert read_record(new, "x") == {"n": 1}


def test_a_record_that_did_not_count_does_not_move(tmp_path: Path) -> None:
    write_record(tmp_path, "x", {"n": 1})
    data = (tmp_path / "x.json").read_bytes()
    for forged, name, start in (
        (data.replace(b"1", b"2", 1), "x", str(tmp_path)),
        (data, "y", str(tmp_path)),
        (data, "x", str(tmp_path / "elsewhere")),
        (b"[]", "x", str(tmp_path)),
        (b"\xff", "x", str(tmp_path)),
    ):
        assert moved_record(forged, name, start=start, machine=tmp_path / "new") is None
