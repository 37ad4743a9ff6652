"""A record knows when it is not what was written."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.checkpoints.checkpoint import CheckpointDamaged, find_checkpoint
from agent_home.checkpoints.making import make_checkpoint
from agent_home.documents.record_digest import renewed_digest, require_digest, with_digest
from agent_home.home import Home
from agent_home.outputs.entry import OutputDamaged, parse_record, record_path
from agent_home.outputs.reading import output_content, read_output
from agent_home.outputs.store import store_output
from distill.forget import forget


def undetected(data: bytes, read: Callable[[bytes], object], damaged: type[Exception]) -> list[int]:
    """The bits of *data* whose flip is neither reported nor without effect."""
    wanted, found = read(data), []
    for bit in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            if read(bytes(flipped)) != wanted:
                found.append(bit)
        except damaged:
            continue
    return found


@pytest.mark.parametrize(
    "content", [b"8 passed, 1 failed (t\xc3\xbctal)\n", b"\xff\x00\x01", b"a line of a log\n" * 900]
)
def test_no_flipped_bit_of_an_output_is_returned(home: Home, now: datetime, content: bytes) -> None:
    stored = store_output(home, [content], now=now, tool="make", tags=["build"], exit_code=1, session="s-1")
    data = (home.root / record_path(stored.id)).read_bytes()
    assert undetected(data, lambda data: parse_record(stored.id, data), OutputDamaged) == []


def test_no_flipped_bit_of_a_checkpoint_is_returned(home: Home, now: datetime, tmp_path: Path) -> None:
    (tmp_path / "STATUS.md").write_text("# S\n\n- Phase: Testing\n\n## Tasks\n\n- [ ] One\n")
    store_output(home, [b"one"], now=now)
    made = make_checkpoint(home, now=now, folder=tmp_path, notes="After the rün", depends=["schema 14"])
    record = home.root / "outputs" / "checkpoints" / f"{made.id}.json"

    def read(data: bytes) -> object:
        record.write_bytes(data)
        return find_checkpoint(home, made.id)

    assert undetected(record.read_bytes(), read, CheckpointDamaged) == []


def test_records_of_an_earlier_version_are_read(home: Home, now: datetime, tmp_path: Path) -> None:
    stored = store_output(home, [b"one"], now=now)
    made = make_checkpoint(home, now=now, folder=tmp_path)
    for record in (home.root / record_path(stored.id), home.root / "outputs" / "checkpoints" / f"{made.id}.json"):
        row = json.loads(record.read_bytes())
        del row["digest_of_record"]
        record.write_text(json.dumps(row))
    assert read_output(home, stored.id) == stored
    assert find_checkpoint(home) == made


def test_a_record_without_a_forgotten_text_is_still_read(home: Home, now: datetime, tmp_path: Path) -> None:
    stored = store_output(home, [b"the zanzibarite harbour opens at six\n"], now=now)
    made = make_checkpoint(home, now=now, folder=tmp_path, notes="zanzibarite harbour, crane two")
    forget(home, "zanzibarite harbour", now=now)
    assert b"zanzibarite" not in b"".join(output_content(home, read_output(home, stored.id)))
    assert "zanzibarite" not in find_checkpoint(home, made.id).notes


def test_a_damaged_record_is_not_made_good_by_an_edit() -> None:
    text = json.dumps(with_digest({"a": "one two", "b": 1}))
    good = json.loads(renewed_digest(text, text.replace("two", "three")))
    require_digest(good)
    assert good == {"a": "one three", "b": 1}
    broken = text.replace('"b": 1', '"b": 2')
    assert renewed_digest(broken, broken.replace("two", "three")) == broken.replace("two", "three")
    for other in ("", "[]", "{}", "7"):
        assert renewed_digest(other, "x") == "x"
