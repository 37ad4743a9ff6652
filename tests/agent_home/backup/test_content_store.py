"""A content is stored once, under its digest, and is whole or not there."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from agent_home.backup.content_store import ContentStore
from agent_home.backup.errors import BackupRefused


def test_a_content_is_stored_once(tmp_path: Path) -> None:
    store = ContentStore(tmp_path)
    digest, size = store.add([b"ab", b"c"])
    assert (digest, size) == (hashlib.sha256(b"abc").hexdigest(), 3)
    assert store.add([b"abc"]) == (digest, 3)
    assert [path.name for path in (tmp_path / "contents").rglob("*") if path.is_file()] == [digest]
    assert store.written == {digest: 3}
    assert store.settle() == []


def test_what_is_read_back_otherwise_is_named(tmp_path: Path) -> None:
    store = ContentStore(tmp_path)
    digest, _ = store.add([b"abc"])
    store.path(digest).write_bytes(b"abd")
    assert store.settle() == [digest]
    assert ContentStore(tmp_path).problem(digest, 3) == "is not what was backed up"
    store.path(digest).write_bytes(b"ab")
    assert ContentStore(tmp_path).problem(digest, 3) == "has 2 bytes and should have 3"
    store.path(digest).unlink()
    assert ContentStore(tmp_path).problem(digest, 3) == "is missing"


def test_an_error_while_a_content_is_read_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> object:
        yield b"abc"
        raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        ContentStore(tmp_path).add(broken())  # type: ignore[arg-type]
    assert list((tmp_path / "contents").iterdir()) == []


def test_others_are_dropped(tmp_path: Path) -> None:
    store = ContentStore(tmp_path)
    kept, _ = store.add([b"kept"])
    store.add([b"dropped"])
    (tmp_path / "contents" / ".0123456789abcdef.tmp").write_bytes(b"of a killed writer")
    assert store.drop_others({kept}) == 2
    assert [path.name for path in (tmp_path / "contents").rglob("*") if path.is_file()] == [kept]


def test_nothing_is_written_or_deleted_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    digest = hashlib.sha256(b"abc").hexdigest()
    (tmp_path / "contents").mkdir()
    (tmp_path / "contents" / digest[:2]).symlink_to(outside)
    store = ContentStore(tmp_path)
    with pytest.raises(BackupRefused, match="is a link"):
        store.add([b"abc"])
    store.drop_others(set())
    assert [path.name for path in outside.iterdir()] == ["file"]
