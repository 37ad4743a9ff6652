"""One power cut on a real disk, as in ``python -m tests.torture power``, where this machine allows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .power_cut import cut_power, missing


def test_a_power_cut_after_a_closing_loses_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = Path(tmp_path_factory.mktemp("power"))
    if reason := missing():
        pytest.skip(reason)
    (report,) = cut_power(folder, trials=1, only="close")
    assert report.trials == 1
    assert report.findings == []
