"""Some pages of the index, as in ``python -m tests.torture pages``."""

from __future__ import annotations

from pathlib import Path

from .damaged_pages import damage_pages


def test_a_zeroed_page_costs_no_prompt_and_heals(tmp_path: Path) -> None:
    report = damage_pages(tmp_path, every=9)
    assert report.trials > 2
    assert report.findings == []
