"""Outputs of real tools, saved, and the way to sum up a text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_home.outputs.summaries import OutputSummariser, OutputSummary

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def sum_up() -> Callable[..., OutputSummary]:
    """Sum up a text or the lines of it."""

    def summed(text: str | list[str], *, max_tokens: int = 200) -> OutputSummary:
        summariser = OutputSummariser(max_tokens=max_tokens)
        for line in text.split("\n") if isinstance(text, str) else text:
            summariser.add(line)
        return summariser.result()

    return summed


@pytest.fixture(scope="session")
def output() -> Callable[[str], str]:
    """Read a saved output by its name, such as ``first/gcc``."""
    return lambda name: (DATA / f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n")
