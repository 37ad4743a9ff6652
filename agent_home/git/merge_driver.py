"""Install git's merge driver in a home, so that git merges memory with ``agent_home.documents.document_merge``.

``.gitattributes`` lists the files that it merges, is committed and so comes with a clone. The command itself is in the
configuration of each clone, where `memory init` writes it. Without the driver git merges by lines.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

from .. import storage
from ..home import Home
from . import commits, history

__all__ = ["ATTRIBUTES", "DriverState", "driver_state", "install_driver", "with_driver"]

ATTRIBUTES = ".gitattributes"
_NAME = "agent-home"
_MARK = f"merge={_NAME}"
_KEY = f"merge.{_NAME}.driver"
#: Off, because archiving all daily logs of a clone looks to git like a renamed folder. Git would then move a day that
#: another clone wrote, and end the merge with a conflict.
_FOLDERS = "merge.directoryRenames"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverState:
    """State of the driver, and *advice* on what to do, if anything.

    ``outdated`` is a driver of another installation, or a person's own. ``unnamed`` means that ``.gitattributes``
    sends no file to the driver.
    """

    state: Literal["installed", "outdated", "absent", "unnamed"]
    advice: str = ""


def driver_state(home: Home) -> DriverState:
    """Return the state of the driver without changing anything.

    Raises:
        HistoryError: *home* is in no repository, or git is absent.
    """
    again = f"Run `memory init {shlex.quote(str(home.root))}`, which adds what is missing"
    configured = history.configured(home.root, _KEY)
    if _MARK not in storage.read_text(home.root / ATTRIBUTES):
        return DriverState(state="unnamed", advice=f"{ATTRIBUTES} does not name the merge driver. {again}")
    if not configured:
        advice = f"this clone merges memory by lines, with conflict markers. {again}"
        return DriverState(state="absent", advice=advice)
    if configured != _command() or history.configured(home.root, _FOLDERS) != "false":
        advice = f"another or an older installation wrote the merge driver. {again}"
        return DriverState(state="outdated", advice=advice)
    return DriverState(state="installed")


def install_driver(home: Home) -> None:
    """Write the driver's command into this clone's configuration. Writing it again changes nothing.

    Raises:
        HistoryError: git refused.
    """
    if history.configured(home.root, _KEY) != _command():
        commits.configure(home.root, f"merge.{_NAME}.name", "memory by entries and sections")
        commits.configure(home.root, _KEY, _command())
    if history.configured(home.root, _FOLDERS) != "false":
        commits.configure(home.root, _FOLDERS, "false")


def with_driver(attributes: str) -> str:
    """Return the text of ``.gitattributes`` with the template's lines for the driver, unless it has such lines."""
    if _MARK in attributes:
        return attributes
    template = resources.files("agent_home.template").joinpath("gitattributes").read_text(encoding="utf-8")
    lines = template.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if _MARK in line)
    comment = lines[first - 1] if first and lines[first - 1].startswith("#") else ""
    missing = comment + "".join(line for line in lines if _MARK in line)
    return f"{attributes.rstrip()}\n{missing}" if attributes.strip() else template


def _command() -> str:
    """Return the command that git runs: the program beside this interpreter, else the one on PATH."""
    program = shlex.quote(str(Path(sys.executable).with_name("memory")))
    arguments = "merge-driver %O %A %B %P"
    return f"if [ -x {program} ]; then {program} {arguments}; else memory {arguments}; fi"
