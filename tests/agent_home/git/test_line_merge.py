"""A file that cannot be merged by entries keeps both sides, and the gateway refuses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_home.documents.check import conflict_marker
from agent_home.git.line_merge import write_both_sides

BASE = b"# Memory\n\n## Key Decisions\n\n- **[KD-0001] A**\n\n## Lessons Learned\n\n- **[LL-0001] L**\n"
ENTRY = b"- **[KD-0002] B**\n"
THEIRS = BASE.replace(b"A**\n", b"A**\n" + ENTRY)
FENCE = b"```\nopen\n"


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        (BASE, BASE.replace(b"A**\n", b"A**\n" + FENCE), THEIRS),  # one hunk
        (BASE, FENCE + BASE, THEIRS),  # git's merge has no conflict
        (BASE, FENCE + BASE.replace(b"A**\n", b"A**\n- **[KD-0003] C**\n"), THEIRS),  # the block hides the markers
        (FENCE + BASE, FENCE + BASE.replace(b"] A", b"] Z"), FENCE + THEIRS),  # both sides are broken
        (BASE, BASE + b"never \xff closed\n", THEIRS),  # no UTF-8
        (BASE, BASE + b"\x00", THEIRS),  # git takes it for binary
        (b"", b"", THEIRS),
        (b"", (FENCE + BASE).replace(b"\n", b"\r\n"), THEIRS),
    ],
)
def test_both_sides_stand_in_the_file_and_markers_are_seen(
    tmp_path: Path, base: bytes, ours: bytes, theirs: bytes
) -> None:
    files = (tmp_path / "base", tmp_path / "ours", tmp_path / "theirs")
    for file, data in zip(files, (base, ours, theirs), strict=True):
        file.write_bytes(data)
    write_both_sides(*files, "MEMORY.md")
    written = files[1].read_bytes()
    assert conflict_marker("MEMORY.md", written.decode("utf-8", "replace")) is not None
    lines = set(written.split(b"\n"))
    assert {*ours.removesuffix(b"\n").split(b"\n"), *theirs.removesuffix(b"\n").split(b"\n")} - lines <= {b""}
    assert b"<<<<<<< ours" in written
    assert b">>>>>>> theirs" in written


def test_what_git_merges_by_lines_stays_merged(tmp_path: Path) -> None:
    files = (tmp_path / "base", tmp_path / "ours", tmp_path / "theirs")
    ours = BASE.replace(b"] A", b"] Ours") + FENCE
    theirs = BASE.replace(b"] A", b"] Theirs").replace(b"# Memory\n", b"# Memory\n\nIntroduction.\n")
    for file, data in zip(files, (BASE, ours, theirs), strict=True):
        file.write_bytes(data)
    write_both_sides(*files, "MEMORY.md")
    written = files[1].read_text()
    assert written.count("<<<<<<<") == 1
    assert written.startswith("# Memory\n\nIntroduction.\n")
    assert written.endswith("## Lessons Learned\n\n- **[LL-0001] L**\n```\nopen\n")
