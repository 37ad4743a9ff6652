"""The end of a host's session file: a message is found as a host writes it, and nothing stops the reader."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from interfaces.hosts.transcript_tail import tail_holds


@pytest.mark.parametrize("message", ["Done.", 'He said "no".\n\tTwice.', "港口 é ⚓", "a\\b", "\x01\x1f\x7f\u2028"])
def test_a_message_is_found_as_a_host_writes_it(tmp_path: Path, message: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"text": message}, ensure_ascii=False) + "\n")
    assert tail_holds(str(path), message)
    assert not tail_holds(str(path), message[:-1])


def test_only_the_end_of_a_large_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"text": "Done."}\n' + "x" * (3 << 20))
    assert not tail_holds(str(path), "Done.")
    with path.open("a") as more:
        more.write('{"text": "Done."}\n')
    assert tail_holds(str(path), "Done.")


def test_what_is_no_file_holds_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("", "a\0b", str(tmp_path), str(tmp_path / "none"), str(tmp_path / "pipe"), "lone \ud800"):
        assert not tail_holds(path, "Done.")
    assert not tail_holds(str(tmp_path / "none"), "lone \ud800")
