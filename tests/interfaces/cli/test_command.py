"""Test how errors of a command reach the user."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from interfaces.cli.command import LazyGroup
from interfaces.cli.invocation import home_command


class Interrupted:
    error: type[BaseException] = KeyboardInterrupt


@home_command("wait")
def wait(_invocation: object) -> None:
    raise Interrupted.error


@pytest.mark.parametrize("error", [KeyboardInterrupt, click.Abort])
def test_an_interrupted_command_prints_one_line_and_exits_with_130(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Interrupted, "error", error)
    monkeypatch.setattr(LazyGroup, "get_command", lambda *_: wait)
    result = CliRunner().invoke(LazyGroup("memory", sections={"Test": {"wait": ("not:imported", "Wait.")}}), ["wait"])
    assert result.exit_code == 130
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("memory: interrupted. ")
