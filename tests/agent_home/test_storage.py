"""Tests of durable files: a reader sees the old file or the new one, also after a failure of the disk."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home import storage
from agent_home.errors import DocumentInvalid


def test_an_absent_file_is_an_empty_text(tmp_path: Path) -> None:
    assert storage.read_text(tmp_path / "no.md") == ""


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_file_that_is_not_utf8_is_named_with_its_line(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "x.md"
    path.write_bytes(end.join([b"# a", "ü".encode(), b"caf\xe9", b"z"]))
    with pytest.raises(DocumentInvalid, match=r"x\.md:3: is not UTF-8") as caught:
        storage.read_text(path)
    assert (caught.value.line, caught.value.rule) == (3, "not-utf8")


def test_line_ends_and_byte_order_marks_are_kept(tmp_path: Path) -> None:
    text = "\ufeffa\r\nb\rc\n\x0c\u2028"
    (tmp_path / "x.md").write_bytes(text.encode())
    assert storage.read_text(tmp_path / "x.md") == text


def test_replacing_keeps_the_mode_of_the_file(tmp_path: Path) -> None:
    target = tmp_path / "MEMORY.md"
    target.write_text("old")
    target.chmod(0o640)
    storage.stage(tmp_path / "staged", b"new")
    storage.replace(tmp_path / "staged", target)
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert not (tmp_path / "staged").exists()


def test_appending_returns_where_the_new_lines_begin(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "x.jsonl"
    assert storage.append(path, b"one\n") == 0
    assert storage.append(path, b"two\nthree\n") == 4
    assert path.read_bytes() == b"one\ntwo\nthree\n"


@given(
    whole=st.lists(st.binary(max_size=50).map(lambda b: b.replace(b"\n", b"")), max_size=5),
    half=st.binary(max_size=200),
)
def test_an_incomplete_last_line_is_truncated(
    tmp_path_factory: pytest.TempPathFactory, whole: list[bytes], half: bytes
) -> None:
    half = half.replace(b"\n", b"")
    path = tmp_path_factory.mktemp("x") / "x.jsonl"
    lines = b"".join(line + b"\n" for line in whole)
    path.write_bytes(lines + half)
    assert storage.append(path, b"new\n") == len(lines)
    assert path.read_bytes() == lines + b"new\n"


def test_an_incomplete_line_longer_than_one_block_is_truncated(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"whole\n" + b"x" * 200_000)
    assert storage.append(path, b"new\n") == 6
    assert path.read_bytes() == b"whole\nnew\n"


@pytest.mark.parametrize("fails", ["write", "fsync"])
def test_a_failed_append_leaves_the_file_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    path = tmp_path / "x.jsonl"
    storage.append(path, b"one\n")
    if fails == "fsync":
        monkeypatch.setattr(os, "fsync", _full)
    else:
        opened = os.fdopen
        monkeypatch.setattr(os, "fdopen", lambda *a, **k: _HalfFull(opened(*a, **k)))
    with pytest.raises(OSError, match="No space"):
        storage.append(path, b"two\nthree\n")
    monkeypatch.undo()
    assert path.read_bytes() == b"one\n"
    storage.append(path, b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"


def _full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


class _HalfFull:
    """A file on a disk with room for four more bytes."""

    def __init__(self, file: Any) -> None:
        self.file, self.room = file, 4

    def write(self, data: bytes) -> int:
        if self.room <= 0:
            _full()
        done = self.file.write(data[: self.room])
        self.room -= done
        return int(done)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def test_a_new_folder_is_as_private_as_its_file(tmp_path: Path) -> None:
    for mode, wanted in ((storage.PRIVATE_FILE, 0o700), (0o644, 0o755)):
        storage.stage(tmp_path / "staged" / "x", b"x", mode=mode)
        storage.replace(tmp_path / "staged" / "x", tmp_path / f"{mode}" / "x")
        storage.append(tmp_path / f"{mode}a" / "x", b"x\n", mode=mode)
        for folder in (f"{mode}", f"{mode}a"):
            assert (tmp_path / folder).stat().st_mode & 0o777 == wanted


@pytest.mark.timeout(10)
def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device"):
        with pytest.raises(storage.NotAFile):
            storage.read_bytes(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        storage.read_bytes(tmp_path)
    (tmp_path / "x").write_bytes(b"12345")
    assert (storage.read_bytes(tmp_path / "x"), storage.read_bytes(tmp_path / "x", 2)) == (b"12345", b"12")


def test_a_plain_file_is_opened_and_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "other-name").hardlink_to(tmp_path / "file")
    with storage.open_plain(tmp_path / "file") as file:
        assert file.read() == b"x"
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "."):
        with pytest.raises(OSError, match=r"regular file|symbolic link"):
            storage.open_plain(tmp_path / name)
