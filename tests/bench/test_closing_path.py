"""The path of a closing is counted, and the guard reads each new text once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_guard_reads_each_new_text_of_a_closing_once() -> None:
    command = [sys.executable, "-m", "bench.closing_path", "--json"]
    found = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    assert list(found["screenings"].values()) == [1, 1]
    assert found["repeated"] == 0
    assert 0 < found["depth"] < found["frames"]
