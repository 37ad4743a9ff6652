"""Three hosts of a fleet, one of them cut off and killed, as in ``python -m tests.torture hosts``."""

from __future__ import annotations

import pytest

from .hosts import work_on_hosts


@pytest.mark.slow
def test_a_host_that_is_cut_off_and_killed_loses_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("h")  # the address of a socket has at most 107 characters
    report = work_on_hosts(place, homes=2, faults=("cut", "kill"))
    assert [finding.what for finding in report.findings] == []
    assert report.trials == 3
