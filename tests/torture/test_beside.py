"""Three of the things that a person does beside the program, as in ``python -m tests.torture beside``."""

from __future__ import annotations

from pathlib import Path

import pytest

from .beside import work_beside


@pytest.mark.parametrize("what", ["stash", "editor", "stale"])
def test_what_a_person_does_beside_closings_loses_none(tmp_path: Path, what: str) -> None:
    (report,) = work_beside(tmp_path, closings=4, only=what)
    assert report.trials == 4
    assert report.findings == []
