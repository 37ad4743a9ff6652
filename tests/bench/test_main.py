"""``python -m bench`` runs parts that exist, and says what it lacks."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from bench.__main__ import PARTS, main


@pytest.mark.parametrize("name", PARTS)
def test_every_part_is_a_module_that_can_run(name: str) -> None:
    spec = importlib.util.find_spec(PARTS[name][0])
    assert spec is not None
    assert spec.origin is not None
    assert "\ndef main(" in Path(spec.origin).read_text("utf-8")


def test_without_data_nothing_runs_and_the_option_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path / "none")]) == 2
    assert "--data" in capsys.readouterr().err
