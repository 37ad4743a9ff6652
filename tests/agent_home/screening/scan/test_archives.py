"""Compressed files are read in memory, within bounds."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest

from agent_home.screening.scan.archives import unpacked
from agent_home.screening.scan.binary import readable
from agent_home.screening.scan.full_scan import FullScan
from guard import GuardSettings

KEY = "ghp_" + "a1B2c3D4e5" * 4
TEXT = f"token {KEY}\n".encode()


def zipped(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


def tarred(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


PACKED = {
    "gzip": gzip.compress(TEXT), "zlib": zlib.compress(TEXT), "bzip2": bz2.compress(TEXT), "xz": lzma.compress(TEXT),
    "zip": zipped("notes.txt", TEXT), "tar": tarred("notes.txt", TEXT), "tar.gz": gzip.compress(tarred("a", TEXT)),
    "zip in zip": zipped("inner.zip", zipped("notes.txt", TEXT)), "name": zipped(f"{KEY}.txt", b"nothing"),
}  # fmt: skip


@pytest.mark.parametrize("name", PACKED)
def test_a_secret_in_a_compressed_file_is_found(name: str) -> None:
    assert KEY in readable(PACKED[name])
    found = list(FullScan(GuardSettings()).findings("Knowledge/data.bin", PACKED[name]))
    assert any(finding.layer == "secret" for _, finding in found)


def test_a_bomb_unpacks_to_a_bounded_size() -> None:
    bomb = gzip.compress(b"a" * 60_000_000)
    assert sum(len(content) for _, content in unpacked(bomb)) <= 16_777_216
    many = zipped("inner.zip", zipped("a", b"b" * 30_000_000))
    assert sum(len(content) for _, content in unpacked(many)) <= 2 * 16_777_216


@pytest.mark.parametrize("data", [b"\x1f\x8bdamaged", b"PK\x03\x04damaged", b"BZhdamaged", b"\xfd7zXZ", b"x\x9c", b""])
def test_a_damaged_archive_is_not_unpacked(data: bytes) -> None:
    assert list(unpacked(data)) == []


def test_nothing_is_written_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    list(unpacked(gzip.compress(tarred("../outside", TEXT))))
    assert list(tmp_path.parent.glob("outside")) == []
    assert list(tmp_path.iterdir()) == []
