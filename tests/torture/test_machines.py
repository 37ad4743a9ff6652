"""One of the ways in which two machines work, as in ``python -m tests.torture machines``."""

from __future__ import annotations

from pathlib import Path

import pytest

from .faults import missing
from .machines import work_on_two_machines


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_two_machines_and_a_remote_lose_nothing(tmp_path: Path) -> None:
    report = work_on_two_machines(tmp_path, examples=1, steps=5, shrink=False)
    assert [finding.what for finding in report.findings] == []
    assert report.trials == 1
