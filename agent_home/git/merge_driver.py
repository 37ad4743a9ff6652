"""Install git's merge driver in a home, so that git merges memory with ``agent_home.documents.document_merge``.

Which files it merges stands in ``.gitattributes``, which is committed and so comes with a clone; what it runs stands in
the configuration of each clone, which does not: `memory init` writes it there. Without it git merges by lines.
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
from . import history

__all__ = ["ATTRIBUTES", "DriverState", "driver_state", "install_driver", "with_driver"]

ATTRIBUTES = ".gitattributes"
_NAME = "agent-home"
_MARK = f"merge={_NAME}"
_KEY = f"merge.{_NAME}.driver"
#: A clone that archived all its daily logs has renamed no folder: a day that the other one wrote stays where it is,
#: where git's own guess ends the merge with a conflict of places.
_FOLDERS = "merge.directoryRenames"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverState:
    """How the driver is; *advice* says what to do, empty when nothing.

    ``outdated`` is another installation's or somebody's own; ``unnamed`` says that ``.gitattributes`` sends no file to
    it.
    """

    state: Literal["installed", "outdated", "absent", "unnamed"]
    advice: str = ""


def driver_state(home: Home) -> DriverState:
    """How things stand; changes nothing.

    Raises:
        HistoryError: *home* is in no repository, or git is absent.
    """
    configured = history.configured(home.root, _KEY)
    if _MARK not in storage.read_text(home.root / ATTRIBUTES):
        return DriverState(state="unnamed", advice=f"{ATTRIBUTES} does not name it; run `memory init` here again")
    if not configured:
        advice = "this clone merges memory by lines, with conflict markers; run `memory init` here again"
        return DriverState(state="absent", advice=advice)
    if configured != _command() or history.configured(home.root, _FOLDERS) != "false":
        advice = "it is another installation's or an older one's; `memory init` here again renews it"
        return DriverState(state="outdated", advice=advice)
    return DriverState(state="installed")


def install_driver(home: Home) -> None:
    """Write into this clone's configuration what git runs to merge memory. Doing it again changes nothing.

    Raises:
        HistoryError: git refused.
    """
    if history.configured(home.root, _KEY) != _command():
        history.configure(home.root, f"merge.{_NAME}.name", "memory by entries and sections")
        history.configure(home.root, _KEY, _command())
    if history.configured(home.root, _FOLDERS) != "false":
        history.configure(home.root, _FOLDERS, "false")


def with_driver(attributes: str) -> str:
    """The text of ``.gitattributes`` with the template's lines for the driver, where it names no file for it yet."""
    if _MARK in attributes:
        return attributes
    template = resources.files("agent_home.template").joinpath("gitattributes").read_text(encoding="utf-8")
    lines = template.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if _MARK in line)
    comment = lines[first - 1] if first and lines[first - 1].startswith("#") else ""
    missing = comment + "".join(line for line in lines if _MARK in line)
    return f"{attributes.rstrip()}\n{missing}" if attributes.strip() else template


def _command() -> str:
    """What git runs: the program beside this interpreter, else the one on PATH."""
    program = shlex.quote(str(Path(sys.executable).with_name("memory")))
    arguments = "merge-driver %O %A %B %P"
    return f"if [ -x {program} ]; then {program} {arguments}; else memory {arguments}; fi"
