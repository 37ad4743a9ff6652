"""Adapters without their frameworks: a clear error, and no import by anything else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from interfaces.frameworks.extra import missing_extra
from tests.test_layering import ADAPTERS

FRAMEWORKS = ("langgraph", "agents", "google", "google.adk", "agent", "mem0")


def test_the_error_says_what_to_install() -> None:
    error = missing_extra("langgraph", ImportError("No module named 'langgraph'", name="langgraph"))
    assert "pip install 'agent-home[langgraph]'" in str(error)
    assert error.name == "langgraph"


@pytest.mark.parametrize("module", sorted(ADAPTERS))
def test_an_adapter_without_its_framework_names_its_extra(module: str) -> None:
    extra = module.rpartition(".")[2].replace("_", "-")
    code = (
        f"import sys\nsys.modules.update(dict.fromkeys({FRAMEWORKS!r}))\n"
        f"try:\n    import {module}\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"pip install 'agent-home[{extra}]'" in done.stdout
