"""The texts that are built to be slow have the length that is asked for, and a run past the limit is ended."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import adversarial
from bench.adversarial import PATHS, SHAPES, measured, shaped


def test_a_shape_has_the_length_that_is_asked_for() -> None:
    assert [name for name in SHAPES if len(shaped(name, 1_000)) != 1_000] == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processor time is limited by the system")
def test_a_run_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def forever(_text: str, _folder: Path) -> Callable[[], object]:
        return lambda: sum(1 for _ in iter(int, 1))

    monkeypatch.setattr(adversarial, "LIMIT_S", 4)
    monkeypatch.setattr(adversarial, "PATHS", {"forever": forever, "merge": PATHS["merge"]})
    assert measured("merge", "- a\n") is not None
    assert measured("forever", "") is None
